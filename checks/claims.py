"""Purpose: technical claims in a pull request's description: points added, removed, changed, kept, values, images.

Read from Markdown prose, lists and tables; code, quotes, HTML comments and checklist items are never read. A claim is
extracted only where the sentence ties a known verb to concurrencies, settings or images; what is technical but cannot
be tied is kept as "other", so that a reader sees that nobody checked it.

Invariants: never raises, whatever the text; every pattern is linear; a claim knows its line. The text is untrusted: it
is only compared, and quoted at most `SHOWN` characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from app.target.markdown_blocks import Table, blocks, visible_lines

Kind = Literal[
    "removed", "added", "changed", "unchanged", "moved", "layout", "pin", "set", "image", "no-change", "other"
]
Span = tuple[int, int]

SHOWN = 90
MAX_CLAIMS = 200
MAX_BODY = 65_536
MAX_SENTENCE = 2_000


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim. `spans` are concurrencies as inclusive ranges; `subjects` are what is said to be unchanged."""

    kind: Kind
    line: int
    text: str
    spans: tuple[Span, ...] = ()
    subjects: tuple[str, ...] = ()
    name: str = ""
    value: str = ""
    old: str = ""
    offload: str = ""
    sizes: tuple[tuple[str, int], ...] = field(default_factory=tuple)

    @property
    def quoted(self) -> str:
        return self.text if len(self.text) <= SHOWN else self.text[: SHOWN - 1] + "…"


_ITEM = r"c?\d{1,6}(?:\s*(?:-|–|—|\bto\b|\bthrough\b|~)\s*c?\d{1,6})?"
_JOINT = r"(?:\s*(?:,|、|，|/|&|\band\b|\bor\b|和)\s*)+"
_LIST = re.compile(
    rf"(?:\bconcurrenc(?:y|ies)\b|\bconc\b(?:-list)?|并发(?:度|数)?)(?:\s*(?:levels?|points?|values?|=|:|：|of|at))*\s*"
    rf"[\[(]?\s*(?P<items>{_ITEM}(?:{_JOINT}{_ITEM})*)"
    rf"|(?<![\w.-])(?P<short>c\d{{1,6}}(?:\s*(?:-|–|—|\bto\b)\s*c?\d{{1,6}})?"
    rf"(?:{_JOINT}c\d{{1,6}}(?:\s*(?:-|–|—|\bto\b)\s*c?\d{{1,6}})?)*)(?!\w|\.\d)",
    re.IGNORECASE,
)
_RANGE = re.compile(r"(\d+)(?:\s*(?:-|–|—|to|through|~)\s*c?(\d+))?", re.IGNORECASE)

# English words stand alone; Chinese ones have no word boundary.
_VERBS: dict[Kind, str] = {
    "removed": r"remov(?:e|es|ed|ing)|drop(?:s|ped|ping)?|delet(?:e|es|ed|ing)|no longer (?:run|measure)s?",
    "added": r"add(?:s|ed|ing)?|introduc(?:e|es|ed|ing)",
    "changed": r"retun(?:e|es|ed|ing)|tun(?:e|es|ed)|chang(?:e|es|ed|ing)|updat(?:e|es|ed|ing)|adjust(?:s|ed|ing)?"
    r"|modif(?:y|ies|ied)|rework(?:s|ed)?",
    "unchanged": r"unchanged|untouched|unmodified|identical|as before|the same|keeps?|kept|stays?|remains?",
    "moved": r"moves?|moved",
}
_CHINESE: dict[Kind, str] = {
    "removed": "删除|移除|去掉",
    "added": "新增|添加",
    "changed": "修改|调整|更新",
    "unchanged": "不变|未改动|保持原样",
}
_VERB = re.compile(
    r"\b(?:"
    + "|".join(f"(?P<{kind}>{words})" for kind, words in _VERBS.items())
    + r")\b|"
    + "|".join(f"(?P<zh_{kind}>{words})" for kind, words in _CHINESE.items()),
    re.I,
)
_NEGATION = re.compile(r"\b(?:not|never|without|no|don't|doesn't|didn't|instead of|rather than)(?:\s+be)?\s*$", re.I)
_DIRECT = re.compile(
    r"\s*(?:(?:the|a|an|new|extra|more|also|both|all|single|measured)\s+)*"
    r"(?:(?:data\s+)?points?\s+(?:at|for|of|with)\s+)?",
    re.I,
)
_PASSIVE = re.compile(
    r"(?P<gap>[^.;:]{0,120}?)\b(?:is|are|was|were|gets?|has been|have been|being)\s+(?:now\s+|also\s+)?$", re.I
)
_POINTS_ONLY = re.compile(r"\s*[\])]?\s*(?:points?)?\s*", re.I)
_ASIDE = re.compile(r"\b(?:docs?|documentation|comments?|readme|tests?|notes?)\b", re.I)

_SUBJECTS = {
    "image": re.compile(r"\b(?:image|container)\b|镜像", re.I),
    "model": re.compile(r"\b(?:model|checkpoint|weights)\b|权重", re.I),
    "draft": re.compile(r"\bdraft\b|草稿", re.I),
    "base settings": re.compile(r"\bbase (?:settings?|recipe|config(?:uration)?)\b|基础设置", re.I),
}
_NO_CHANGE = re.compile(
    r"\b(?:docs?|documentation)[ -]only\b|\bno (?:benchmark|config(?:uration)?|functional|recipe) changes?\b", re.I
)
_NAME = r"(?:--)?[a-z][a-z0-9]*(?:[-_][a-z0-9]+)+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+"
_VALUE = r"[-+]?\d+(?:\.\d+)?|true|false|[A-Za-z][\w.:+/-]{1,60}"
_SET = re.compile(
    rf"(?<![\w./-])`?(?P<name>{_NAME})`?\s*"
    rf"(?:from\s+`?(?P<old>{_VALUE})`?\s+)?"
    rf"(?P<by>to|=|:|is now|is|of|at|→|->)?\s*`?(?P<value>{_VALUE})`?"
    rf"(?:\s*(?:→|->)\s*`?(?P<new>{_VALUE})`?)?(?P<more>\s*(?:,|/|and)\s*\d)?"
)
_IMAGE = re.compile(
    r"(?<![\w/.-])(?:[a-z0-9][a-z0-9.-]*(?::\d+)?[/#])?[a-z0-9][a-z0-9._-]*/[a-z0-9][a-z0-9._/-]*"
    r"(?::[\w][\w.-]{0,127})?(?:@sha256:[0-9a-f]{6,64})?"
)
_SIZE = re.compile(r"\b(?P<name>TP|EP|DP|PP)\s?(?P<size>\d{1,4})\b")
_PIN = re.compile(rf"\bpin(?:s|ned)?\s+`?(?P<name>{_NAME})`?\s+to match\b", re.I)
_RESULT = re.compile(r"\d+(?:\.\d+)?\s*%|\btokens?/s\b|\bfaster\b|\bthroughput\b|\blatency\b", re.I)
_BULLET = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+")
_BOX = re.compile(r"\s*(?:[-*+]\s*)?\[[ xX]?\]")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|[。；]|,?\s+\b(?:but|while|whereas)\b\s+")


def claims_in(body: str) -> tuple[Claim, ...]:
    """All claims of a description, in order, at most `MAX_CLAIMS`."""
    text = body[:MAX_BODY]
    found = [*_table_claims(text)]
    for sentence, line in _sentences(text):
        found.extend(_sentence_claims(sentence, line))
        if len(found) >= MAX_CLAIMS:
            break
    return tuple(sorted(found[:MAX_CLAIMS], key=lambda claim: claim.line))


def _sentences(text: str) -> Iterator[tuple[str, int]]:
    """Sentences of prose and list items with the line they begin on; wrapped lines are joined."""
    held: list[str] = []
    first = 0
    for number, line in enumerate([*visible_lines(text), ""], 1):
        stands_alone = not line.strip() or line.lstrip().startswith(("|", "#")) or _BOX.match(line)
        if held and (stands_alone or _BULLET.match(line)):
            yield from _split(held, first)
            held = []
        if not stands_alone:
            first = first if held else number
            held.append(" ".join(line.split()))


def _split(lines: list[str], first: int) -> Iterator[tuple[str, int]]:
    bullet = _BULLET.match(lines[0])
    joined = "\n".join([lines[0][bullet.end() :] if bullet else lines[0], *lines[1:]])
    position = 0
    for match in [*_SENTENCE.finditer(joined), None]:
        end = match.start() if match else len(joined)
        sentence = " ".join(joined[position:end].split())
        lead = joined[position:end]
        skipped = joined[:position].count("\n") + len(lead[: len(lead) - len(lead.lstrip())].split("\n")) - 1
        if sentence:
            yield sentence[:MAX_SENTENCE], first + skipped
        position = match.end() if match else end


def _sentence_claims(sentence: str, line: int) -> Iterator[Claim]:
    found: list[Claim] = []
    if _NO_CHANGE.search(sentence):
        found.append(Claim("no-change", line, sentence))
    verbs = list(_verbs(sentence))
    pinned = _PIN.search(sentence)
    for match in _LIST.finditer(sentence):
        spans = _spans(match.group("items") or match.group("short"))
        if pinned is not None:
            found.append(Claim("pin", line, sentence, spans, name=pinned["name"]))
            continue
        kind = _governing(sentence, match, verbs)
        if kind is not None:
            found.append(Claim(kind, line, sentence, spans))
        elif _SIZE.search(sentence) and not verbs and not sentence[match.end() :].strip(" .)]"):
            found.append(Claim("layout", line, sentence, spans, offload=_offload(sentence), sizes=_sizes(sentence)))
    if any(kind == "unchanged" for kind, _, _ in verbs):
        subjects = tuple(name for name, pattern in _SUBJECTS.items() if pattern.search(sentence))
        if subjects:
            found.append(Claim("unchanged", line, sentence, subjects=subjects))
    found.extend(_set_claims(sentence, line))
    found.extend(_image_claims(sentence, line))
    if not found and (_LIST.search(sentence) or _RESULT.search(sentence)):
        found.append(Claim("other", line, sentence))
    yield from found


def _verbs(sentence: str) -> Iterator[tuple[Kind, int, int]]:
    """(kind, start, end) of each verb; "does not change" counts as unchanged, other negated verbs do not count."""
    for match in _VERB.finditer(sentence):
        kind = next(name for name in _VERBS if match.group(name) or match.groupdict().get(f"zh_{name}"))
        if _NEGATION.search(sentence[max(0, match.start() - 24) : match.start()]) and match.group().lower()[:2] != "no":
            if kind != "changed":
                continue
            kind = "unchanged"
        yield kind, match.start(), match.end()


def _governing(sentence: str, numbers: re.Match[str], verbs: list[tuple[Kind, int, int]]) -> Kind | None:
    """The verb that a list of concurrencies belongs to: the passive one after it, else the active one before it."""
    after = next((verb for verb in verbs if verb[1] >= numbers.end()), None)
    if after is not None:
        between = sentence[numbers.end() : after[1]]
        if after[0] in ("changed", "moved") and not between.strip():
            return after[0]
        passive = _PASSIVE.fullmatch(between)
        direct = passive is not None and _POINTS_ONLY.fullmatch(passive["gap"]) is not None
        if passive is not None and (direct or after[0] in ("unchanged", "changed")) and not _LIST.search(between):
            return after[0]
        if after[0] == "unchanged" and re.fullmatch(r"[^.;:]{0,40}", between) and not _LIST.search(between):
            return "unchanged"
    before = next((verb for verb in reversed(verbs) if verb[2] <= numbers.start()), None)
    if before is None:
        return None
    between = sentence[before[2] : numbers.start()]
    if before[0] in ("removed", "added"):
        return (
            before[0] if _DIRECT.fullmatch(between + (" " if between and not between.endswith(" ") else "")) else None
        )
    return before[0] if before[0] != "moved" and len(between) <= 160 and not _ASIDE.search(between) else None


def _spans(items: str) -> tuple[Span, ...]:
    spans = []
    for match in _RANGE.finditer(items):
        low = int(match.group(1))
        high = int(match.group(2)) if match.group(2) else low
        spans.append((min(low, high), max(low, high)))
    return tuple(spans)


def _offload(text: str) -> str:
    """`none`, `dram` or "" by the words of a layout claim."""
    plain = text.casefold()
    if re.search(r"\bnone\b|resident on gpu|on[- ]gpu|no offload|常驻", plain):
        return "none"
    return "dram" if re.search(r"\bdram\b|hicache|host memory|offload", plain) else ""


def _sizes(text: str) -> tuple[tuple[str, int], ...]:
    return tuple((match["name"].lower(), int(match["size"])) for match in _SIZE.finditer(text))


def _set_claims(sentence: str, line: int) -> Iterator[Claim]:
    """Settings with a value; the concurrencies are those named after it, else the only ones of the sentence."""
    settings = list(_SET.finditer(sentence))
    lists = list(_LIST.finditer(sentence))
    for place, match in enumerate(settings):
        end = settings[place + 1].start() if place + 1 < len(settings) else len(sentence)
        mine = [one for one in lists if match.end() <= one.start() < end] or (lists if len(lists) == 1 else [])
        spans = tuple(span for one in mine for span in _spans(one["items"] or one["short"]))
        number = match["value"][-1].isdigit() and match["value"].lstrip("+-")[0].isdigit()
        # "`max_batch_size` of decode" names a place; only a number behind "of" or "at" is a value.
        if (match["by"] or "").casefold() in ("", "of", "at") and not match["new"] and not number:
            continue
        value, old = (match["new"], match["value"]) if match["new"] else (match["value"], match["old"] or "")
        if match["more"] or value.casefold() in ("the", "match", "its", "a"):
            continue
        name = match["name"].removeprefix("--")
        yield Claim("set", line, sentence, spans, name=name, value=value.rstrip(".,:"), old=old)


def _image_claims(sentence: str, line: int) -> Iterator[Claim]:
    if not _SUBJECTS["image"].search(sentence):
        return
    for match in _IMAGE.finditer(sentence):
        if ":" in match.group() and not sentence[: match.start()].endswith(("http:", "https:", "//")):
            origin = re.search(r"\bfrom\s+`?$", sentence[: match.start()], re.I)
            yield Claim("image", line, sentence, value=match.group().rstrip(".,-"), old="from" if origin else "")


def _table_claims(text: str) -> Iterator[Claim]:
    """Rows of tables that have a column of concurrencies."""
    for table in blocks(text):
        if not isinstance(table, Table):
            continue
        header = [cell.casefold() for cell in table.header]
        column = next((place for place, cell in enumerate(header) if re.search(r"conc|并发", cell)), None)
        for row in table.rows if column is not None else ():
            cells = row.cells
            if column is None or column >= len(cells) or not re.search(r"\d", cells[column]):
                continue
            shown = " | ".join(cells)
            rest = " ".join(cell for place, cell in enumerate(cells) if place != column)
            spans = _spans(cells[column])
            yield Claim("layout", row.line, shown, spans, offload=_offload(rest), sizes=_sizes(rest), name="table")
