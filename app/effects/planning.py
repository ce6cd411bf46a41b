"""Purpose: the matrix that a label asks for, shown before anything runs: points, GPUs, estimated GPU-hours.

Implements `app.effects.context.Planner`: reads the planner's files at merge base and head through GitHub and plans as
`sweepgate plan` and the run's own setup job do. A plan that is not possible is shown with its reasons; the run's setup
job refuses it likewise.

Invariant: a pair of commits is planned once; the same commits and labels give the same text.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

from app.decide.state import PullState
from app.effects.context import PlanText
from app.effects.github import translated
from app.evidence import wanted
from app.evidence.reads import Reads
from app.planner.cost import row_cost, total_cost
from app.planner.plan import Plan, PlanOptions, plan
from app.policy import SweepPolicy
from app.target.changelog import difference
from app.target.source import RejectedInput
from app.target.tree import NotRecorded, Tree
from app.words.sweep import plan_refused, plan_table, plan_title

MOST_KEPT = 200


class Plans:
    """Thread-safe. `sweep_of` gives the sweep policy of a repository."""

    def __init__(self, reads_of: Callable[[str], Reads], sweep_of: Callable[[str], SweepPolicy]) -> None:
        self._reads_of, self._sweep_of = reads_of, sweep_of
        self._kept: OrderedDict[tuple[str, ...], PlanText] = OrderedDict()
        self._guard = threading.Lock()

    def __call__(self, state: PullState, label: str, modifiers: tuple[str, ...]) -> PlanText:
        """Raises the errors of app.effects.ports."""
        key = (state.ref.repository, state.merge_base, state.head_sha, label, *modifiers)
        with self._guard:
            known = self._kept.get(key)
        if known is None:
            known = self._planned(state, label, modifiers)
            with self._guard:
                self._kept[key] = known
                while len(self._kept) > MOST_KEPT:
                    self._kept.popitem(last=False)
        return known

    def _planned(self, state: PullState, label: str, modifiers: tuple[str, ...]) -> PlanText:
        repository = state.ref.repository
        with translated():
            base, head = planned_trees(self._reads_of(repository), state)
        options = PlanOptions(
            trim_conc=self._sweep_of(repository).primaries.get(label) == "trim",
            all_evals="all-evals" in modifiers,
            evals_only="evals-only" in modifiers,
            agentx_fast="agentx-fast" in modifiers,
            base_ref=state.merge_base,
            head_ref=state.head_sha,
        )
        try:
            return _text(plan(base, head, options), (label, *modifiers))
        except RejectedInput as refused:
            title, summary = plan_refused([str(problem) for problem in refused.problems])
        except NotRecorded as missing:
            title, summary = plan_refused([str(missing)])
        return PlanText(title, summary, "", ok=False)


def _text(found: Plan, labels: Sequence[str]) -> PlanText:
    rows = []
    for row in found.rows:
        cost = row_cost(row)
        rows.append((row.bucket, row.config_key, row.concurrencies, cost.points, cost.gpus, cost.gpu_hours))
    total = total_cost(found.rows)
    measured = [row for row in found.rows if not row.is_eval]
    points, evals = total_cost(measured).points, len(found.rows) - len(measured)
    title, summary = plan_title(points, evals, total.gpus, total.gpu_hours, labels)
    return PlanText(title, summary, plan_table(rows))


def planned_trees(reads: Reads, state: PullState) -> tuple[Tree, Tree]:
    """What the planner reads at merge base and head: masters, runners, changelog, shared fragments, named recipes."""
    layout = wanted.layout_of((file.path for file in state.files), False)
    shas = (state.merge_base, state.head_sha)
    found: dict[str, dict[str, bytes | None]] = {sha: {} for sha in shas}

    folders = wanted.directories(layout)

    def read(paths: Sequence[str], whole: Sequence[str] = ()) -> None:
        if paths:
            answer = reads.files(state.ref.repository, dict.fromkeys(found, (paths, whole))).files
            for sha, files in found.items():
                files.update(answer[sha])

    def tree(sha: str) -> Tree:
        files = {path: content for path, content in found[sha].items() if content is not None}
        absent = frozenset(path for path, content in found[sha].items() if content is None)
        return Tree(sha, files, absent, folders=frozenset(folders))

    read((*layout.masters, layout.runners, layout.changelog), folders)
    base, head = map(tree, shas)
    try:
        named = [key for entry in difference(base, head).added for key in entry.config_keys]
    except RejectedInput:
        named = []
    masters = [[found[sha].get(path) or b"" for path in layout.masters] for sha in shas]
    read(wanted.named_recipes(wanted.differing_blocks(masters[0], masters[1], named), layout))
    return tree(shas[0]), tree(shas[1])
