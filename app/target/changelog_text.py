"""Purpose: writes a new changelog entry as text, so that the bytes before it stay as they are.

Source: formats.md 4.1 and 4.2 (b). The entry starts with `config-keys` at column 1 and stands at the physical end,
after exactly one empty line. Texts are double-quoted unless they are plain names.
"""

from __future__ import annotations

import json
import re

from app.target.changelog import ChangelogEntry

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9._/*-]*\Z")
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))


def appended(content: bytes, entry: ChangelogEntry) -> bytes:
    """The file with the entry at its end. A missing final newline is added, nothing else before the entry changes."""
    gap = b"" if not content or content.endswith(b"\n\n") else b"\n" if content.endswith(b"\n") else b"\n\n"
    return content + gap + entry_text(entry).encode()


def entry_text(entry: ChangelogEntry) -> str:
    """The entry's lines. Fields that have their default are left out."""
    lines = ["- config-keys:", *_items(entry.config_keys)]
    if entry.scenario_type is not None:
        lines += ["  scenario-type:", *_items(entry.scenario_type)]
    lines += ["  description:", *(f"    - {json.dumps(text, ensure_ascii=False)}" for text in entry.description)]
    lines.append(f"  pr-link: {_text(entry.pr_link)}")
    flags = {
        "evals-only": entry.evals_only,
        "all-evals": entry.all_evals,
        "no-evals": entry.no_evals,
        "append-only": entry.append_only,
    }
    lines += [f"  {name}: true" for name, chosen in flags.items() if chosen]
    if entry.eval_min_prefill_ep is not None:
        lines.append(f"  eval-min-prefill-ep: {entry.eval_min_prefill_ep}")
    return "\n".join(lines) + "\n"


def _items(values: tuple[str, ...]) -> list[str]:
    return [f"    - {_text(value)}" for value in values]


def _text(value: str) -> str:
    if value.startswith("https://") and re.fullmatch(r"[A-Za-z0-9:/._-]+", value):
        return value
    plain = _PLAIN.match(value) and value.lower() not in _WORDS
    return value if plain else json.dumps(value, ensure_ascii=False)
