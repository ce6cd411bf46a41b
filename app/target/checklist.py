"""Purpose: the review checklist: the template's items, the items of a sign-off, and what is missing or left open.

Source: rules.md 5, libraries.md 5, verdicts.md check 5. The template stands in a code fence of its file. Items are
compared by their words: links count as their text, case, punctuation and appended addresses do not count, a leading
"Doesn't apply" is allowed. The last item ("If any of the above criteria cannot ...") may stay open.

Invariants: lines in code, quotes and HTML comments are no items. A template without items is refused, never an empty
list that everything satisfies. A malformed box (`[]`, `[ x ]`, a typographic bullet) is still an item and says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from app.target.markdown_blocks import Fence, blocks, urls, visible_lines, without_markup, without_urls
from app.target.source import FileLine, reject

TRIGGER = "As a PR reviewer and CODEOWNER"

_MANY_BRACKETS = 2_000
"""More than any checklist has; looking for links among them would take quadratic time."""
_BOX = re.compile(
    r"(?P<indent>[ \t]*)(?:(?:[-*+•‣◦▪·–—]|\d{1,3}[.)])[ \t]*)?"
    r"\[(?P<mark>[^\[\]\n]{0,200})\](?!\()(?P<rest>.*)\Z"
)
_TICKS = frozenset(("x", "✓", "✔", "✔️", "✅", "☑", "y", "yes", "done"))
_REFUSALS = frozenset(("no", "n", "nope", "not", "false", "fail", "failed", "todo", "tbd", "open", "pending", "wip"))
_WELL_FORMED = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[[ xX]\][ \t]+\S")
_DOES_NOT_APPLY = re.compile(r"(?:\W*(?:doesn['’]?t apply|does not apply|not applicable|n/?a)\b)+\W*", re.IGNORECASE)
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]+(?P<text>.*)\Z")
# The template's placeholder FILL_IN_GITHUB_USERNAME reads as "FILL": a login has no underscore.
_SIGNED = re.compile(r"\W*signed(?:[ -]off)?(?:[ -]by)?\W*:\W*(?P<name>[A-Za-z0-9][A-Za-z0-9-]*)", re.IGNORECASE)
_PLACEHOLDERS = ("insert any additional info here", "fill_in_github_username")


@dataclass(frozen=True, slots=True)
class Item:
    """One checklist item. `key` are its words for comparison; `value` is text in the box other than a tick."""

    text: str
    key: str
    line: int
    level: int
    ticked: bool
    malformed: bool = False
    value: str = ""

    @property
    def conditional(self) -> bool:
        """The item that a clean sign-off leaves open."""
        return self.key.startswith("if any of the above")


@dataclass(frozen=True)
class Template:
    """The items that a sign-off must hold."""

    items: tuple[Item, ...]
    where: FileLine


@dataclass(frozen=True, slots=True)
class Link:
    """An address in a sign-off; `detail` where it stands in the additional detail section."""

    url: str
    line: int
    detail: bool


@dataclass(frozen=True, slots=True)
class DetailLine:
    """One line of the additional detail section."""

    text: str
    line: int


@dataclass(frozen=True)
class SignOff:
    """A sign-off comment. `trigger_line` is the line of the trigger phrase, None where it is not a sign-off."""

    items: tuple[Item, ...]
    detail: tuple[DetailLine, ...]
    signed_by: str | None
    trigger_line: int | None
    links: tuple[Link, ...] = field(default_factory=tuple)


@dataclass(frozen=True, slots=True)
class Answer:
    """A template item and what the sign-off has for it."""

    wanted: Item
    given: Item


@dataclass(frozen=True)
class Comparison:
    """`missing`: template items that the sign-off lacks. `unticked`: open without explanation. `explained`: open, with
    a reason in the item or the detail section. `extra`: items that the template does not have."""

    missing: tuple[Item, ...]
    unticked: tuple[Answer, ...]
    extra: tuple[Item, ...]
    explained: tuple[Answer, ...]
    answered: tuple[Answer, ...] = field(default_factory=tuple)

    @property
    def complete(self) -> bool:
        return not self.missing and not self.unticked


def holds_trigger(body: str) -> bool:
    """True if the opening words stand in the text itself: not in a quote, in code or in an HTML comment."""
    if TRIGGER not in body:
        return False
    from markdown_it import MarkdownIt

    quoted = 0
    markdown = MarkdownIt("commonmark", {"maxNesting": 100})
    if body.count("[") > _MANY_BRACKETS:
        markdown.disable(["link", "image"])
    for token in markdown.parse(body):
        quoted += {"blockquote_open": 1, "blockquote_close": -1}.get(token.type, 0)
        if token.type == "inline" and quoted == 0:
            hidden = ("code_inline", "html_inline")
            shown = "".join(child.content or "\n" for child in token.children or () if child.type not in hidden)
            if TRIGGER in shown:
                return True
    return False


def words_of(text: str) -> str:
    """The words that decide whether two items are the same."""
    plain = without_urls(without_markup(text))
    lead = _DOES_NOT_APPLY.match(plain)
    plain = plain[lead.end() :] if lead else plain
    return " ".join(re.findall(r"\w+", plain.replace("'", "").replace("’", "").casefold()))


def _starts_open(text: str) -> bool:
    return _DOES_NOT_APPLY.match(without_markup(text)) is not None


def parse_template(path: str, content: bytes, sha: str = "") -> Template:
    """The template of the checklist file. Raises RejectedInput where it has no items."""
    text = content.decode("utf-8-sig", errors="replace")
    fences = [block for block in blocks(text) if isinstance(block, Fence)]
    for fence in sorted(fences, key=lambda fence: TRIGGER not in fence.content):
        items = tuple(_items(fence.content.split("\n"), fence.line))
        if items:
            return Template(items, FileLine(path, fence.line, 0, sha))
    items = tuple(_items(visible_lines(text), 1))
    if not items:
        fix = "Put the template into a code fence with one - [ ] line for each item."
        raise reject(FileLine(path, 1, 0, sha), "The checklist template has no items.", "0 items", fix, 1)
    return Template(items, FileLine(path, items[0].line, 0, sha))


def parse_signoff(text: str) -> SignOff:
    """The sign-off in a comment. Never raises; `trigger_line` is None where the comment is none."""
    lines = visible_lines(text)
    trigger = next((number for number, line in enumerate(lines, 1) if TRIGGER in without_markup(line)), None)
    detail = tuple(_detail(lines))
    numbers = {line.line for line in detail}
    signed = next((match["name"] for match in map(_SIGNED.match, reversed(lines)) if match), None)
    if signed == "FILL":
        signed = None
    links = tuple(Link(url, number, number in numbers) for number, line in enumerate(lines, 1) for url in urls(line))
    return SignOff(tuple(_items(lines, 1)), detail, signed, trigger, links)


def _items(lines: Iterable[str], first: int) -> Iterator[Item]:
    """Items with their continuation lines."""
    open_item: tuple[re.Match[str], int, list[str]] | None = None
    for number, line in enumerate(lines, first):
        match = _BOX.match(line)
        ends = match is not None or not line.strip() or _HEADING.match(line) or _SIGNED.match(line)
        if ends and open_item is not None:
            yield _item(*open_item)
            open_item = None
        if match is not None:
            open_item = (match, number, [match["rest"]])
        elif open_item is not None and not re.match(r"[ \t]*[-*+•][ \t]", line):
            open_item[2].append(line)
        elif open_item is not None:
            yield _item(*open_item)
            open_item = None
    if open_item is not None:
        yield _item(*open_item)


def _item(match: re.Match[str], line: int, texts: list[str]) -> Item:
    text = " ".join(part.strip() for part in texts).strip()
    mark = match["mark"].strip()
    ticked = mark.casefold() in _TICKS
    # Only words answer in place of a tick: a dash, a cross or "no" leaves the item open.
    answers = bool(re.search(r"\w", mark)) and words_of(mark) not in _REFUSALS
    value = mark if answers and not ticked else ""
    level = len(match["indent"].expandtabs(4)) // 2
    malformed = _WELL_FORMED.match(match.string) is None
    return Item(text, words_of(text), line, level, ticked or bool(value), malformed, value)


def _detail(lines: list[str]) -> Iterator[DetailLine]:
    inside = False
    for number, line in enumerate(lines, 1):
        heading = _HEADING.match(line)
        title = without_markup(heading["text"] if heading else line).casefold()
        if title.startswith("additional detail"):
            inside = True
            rest = line.partition(":")[2].strip()
            if rest:
                yield DetailLine(rest, number)
        elif inside and _SIGNED.match(line):
            return
        elif inside and line.strip() and not any(word in title for word in _PLACEHOLDERS):
            yield DetailLine(line.strip(), number)


def compare(template: Template, signoff: SignOff) -> Comparison:
    """What the sign-off lacks against the template. Each sign-off item answers at most one template item."""
    left = list(signoff.items)
    missing: list[Item] = []
    unticked: list[Answer] = []
    explained: list[Answer] = []
    answered: list[Answer] = []
    for wanted in sorted(template.items, key=lambda item: -len(item.key)):
        given = _answer(wanted, left)
        if given is None:
            missing.append(wanted)
            continue
        left.remove(given)
        answer = Answer(wanted, given)
        answered.append(answer)
        if given.ticked or wanted.conditional:
            continue
        (explained if _explained(answer, template, signoff) else unticked).append(answer)
    order = {item: place for place, item in enumerate(template.items)}
    return Comparison(
        tuple(sorted(missing, key=order.__getitem__)),
        tuple(sorted(unticked, key=lambda answer: order[answer.wanted])),
        tuple(left),
        tuple(sorted(explained, key=lambda answer: order[answer.wanted])),
        tuple(sorted(answered, key=lambda answer: order[answer.wanted])),
    )


def _answer(wanted: Item, given: list[Item]) -> Item | None:
    exact = (item for item in given if item.key == wanted.key)
    longer = (item for item in given if item.key.startswith(f"{wanted.key} "))
    return next(exact, None) or next(longer, None)


def _explained(answer: Answer, template: Template, signoff: SignOff) -> bool:
    """An open item says why itself, or the detail section speaks of what the item is about (two of its rarer words)."""
    if answer.given.key != answer.wanted.key or _starts_open(answer.given.text):
        return True
    common = _common_words(template)
    about = {word for word in answer.wanted.key.split() if len(word) >= 4} - common
    return any(len(about & set(words_of(line.text).split())) >= 2 for line in signoff.detail)


def _common_words(template: Template) -> set[str]:
    counts: dict[str, int] = {}
    for item in template.items:
        for word in set(item.key.split()):
            counts[word] = counts.get(word, 0) + 1
    return {word for word, count in counts.items() if count > max(3, len(template.items) // 4)}
