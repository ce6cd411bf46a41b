"""Purpose: who owns a path, by GitHub's documented CODEOWNERS rules (no library gets them right: libraries.md 4).

The last matching pattern wins, even one without owners. A pattern matches like a .gitignore line: `*` and `?` stay
within one path segment, `**` crosses segments, a leading or inner slash anchors, a trailing slash means everything
below. Not supported by GitHub, and therefore invalid lines: `!` negation, `[ ]` ranges, a leading `\\#`.

Invariants: paths are compared case-sensitively. An invalid line is skipped and reported, the rest of the file holds.
Comments never give owners. Files above 3 MB are ignored by GitHub, and so here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from app.target.source import FileLine, Problem

MAX_BYTES = 3 * 1024 * 1024

_LOGIN = re.compile(r"@[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?\Z")
_TEAM = re.compile(r"@[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?/[A-Za-z0-9_.-]+\Z")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+\Z")


@dataclass(frozen=True)
class Rule:
    """One line: pattern as written, owners (logins and teams with `@`, or e-mail addresses), line number."""

    pattern: str
    owners: tuple[str, ...]
    line: int
    where: FileLine = field(compare=False, default=FileLine(""))

    @property
    def catch_all(self) -> bool:
        """True for a pattern that names every path."""
        return self.pattern in ("*", "**", "/**", "**/*", "/**/*")


@dataclass(frozen=True)
class Codeowners:
    """A CODEOWNERS file. `problems` are lines that GitHub would flag and skip."""

    path: str
    rules: tuple[Rule, ...]
    problems: tuple[Problem, ...]

    @classmethod
    def parse(cls, path: str, content: bytes, sha: str = "") -> Codeowners:
        """Never raises: what cannot be read is in `problems`."""
        start = FileLine(path, 1, 0, sha)
        if len(content) > MAX_BYTES:
            rule = "GitHub ignores a CODEOWNERS file above 3 MB."
            return cls(path, (), (Problem(start, rule, f"{len(content)} bytes", "Make the file smaller.", 0),))
        rules: list[Rule] = []
        problems: list[Problem] = []
        text = content.decode("utf-8-sig", errors="replace")
        for number, line in enumerate(re.split(r"\r\n|\n|\r", text), start=1):
            where = FileLine(path, number, 0, sha)
            words = _words(line)
            if not words:
                continue
            fault = _fault(words)
            if fault is None:
                rules.append(Rule(words[0], tuple(words[1:]), number, where))
            else:
                problems.append(Problem(where, fault, line.strip(), "Correct the line; GitHub skips it until then."))
        return cls(path, tuple(rules), tuple(problems))

    def rule_for(self, path: str) -> Rule | None:
        """The last rule that matches a repository path, None where no rule does."""
        for rule in reversed(self.rules):
            if _compiled(rule.pattern).match(path):
                return rule
        return None

    def owners_of(self, path: str) -> tuple[str, ...]:
        """The owners of a path, empty where nobody owns it."""
        rule = self.rule_for(path)
        return rule.owners if rule else ()


def _words(line: str) -> list[str]:
    """Words of a line without its comment. A backslash keeps the next character; `#` at a word's start ends it all."""
    words: list[str] = []
    current = ""
    escaped = False
    for character in line:
        if escaped:
            current += "\\" + character
            escaped = False
        elif character == "\\":
            escaped = True
        elif character in " \t\f\v":
            if current:
                words.append(current)
            current = ""
        elif character == "#" and not current:
            return words
        else:
            current += character
    if escaped:
        current += "\\"
    if current:
        words.append(current)
    return words


def _fault(words: list[str]) -> str | None:
    pattern = words[0]
    if pattern.startswith("!"):
        return "CODEOWNERS knows no negation with !."
    if "[" in pattern or "]" in pattern:
        return "CODEOWNERS knows no character ranges in [ ]."
    if pattern.startswith("\\#"):
        return "CODEOWNERS cannot escape # at the start of a pattern."
    if pattern.endswith("\\") and not pattern.endswith("\\\\"):
        return "A pattern may not end in a backslash."
    for owner in words[1:]:
        if not (_LOGIN.match(owner) or _TEAM.match(owner) or _EMAIL.match(owner)):
            return f"{owner} is no @login, @organisation/team or e-mail address."
    return None


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    anchored = "/" in pattern[:-1]
    below = pattern.endswith("/")
    body = pattern.strip("/")
    if not body:
        return re.compile(r"(?!)")
    segments = body.split("/")
    parts: list[str] = [] if anchored else ["(?:.+/)?"]
    for index, segment in enumerate(segments):
        last = index == len(segments) - 1
        if segment == "**":
            parts.append(".+" if last else "(?:.+/)?")
        else:
            parts.append(_segment(segment) + ("" if last else "/"))
    if below:
        parts.append("/.+")
    elif segments[-1] not in ("*", "**") or not anchored:
        parts.append("(?:/.+)?")
    return re.compile("".join(parts) + r"\Z", re.DOTALL)


def _segment(segment: str) -> str:
    result = ""
    position = 0
    while position < len(segment):
        character = segment[position]
        if character == "\\" and position + 1 < len(segment):
            position += 1
            result += re.escape(segment[position])
        elif character == "*":
            while segment[position + 1 : position + 2] == "*":
                position += 1
            result += "[^/]*"
        elif character == "?":
            result += "[^/]"
        else:
            result += re.escape(character)
        position += 1
    return result or "[^/]+"
