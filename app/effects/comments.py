"""Purpose: comments of ours: found by author and marker, created once, edited in place, recreated when deleted.

Invariants: a create looks for the marker first; a body never exceeds GitHub's limit and is cut between rows; an equal
body is not written again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.decide.state import OwnComment, Person, PullRef
from app.effects.markers import Markers
from app.effects.once import Once
from app.effects.ports import NotThere, Reader, Writer

MAX_BODY = 65_536


class CommentEffects:
    """Upserts for one pull request. `own` are the trusted comments of the state that was just read."""

    def __init__(
        self,
        ref: PullRef,
        bot: Person,
        own: Sequence[OwnComment],
        tampered: Sequence[OwnComment] = (),
        *,
        reader: Reader,
        writer: Writer,
        markers: Markers,
        once: Once,
    ) -> None:
        self._ref = ref
        self._bot = bot
        self._own = tuple(own)
        self._tampered = tuple(tampered)
        self._reader = reader
        self._writer = writer
        self._markers = markers
        self._once = once

    def refresh(self) -> None:
        """Read our comments again (one request), after something slow happened."""
        remarks = self._reader.remarks(self._ref)
        self._own = self._markers.own(self._ref, remarks, self._bot)
        self._tampered = self._markers.tampered(self._ref, remarks, self._bot)

    def find(self, kind: str, key: str = "") -> OwnComment | None:
        """The oldest trusted comment of this kind and key."""
        found = [comment for comment in self._own if comment.kind == kind and comment.key == key]
        return min(found, key=lambda comment: comment.id) if found else None

    def upsert(
        self,
        kind: str,
        key: str,
        payload: Mapping[str, Any],
        visible: str,
        *,
        replace: Callable[[OwnComment], bool] = lambda _: True,
    ) -> int:
        """The id of the one comment, created or edited. `replace` may refuse to overwrite what is there."""
        body = self._signed(kind, key, payload, visible)
        shown = self.find(kind, key)
        if shown is None:
            edited = [comment.id for comment in self._tampered if (comment.kind, comment.key) == (kind, key)]
            return self._edit(kind, key, min(edited), body) if edited else self._create(kind, key, body)
        if self._signed(kind, key, shown.payload, shown.body) == body or not replace(shown):
            return shown.id
        return self._edit(kind, key, shown.id, body)

    def edit(self, kind: str, key: str, comment_id: int, payload: Mapping[str, Any], visible: str) -> int:
        """Write over a comment that was just made; the id may differ where it had to be made anew."""
        return self._edit(kind, key, comment_id, self._signed(kind, key, payload, visible))

    def _create(self, kind: str, key: str, body: str) -> int:
        created = self._once.create(
            self._ledger_key(kind, key),
            find=lambda: None,
            # The body stays beside the id, so that the comment can be read back before GitHub shows it.
            create=lambda: f"{self._writer.create_comment(self._ref, body)}\n{body}",
        )
        comment_id, _, known = created.result.partition("\n")
        if created.known_only and known != body:
            return self._edit(kind, key, int(comment_id), body)
        return int(comment_id)

    def _edit(self, kind: str, key: str, comment_id: int, body: str) -> int:
        try:
            self._writer.edit_comment(self._ref, comment_id, body)
        except NotThere:
            self._once.forget(self._ledger_key(kind, key))
            self._own = tuple(comment for comment in self._own if comment.id != comment_id)
            self._tampered = tuple(comment for comment in self._tampered if comment.id != comment_id)
            return self._create(kind, key, body)
        return comment_id

    def _ledger_key(self, kind: str, key: str) -> str:
        return f"{self._ref}:comment:{kind}:{key}"

    def _signed(self, kind: str, key: str, payload: Mapping[str, Any], visible: str) -> str:
        room = MAX_BODY - len(self._markers.sign(self._ref, kind, key, payload, ""))
        return self._markers.sign(self._ref, kind, key, payload, cut_at_row(visible, room))


def cut_at_row(visible: str, room: int) -> str:
    """The text if it fits; else whole lines up to the room, a note, and the last line (the assessed commit)."""
    if len(visible) <= room:
        return visible
    lines = visible.rstrip("\n").split("\n")
    last, note = lines[-1][:200], "… the remaining rows stand in the check run."
    closing = "</details>" if "<details>" in visible else ""
    left = room - len(last) - len(note) - len(closing) - 8
    kept: list[str] = []
    for line in lines[:-1]:
        left -= len(line) + 1
        if left < 0:
            break
        kept.append(line)
    is_open = sum("<details>" in line for line in kept) > sum("</details>" in line for line in kept)
    return "\n".join([*kept, *([closing] if is_open else []), "", note, "", last]) + "\n"
