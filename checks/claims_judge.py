"""Purpose: compares one claim of a description with what the pull request really changes.

A claim is confirmed, contradicted, or not checkable. It is contradicted only where the semantic diff says the opposite
for every affected key that the claim could be about; doubt is "not checkable", never a contradiction. So is what
rests on a recipe that was read at one revision alone.

Invariants: pure; reads the scope and, for "base settings", the recipe files of both revisions where they were gathered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import Enum

from app.planner.points import AGENTIC, Point
from app.planner.scope import AffectedKey, Scope
from app.target.flags import canonical, canonical_image
from app.target.recipe import EffectiveRecipe, Unbound
from app.target.recipe_document import plain, read_document
from app.target.source import RejectedInput
from app.target.speculation import speculation_of
from app.target.tree import NotRecorded, Tree
from checks.applying import listed
from checks.claims import Claim, Span

_BY_RECIPE = ("changed", "unchanged", "pin", "set")


class State(Enum):
    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    UNKNOWN = "not checkable"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a claim. `found` says what the diff shows, "" where there is nothing to say."""

    claim: Claim
    state: State
    found: str = ""


@dataclass(frozen=True)
class Diff:
    """The semantic diff that claims are compared with; the trees are None where they were not gathered."""

    scope: Scope
    base: Tree | None
    head: Tree | None

    def judge(self, claim: Claim) -> Verdict:
        judges: dict[str, Callable[[Claim], Verdict]] = {
            "removed": self._removed,
            "added": self._added,
            "changed": self._changed,
            "unchanged": self._unchanged,
            "moved": self._moved,
            "pin": self._pin,
            "layout": self._layout,
            "set": self._set,
            "image": self._image,
            "no-change": self._no_change,
        }
        if claim.kind not in judges or (not self.scope.keys and claim.kind == "no-change"):
            return Verdict(claim, State.UNKNOWN)
        judged = judges[claim.kind](claim)
        if judged.state is State.CONTRADICTED and claim.kind in _BY_RECIPE and any(map(_half_read, self._keys(claim))):
            return Verdict(claim, State.UNKNOWN)
        return judged

    def _keys(self, claim: Claim) -> list[AffectedKey]:
        """Keys that the claim names, else all affected ones."""
        return [key for key in self.scope.keys if key.key in claim.text] or list(self.scope.keys)

    def _removed(self, claim: Claim) -> Verdict:
        return self._each(claim, lambda key, conc: conc in _base(key) and conc not in _head(key), "removed")

    def _added(self, claim: Claim) -> Verdict:
        return self._each(claim, lambda key, conc: conc in _head(key) and conc not in _base(key), "added")

    def _changed(self, claim: Claim) -> Verdict:
        return self._each(claim, lambda key, conc: conc in _touched(key), "changed")

    def _each(self, claim: Claim, holds: Callable[[AffectedKey, int], bool], word: str) -> Verdict:
        """Every single concurrency must hold for some key; of a range at least one must."""
        keys = self._keys(claim)
        wrong = []
        for span in claim.spans:
            members = _members(span, keys)
            good = [conc for conc in members if any(holds(key, conc) for key in keys)]
            if not good:
                wrong.append(f"c{span[0]}" if span[0] == span[1] else f"c{span[0]}-c{span[1]}")
        if not wrong:
            return Verdict(claim, State.CONFIRMED)
        if word == "changed" and any(key.why and not key.added and not key.removed for key in keys):
            return Verdict(claim, State.UNKNOWN)
        return Verdict(claim, State.CONTRADICTED, f"{listed(wrong)} {_is(wrong)} not {word}{_really(wrong, keys)}")

    def _unchanged(self, claim: Claim) -> Verdict:
        keys = self._keys(claim)
        for span in claim.spans:
            for conc in _members(span, keys):
                having = [key for key in keys if conc in _base(key) or conc in _head(key)]
                if having and all(conc in _touched(key) or conc not in _head(key) for key in having):
                    what = "changed" if any(conc in _head(key) for key in having) else "removed"
                    return Verdict(claim, State.CONTRADICTED, f"c{conc} is {what}")
        found = [fault for subject in claim.subjects for fault in self._subject(subject, keys)]
        if any(fault is not None for fault in found):
            return Verdict(claim, State.CONTRADICTED, "; ".join(fault for fault in found if fault))
        known = bool(found) or any(_members(span, keys) for span in claim.spans)
        return Verdict(claim, State.CONFIRMED if known else State.UNKNOWN)

    def _moved(self, claim: Claim) -> Verdict:
        """A point of another search-space row: its row differs in more than its concurrency."""
        for key in self._keys(claim):
            for conc in (conc for span in claim.spans for conc in _members(span, [key])):
                before, after = _base(key).get(conc, []), _head(key).get(conc, [])
                if any(_row(one) != _row(other) for one in before for other in after):
                    return Verdict(claim, State.CONFIRMED)
        return Verdict(claim, State.UNKNOWN)

    def _pin(self, claim: Claim) -> Verdict:
        """The recipe itself sets the client's variable to the row's value."""
        field = {"KV_OFFLOADING": "kv-offloading", "CONC": "conc"}.get(claim.name)
        points = [point for key in self._keys(claim) for point in key.points]
        points = [point for point in points if _within(point.concurrency, claim.spans)]
        if field is None or not points:
            return Verdict(claim, State.UNKNOWN)
        pinned = [_pinned(point, claim.name) for point in points]
        wrong = [
            f"{point.label} pins {value}"
            for point, value in zip(points, pinned, strict=True)
            if value is not None and value != _text(point.row.get(field))
        ]
        if wrong:
            return Verdict(claim, State.CONTRADICTED, listed(wrong))
        return Verdict(claim, State.UNKNOWN if None in pinned else State.CONFIRMED)

    def _subject(self, subject: str, keys: Iterable[AffectedKey]) -> Iterator[str | None]:
        """None where a subject is unchanged for a key, else how it changed; nothing where it cannot be compared."""
        for key in keys:
            if subject == "base settings":
                yield from self._base_settings(key)
            elif key.base is None or key.head is None:
                continue
            elif subject == "image":
                yield _other("image", canonical_image(key.base.image), canonical_image(key.head.image))
            elif subject == "model":
                yield _other("model", key.base.model, key.head.model)
            else:
                yield _other("draft", _drafts(key.base_points), _drafts(key.points))

    def _base_settings(self, key: AffectedKey) -> Iterator[str | None]:
        paths = {point.recipe.path for point in key.points if isinstance(point.recipe, EffectiveRecipe)}
        for path in sorted(paths):
            before, after = _base_block(self.base, path), _base_block(self.head, path)
            if before is not None and after is not None:
                yield None if before == after else f"the base block of {path.rsplit('/', 1)[-1]} differs"

    def _layout(self, claim: Claim) -> Verdict:
        """A row of a layout: its points exist at the head with that offload and these sizes."""
        keys = self._keys(claim)
        for span in claim.spans:
            members = [conc for conc in _members(span, keys) if any(conc in _head(key) for key in keys)]
            if not members:
                name = f"c{span[0]}" if span[0] == span[1] else f"c{span[0]}-c{span[1]}"
                return Verdict(claim, State.CONTRADICTED, f"{name} is not a point at the head")
            for conc in members if span[0] == span[1] else ():
                points = [point for key in keys for point in _head(key).get(conc, ())]
                faults = [_misfit(point, claim) for point in points]
                if all(faults):
                    return Verdict(claim, State.CONTRADICTED, f"c{conc} {faults[0]}")
        return Verdict(claim, State.CONFIRMED if claim.spans else State.UNKNOWN)

    def _set(self, claim: Claim) -> Verdict:
        keys = self._keys(claim)
        points = [point for key in keys for point in key.points if _within(point.concurrency, claim.spans)]
        values = {value for point in points for value in _values(point, claim.name)}
        if not values:
            return Verdict(claim, State.UNKNOWN)
        if any(_equal(value, claim.value) for value in values):
            return Verdict(claim, State.CONFIRMED)
        where = listed([point.label for point in points], 4) if claim.spans else "the affected points"
        return Verdict(claim, State.CONTRADICTED, f"{claim.name} is {listed(sorted(values), 4)} at {where}")

    def _image(self, claim: Claim) -> Verdict:
        named = canonical_image(claim.value)
        heads = [canonical_image(key.head.image) for key in self._keys(claim) if key.head]
        bases = [canonical_image(key.base.image) for key in self._keys(claim) if key.base]
        side = bases if claim.old else heads
        if not side:
            return Verdict(claim, State.UNKNOWN)
        if any(image.startswith(named) for image in side):
            return Verdict(claim, State.CONFIRMED)
        if not claim.old and any(image.startswith(named) for image in bases):
            return Verdict(claim, State.UNKNOWN)
        return Verdict(claim, State.CONTRADICTED, f"the image is {listed(side, 2)}")

    def _no_change(self, claim: Claim) -> Verdict:
        touched = [key.key for key in self.scope.keys if key.added or key.removed]
        if touched:
            return Verdict(claim, State.CONTRADICTED, f"points of {listed(touched)} change")
        return Verdict(claim, State.UNKNOWN)


def _half_read(key: AffectedKey) -> bool:
    """True where recipes of one side alone could be read: what differs then may be what was not seen."""
    return key.base is not None and key.head is not None and _unread(key.base_points) is not _unread(key.points)


def _unread(points: Iterable[Point]) -> bool:
    return any(isinstance(point.recipe, Unbound) and point.recipe.outside_repository for point in points)


def _by_concurrency(points: Iterable[Point]) -> dict[int, list[Point]]:
    found: dict[int, list[Point]] = {}
    for point in points:
        found.setdefault(point.concurrency, []).append(point)
    return found


def _base(key: AffectedKey) -> dict[int, list[Point]]:
    return _by_concurrency(key.base_points)


def _head(key: AffectedKey) -> dict[int, list[Point]]:
    return _by_concurrency(key.points)


def _touched(key: AffectedKey) -> set[int]:
    """Concurrencies that were there before and are measured differently now."""
    return {point.concurrency for point in key.added if point.concurrency in _base(key)}


def _members(span: Span, keys: Iterable[AffectedKey]) -> list[int]:
    known = {conc for key in keys for conc in (*_base(key), *_head(key))}
    if span[0] == span[1]:
        return [span[0]]
    return sorted(conc for conc in known if span[0] <= conc <= span[1])


def _within(conc: int, spans: tuple[Span, ...]) -> bool:
    return not spans or any(low <= conc <= high for low, high in spans)


def _is(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _really(wrong: list[str], keys: list[AffectedKey]) -> str:
    """What is true of the first wrong concurrency."""
    if "-" in wrong[0]:
        return ""
    conc = int(wrong[0][1:])
    at_base, at_head = any(conc in _base(key) for key in keys), any(conc in _head(key) for key in keys)
    if at_base and at_head:
        touched = any(conc in _touched(key) for key in keys)
        return f": {wrong[0]} is {'changed' if touched else 'unchanged'}"
    if at_head:
        return f": {wrong[0]} is new at the head"
    return f": {wrong[0]} is gone at the head" if at_base else f": there was no {wrong[0]}"


def _other(what: str, before: object, after: object) -> str | None:
    return None if before == after else f"the {what} changes from {before} to {after}"


def _drafts(points: Iterable[Point]) -> str:
    """Draft models or methods of points, as one text."""
    found = set()
    for point in points:
        if isinstance(point.recipe, EffectiveRecipe):
            try:
                speculation = speculation_of(point.recipe)
            except RejectedInput:
                continue
            found.add(f"{speculation.draft_model or speculation.method}" if speculation else "none")
    return listed(sorted(found))


def _base_block(tree: Tree | None, path: str) -> object:
    if tree is None:
        return None
    try:
        content = tree.read(path)
        document = None if content is None else read_document(path, content, tree.revision)
    except (NotRecorded, RejectedInput):
        return None
    block = document.value.get("base") if document is not None and isinstance(document.value, dict) else None
    return None if block is None else plain(block)


def _misfit(point: Point, claim: Claim) -> str:
    """How a head point differs from what a layout says of it; "" where it does not."""
    offload = str(point.row.get("kv-offloading", "none"))
    if point.scenario == AGENTIC and claim.offload and offload != claim.offload:
        return f"has kv-offloading {offload}"
    if not point.multinode:
        for name, size in claim.sizes:
            actual = point.row.get(name, 1)
            if name in ("tp", "ep", "pp") and actual != size:
                return f"has {name} {actual}"
    return ""


def _values(point: Point, name: str) -> Iterator[str]:
    """Effective values of a flag or variable over the roles of a point."""
    if not isinstance(point.recipe, EffectiveRecipe):
        return
    flag = canonical(point.recipe.engine, name)
    for role in point.recipe.roles.values():
        setting = role.args.get(flag) or point.recipe.effective_env(role.name).get(name)
        if setting is not None:
            yield _text(setting.value)
    setting = point.recipe.benchmark_env.get(name)
    if setting is not None:
        yield _text(setting.value)


def _row(point: Point) -> dict[str, object]:
    return {name: value for name, value in point.row.items() if name not in ("conc", "exp-name")}


def _pinned(point: Point, name: str) -> str | None:
    """A client variable that the recipe file sets, not the harness."""
    if not isinstance(point.recipe, EffectiveRecipe):
        return None
    setting = point.recipe.benchmark_env.get(name)
    written = setting is not None and setting.where.path == point.recipe.path
    return _text(setting.value) if setting is not None and written else None


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _equal(actual: str, claimed: str) -> bool:
    try:
        return Decimal(actual) == Decimal(claimed)
    except InvalidOperation:
        return actual.casefold() == claimed.casefold()
