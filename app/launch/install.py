"""Purpose: write the sweep workflows into a target repository, update them, and tell drift (`sweepgate install`).

One template source in `workflows/*.j2` gives both modes: `service` (our service dispatches sweeps) and `actions`
(labels start them, one control workflow writes). Third-party actions are pinned by commit here and nowhere else.

Invariants: rendering depends on the mode only; a file that does not carry our header is never removed; nothing is
written with `check`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.policy import SweepPolicy

TEMPLATES = Path(__file__).resolve().parents[2] / "workflows"
FOLDER = ".github/workflows"
HEADER = (
    "# Installed by `sweepgate install --mode {mode}`. Do not edit: change Sweepgate's template and install again.\n"
)
_HEADER = re.compile(r"\A# Installed by `sweepgate install --mode (service|actions)`\.")

# Releases of the actions repositories, resolved from their tags.
ACTIONS = {
    "checkout": "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1",
    "upload": "actions/upload-artifact@bbbca2ddaa5d8feaa63e36b76fdaad77386f024f # v7.0.0",
    "download": "actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c # v8.0.1",
}
MODES = ("service", "actions")
BOTH = (
    "run-sweep.yml",
    "benchmark.yml",
    "benchmark-multinode.yml",
    "sweep-more.yml",
    "collect.yml",
    "merge-ingest.yml",
)
ONLY_ACTIONS = ("sweepgate.yml", "review-ping.yml")


class InstallProblem(Exception):  # noqa: N818
    """The workflows cannot be written; the message has the next step."""


@dataclass(frozen=True, slots=True)
class Family:
    """One job family of run-sweep.yml: its job id, shown name (table C), plan bucket and reusable workflow."""

    id: str
    name: str
    bucket: str
    workflow: str

    @property
    def output(self) -> str:
        return self.id.replace("-", "_")


_ONE, _MANY = "benchmark.yml", "benchmark-multinode.yml"
FAMILIES = (
    Family("single-node-1k1k", "single-node 1k1k /", "single_node.1k1k", _ONE),
    Family("single-node-8k1k", "single-node 8k1k /", "single_node.8k1k", _ONE),
    Family("agentic", "agentic /", "single_node.agentic", _ONE),
    Family("multi-node-1k1k", "multi-node 1k1k /", "multi_node.1k1k", _MANY),
    Family("multi-node-8k1k", "multi-node 8k1k /", "multi_node.8k1k", _MANY),
    Family("multi-node-agentic", "multi-node agentic /", "multi_node.agentic", _MANY),
    Family("eval", "eval /", "evals", _ONE),
    Family("agentic-eval", "agentic eval /", "agentic_evals", _ONE),
    Family("multi-node-eval", "multi-node eval /", "multinode_evals", _MANY),
    Family("multi-node-agentic-eval", "multi-node agentic eval /", "multinode_agentic_evals", _MANY),
)
CANARIES = (
    Family("canary", "canary /", "", _ONE),
    Family("multi-node-canary", "multi-node canary /", "", _MANY),
)

_TOOLING = """\
      - name: Check out the tooling
        uses: {checkout}
        with:
          repository: ${{{{ vars.SWEEPGATE_REPOSITORY }}}}
          ref: ${{{{ vars.SWEEPGATE_REF }}}}
          path: tooling
          persist-credentials: false"""
_COMMITS = {
    "service": """\
      head_sha: ${{ inputs.head_sha }}
      base_sha: ${{ needs.setup.outputs.base_sha }}
      fast: ${{ contains(inputs.modifiers, 'agentx-fast') }}""",
    "actions": """\
      head_sha: ${{ github.event.pull_request.head.sha }}
      base_sha: ${{ needs.setup.outputs.base_sha }}
      fast: ${{ contains(github.event.pull_request.labels.*.name, 'agentx-fast') }}""",
}
_PASSED = """\
      row: ${{ matrix.job.row }}
      name: ${{ matrix.job.name }}
      result: ${{ matrix.job.result }}
      kind: ${{ matrix.job.kind }}
      runs_on: ${{ matrix.job.runs_on }}
      minutes: ${{ matrix.job.minutes }}
"""


def _names(mode: str) -> tuple[str, ...]:
    return BOTH + (ONLY_ACTIONS if mode == "actions" else ())


def _template(name: str) -> str:
    return "benchmark.yml.j2" if name == "benchmark-multinode.yml" else f"{name}.j2"


def render(mode: str) -> dict[str, str]:
    """Every workflow file of a mode, by name. Raises InstallProblem where the templates are not there."""
    if not (TEMPLATES / "run-sweep.yml.j2").is_file():
        raise InstallProblem(f"The templates are not in {TEMPLATES}. Run Sweepgate from a checkout of its repository.")
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        block_start_string="[%",
        block_end_string="%]",
        variable_start_string="[[",
        variable_end_string="]]",
        comment_start_string="[#",
        comment_end_string="#]",
        trim_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701  (YAML for a repository, not HTML; every value is a constant of ours)
    )
    return {
        name: HEADER.format(mode=mode) + environment.get_template(_template(name)).render(_values(name, mode))
        for name in _names(mode)
    }


def _values(name: str, mode: str) -> dict[str, object]:
    policy = SweepPolicy()
    many = name == _MANY
    families = [family.id for family in FAMILIES]
    throughput = [family.id for family in FAMILIES if "eval" not in family.id]
    evals = [family.id for family in FAMILIES if "eval" in family.id]
    common = ["setup", "canary-select", *[canary.id for canary in CANARIES]]
    return {
        **ACTIONS,
        "mode": mode,
        "labels": [*policy.primaries, *policy.modifiers],
        "families": FAMILIES,
        "canaries": CANARIES,
        "benchmark_jobs": [*common, *families, "more"],
        "collectors": [
            _collector("collect-results", [*common, *throughput, "more"], "bmk_*", "results"),
            _collector("collect-evals", [*common, *evals, "more"], "eval_*", "evals"),
            _collector("collect-job-events", [*common, *families, "more"], "job_event_*", "events"),
        ],
        "title": "Benchmark, several nodes" if many else "Benchmark, one node",
        "logs": "multinode_server_logs_" if many else "server_logs_",
        "tooling": lambda: _TOOLING.format(**ACTIONS),
        "passed": lambda: _PASSED + _COMMITS[mode],
        "commits": lambda: _COMMITS[mode],
    }


def _collector(name: str, needs: list[str], pattern: str, only: str) -> Mapping[str, object]:
    return {"id": name, "needs": needs, "pattern": pattern, "only": only}


def installed_mode(repository: Path) -> str | None:
    """The mode that the repository's run-sweep.yml was installed with, None where it is not ours."""
    path = repository / FOLDER / "run-sweep.yml"
    found = _HEADER.match(path.read_text(errors="replace")) if path.is_file() else None
    return found.group(1) if found else None


def changes(repository: Path, mode: str) -> dict[Path, tuple[str | None, str | None]]:
    """What differs: path -> (text there, text wanted); None for a file that is not there or must go."""
    wanted = render(mode)
    found: dict[Path, tuple[str | None, str | None]] = {}
    for name, text in wanted.items():
        path = repository / FOLDER / name
        old = path.read_text(errors="replace") if path.is_file() else None
        if old != text:
            found[path] = (old, text)
    for name in set(_names("actions")) - set(wanted):
        path = repository / FOLDER / name
        if path.is_file() and _HEADER.match(old := path.read_text(errors="replace")):
            found[path] = (old, None)
    return found


def _diff(path: str, old: str | None, new: str | None) -> str:
    before, after = (old or "").splitlines(keepends=True), (new or "").splitlines(keepends=True)
    names = ("/dev/null" if old is None else f"a/{path}", "/dev/null" if new is None else f"b/{path}")
    return "".join(difflib.unified_diff(before, after, *names))


def install(repository: Path, mode: str | None, *, check: bool) -> int:
    """Show the difference, write it unless `check`. Returns 0, with `check` 1 where anything differs.

    Raises InstallProblem for a folder that is not there and where the mode is neither given nor installed.
    """
    if not repository.is_dir():
        raise InstallProblem(f"{repository} is no folder. Give --repo a checkout of the target repository.")
    chosen = mode or installed_mode(repository)
    if chosen is None:
        raise InstallProblem("No workflow of Sweepgate is installed here. Give --mode service or --mode actions.")
    found = changes(repository, chosen)
    for path, (old, new) in sorted(found.items()):
        print(_diff(path.relative_to(repository).as_posix(), old, new), end="")
        if check:
            continue
        if new is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(new)
    count = len(found)
    if not found:
        print(f"The workflows are those of mode {chosen}.")
    elif check:
        print(f"{count} files differ from mode {chosen}. Run the command without --check and commit the result.")
    else:
        print(f"{count} files written for mode {chosen}. Review and commit them on the default branch.")
    return 1 if check and found else 0
