"""Purpose: the one escaper: text that somebody else wrote becomes one harmless line of GitHub Markdown.

How: control and direction characters go, white space folds, and every word that holds a character with a meaning in
Markdown, HTML or GitHub (mentions, references, links, entities, emphasis) is shown in a code span, where nothing is
interpreted. Look-alikes of our own rows ("Check 3", the status signs) lose their power the same way.

Invariants: the result has no line break, pings nobody, links nothing, opens no tag, fence or details block, and holds
no back-tick but those that open and close a code span. `inline` of plain words is the same words.
"""

from __future__ import annotations

import re
import unicodedata

_SIGNS = dict.fromkeys(map(ord, "✅❌➖⚠\ufe0f"), None)
_SAFE_WORD = re.compile(r"^[\w.,;:()'\"+\-/%=±≥≤→–—…?!×·°]*$", re.UNICODE)
_COMPARISON = re.compile(r"^[<>=]{1,2}$")
_AUTOLINK = re.compile(r"://|^www\.|^[\w.+-]+@", re.IGNORECASE)
_ROW_LOOK_ALIKE = re.compile(r"\b(check\s+\d+|verdict:)", re.IGNORECASE)


def plain(text: str) -> str:
    """One line without control, direction and zero-width characters, status signs or back-ticks."""
    folded = " ".join(str(text).split())
    kept = "".join(char for char in folded if unicodedata.category(char) not in ("Cc", "Cf", "Co", "Cs", "Cn"))
    return " ".join(kept.translate(_SIGNS).replace("`", "").split())


def cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def code(text: str, limit: int = 200) -> str:
    """The text as one code span; an empty text gives an empty string."""
    inner = cut(plain(text), limit).strip()
    return f"`{inner}`" if inner else ""


def inline(text: str, limit: int = 400) -> str:
    """Somebody's text as one line of Markdown, harmless words as they are, the rest in code spans."""
    pieces = []
    for part in _ROW_LOOK_ALIKE.split(cut(plain(text), limit)):
        if _ROW_LOOK_ALIKE.fullmatch(part):
            pieces.append(f"`{part}`")
        else:
            pieces.append(re.sub(r"\S+", lambda match: _word(match.group()), part))
    return "".join(pieces)


def _word(word: str) -> str:
    if _COMPARISON.match(word):
        return word
    risky = not _SAFE_WORD.match(word) or _AUTOLINK.search(word) or "_" in word or re.search(r":\w+:", word)
    if not risky:
        return word
    core = word.strip(".,;:()'\"")
    if not core or (_SAFE_WORD.match(core) and "_" not in core and not _AUTOLINK.search(core)):
        core = word
    before, _, after = word.partition(core)
    return f"{before}`{core}`{after}"
