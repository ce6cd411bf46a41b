"""Purpose: waiver files `docs/waiver/<PR>.md` (evidence.md 8): their sections, and what a complete one must say.

A waiver is free-form Markdown. A section is found by the words of its heading or of a bold lead ("**Removal plan:**").

Invariants: a section without text counts as absent. Nothing is judged here beyond presence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from app.target.markdown_blocks import urls, without_markup
from app.target.source import FileLine

NAME = re.compile(r"(?:.*/)?docs/waiver/(?P<number>\d+)(?:_zh)?\.md\Z")

_SUBJECTS: Mapping[str, re.Pattern[str]] = {
    "scope": re.compile(r"\b(?:scope|configs? (?:covered|affected)|covered|covers|affected)\b", re.IGNORECASE),
    "change": re.compile(r"\b(?:what (?:is|was|it)\b.*|what|patched|changed?s?|the patch)\b", re.IGNORECASE),
    "reason": re.compile(r"\bwhy\b|\b(?:un(?:modified|patched)|stock) image\b", re.IGNORECASE),
    "upstream": re.compile(r"\bupstream\b", re.IGNORECASE),
    "removal": re.compile(r"\bremov(?:al|e|ing)\b|\bexit plan\b|\bsunset\b", re.IGNORECASE),
}
_ORDER = ("removal", "reason", "upstream", "scope", "change")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(?P<title>.*?)\s*#*\s*\Z")
_LEAD = re.compile(r"\s*(?:[-*+]\s+)?\*\*(?P<title>[^*]+?):?\*\*\s*:?\s*(?P<rest>.*)\Z")


@dataclass(frozen=True, slots=True)
class Section:
    """One section: its title as written, its text and the line of its title."""

    title: str
    text: str
    where: FileLine


@dataclass(frozen=True)
class Waiver:
    """A waiver file. `sections` are by subject: scope, change, reason, upstream, removal; absent ones are `missing`."""

    path: str
    number: int | None
    title: str
    sections: Mapping[str, Section]
    text: str

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(subject for subject in _SUBJECTS if subject not in self.sections)

    @property
    def upstream_links(self) -> tuple[str, ...]:
        section = self.sections.get("upstream")
        return urls(section.text) if section else ()

    def names(self, word: str) -> bool:
        """True where the waiver names a config key, an image or a script (`#` in images counts as `/`)."""
        wanted = word.replace("#", "/")
        boundary = r"[A-Za-z0-9_.\-/:@]"
        return (
            re.search(rf"(?<!{boundary}){re.escape(wanted)}(?![A-Za-z0-9_\-])", self.text.replace("#", "/")) is not None
        )


def parse_waiver(path: str, content: bytes, sha: str = "") -> Waiver:
    """The sections of a waiver. Never raises."""
    text = content.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
    found: list[tuple[str, int, list[str]]] = []
    title = ""
    for number, line in enumerate(text.split("\n"), 1):
        heading, lead = _HEADING.match(line), _LEAD.match(line)
        if heading is not None and not title:
            title = without_markup(heading["title"])
        elif heading is not None:
            found.append((without_markup(heading["title"]), number, []))
        elif lead is not None and _subject(without_markup(lead["title"])) is not None:
            found.append((without_markup(lead["title"]), number, [lead["rest"]]))
        elif found:
            found[-1][2].append(line)
    sections: dict[str, Section] = {}
    for name, number, body in found:
        subject, text_below = _subject(name), "\n".join(body).strip()
        if subject is not None and text_below and subject not in sections:
            sections[subject] = Section(name, text_below, FileLine(path, number, 0, sha))
    match = NAME.match(path)
    return Waiver(path, int(match["number"]) if match else None, title, sections, text)


def _subject(title: str) -> str | None:
    return next((subject for subject in _ORDER if _SUBJECTS[subject].search(title)), None)
