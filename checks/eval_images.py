"""Purpose: whether an eval ran the submitted image (check 2): from its job log, else from benchmark rows of the run.

Invariants: names are compared in one form (`#` is `/`, aliases of the policy resolved); where both sides have a digest
the digests decide. An image that nothing shows is told as unseen, never assumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from app.facts.effective import image_of
from app.facts.sweep import BenchmarkRows, JobLogs
from app.planner.plan import PlannedRow
from app.planner.scope import Scope
from app.results.rows import LABEL_FIELDS, differing, planned_fields
from app.target.flags import canonical_image
from app.target.source import FileLine
from checks.contract import Finding, Job, LogSpan, Unverified
from checks.coverage import label_of, names_row


@dataclass(frozen=True)
class ImageEvidence:
    """Images of a run's evals. `aliases` maps names that only a cluster knows to registry references."""

    scope: Scope
    logs: JobLogs | None
    benchmark: BenchmarkRows | None
    aliases: Mapping[str, str]
    run: int

    def faults(self, planned: Iterable[PlannedRow]) -> list[Finding]:
        """Ambiguous and other images."""
        found: list[Finding] = []
        for row in planned:
            expected, other = self._expected(row)
            if other is not None:
                step = "Name one image in master and recipe."
                text = f"image ambiguous: the master has {expected}, the recipe {other[0]}"
                found.append(Finding(other[1], text, "one image", step))
                continue
            seen = self._seen(row)
            wrong = [one for one in seen if not same_image(one[0], expected)]
            if seen and len(wrong) == len(seen):
                text = f"{label_of(row)} ran {wrong[0][0]}, not {expected}"
                found.append(Finding(wrong[0][1], text, expected, "Let the eval run on the submitted image."))
        return found

    def unseen(self, planned: Iterable[PlannedRow]) -> list[Unverified]:
        reason = "neither the job log nor a result row names it"
        return [Unverified(f"the image of {label_of(row)}", reason) for row in planned if not self._seen(row)]

    @property
    def told(self) -> str:
        return ", image as submitted"

    def _expected(self, row: PlannedRow) -> tuple[str, tuple[str, FileLine] | None]:
        """(the master's image, the recipe's and its place where that is another one)."""
        master = self._plain(str(row.row["image"]))
        for key in self.scope.keys:
            for point in key.points if key.key == row.config_key else ():
                recipe = self._plain(image_of(point, str(row.row["image"])))
                setting = getattr(point.recipe, "image", None)
                if not same_image(recipe, master) and setting is not None:
                    return master, (recipe, setting.where)
        return master, None

    def _seen(self, row: PlannedRow) -> list[tuple[str, LogSpan | Job]]:
        """Images that the eval's own log names; else those of the benchmark rows with the same topology."""
        seen: list[tuple[str, LogSpan | Job]] = []
        for log in self.logs.all if self.logs else ():
            if log.run_id == self.run and names_row(log.job_name, row):
                seen += [(self._plain(image.value), LogSpan(log.job_name, image.line)) for image in log.images]
        if seen:
            return seen
        fields = planned_fields(row.row)
        for one in self.benchmark.rows if self.benchmark else ():
            image = one.data.get("image")
            if isinstance(image, str) and image and differing(fields, one.data) <= LABEL_FIELDS:
                seen.append((self._plain(image), Job(self.run, one.artifact)))
        return seen

    def _plain(self, image: str) -> str:
        name = canonical_image(image)
        return canonical_image(self.aliases.get(name, name))


def same_image(one: str, other: str) -> bool:
    """Equal names, and equal digests where both have one."""
    name, _, digest = one.partition("@")
    other_name, _, other_digest = other.partition("@")
    if digest and other_digest:
        return digest == other_digest
    return name == other_name
