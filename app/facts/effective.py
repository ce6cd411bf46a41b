"""Purpose: what a point really ran: its engine and serving path, its jobs' logs, and the settings of each role.

Source: rules.md, "Across checks": the framework label is for naming only, the recipe is not the command. A setting is
the server's own print in the job log where that names it, else the recipe's.

Invariants: pure. A log belongs to a point only if its job name says the same family, model, precision, topology and
concurrency (workflows.md 6). Nothing is guessed where a point has no log: the caller says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from app.facts.records import JobLogRecord
from app.facts.values import text_of
from app.planner.points import AGENTIC, Point
from app.results.job_names import JobName, family_of, mismatch, parse_job
from app.target.flags import engine_of_framework
from app.target.recipe import EffectiveRecipe, Role, Setting


@dataclass(frozen=True, slots=True)
class Effective:
    """One setting as it took effect. `setting` is the recipe's, `line` the log's line, `job` the log's job name.

    `text` is canonical (`app.facts.values`). One of `setting` and `line` is always there.
    """

    name: str
    text: str
    setting: Setting | None
    line: int = 0
    job: str = ""

    @property
    def logged(self) -> bool:
        return self.line > 0


def engine_of(point: Point) -> str | None:
    """sglang, vllm, trtllm, atom or tilert: from the recipe, else from the framework label; None where unknown."""
    if isinstance(point.recipe, EffectiveRecipe):
        return point.recipe.engine
    return engine_of_framework(str(point.row.get("framework", "")))


def through_dynamo(point: Point) -> bool:
    """True where Dynamo serves: `frontend.type: dynamo`; the label decides only where there is no recipe."""
    if isinstance(point.recipe, EffectiveRecipe) and point.recipe.frontend:
        return point.recipe.frontend == "dynamo"
    return str(point.row.get("framework", "")).startswith("dynamo-")


def image_of(point: Point, master_image: str) -> str:
    """The image a point runs: the recipe's where it names a registry path, else the master's.

    August recipes may carry a name that only the cluster knows (`dynamo-sglang`): it has no tag and no slash.
    """
    recipe = point.recipe
    if isinstance(recipe, EffectiveRecipe) and recipe.image is not None:
        named = str(recipe.image.value)
        if "/" in named or "#" in named or ":" in named:
            return named
    return str(point.row.get("image") or master_image)


def role_args(role: Role, log: JobLogRecord | None) -> dict[str, Effective]:
    """Canonical flag -> value of one role: the recipe's flags, each with the log's value where the log prints it."""
    printed = {} if log is None else log.server_args.get(role.name, {})
    found: dict[str, Effective] = {}
    for name, setting in role.args.items():
        logged = printed.get(name)
        if logged is None:
            found[name] = Effective(name, text_of(setting.value), setting)
        else:
            found[name] = Effective(name, text_of(logged.value), setting, logged.line, _job(log))
    return found


def logged_arg(role: str, name: str, log: JobLogRecord | None) -> Effective | None:
    """A flag as the server printed it, whether the recipe sets it or not."""
    logged = None if log is None else log.server_args.get(role, {}).get(name)
    return None if logged is None else Effective(name, text_of(logged.value), None, logged.line, _job(log))


def role_env(recipe: EffectiveRecipe, role: str, log: JobLogRecord | None) -> dict[str, Effective]:
    """Variables of one role (role env, recipe-wide `environment` over it), with the log's value where it names one."""
    printed = {} if log is None else log.env
    found: dict[str, Effective] = {}
    for name, setting in recipe.effective_env(role).items():
        logged = printed.get(name)
        if logged is None:
            found[name] = Effective(name, text_of(setting.value), setting)
        else:
            found[name] = Effective(name, text_of(logged.value), setting, logged.line, _job(log))
    return found


def _job(log: JobLogRecord | None) -> str:
    return "" if log is None else log.job_name


def logs_of(point: Point, logs: Iterable[JobLogRecord]) -> tuple[JobLogRecord, ...]:
    """Logs of the point's throughput jobs."""
    return tuple(log for log in logs if not is_eval_only(log) and runs_point(log.job_name, point))


def eval_logs_of(point: Point, logs: Iterable[JobLogRecord]) -> tuple[JobLogRecord, ...]:
    """Logs of eval-only jobs of the point."""
    return tuple(log for log in logs if is_eval_only(log) and runs_point(log.job_name, point))


def is_eval_only(log: JobLogRecord) -> bool:
    job = _parsed(log.job_name)
    return (job is not None and job.is_eval and "eval-only" in log.job_name) or family_of(log.job_name).endswith("eval")


def runs_point(job_name: str, point: Point) -> bool:
    """True where a job's name describes the point: family, concurrency and every field of the row that it carries."""
    job = _parsed(job_name)
    if job is None or point.concurrency not in job.concurrencies:
        return False
    fixed = "" if point.scenario == AGENTIC else point.label.split(" ")[0]
    if job.family not in ("canary", "eval", fixed or "agentic") or (job.family == "eval" and not fixed):
        return False
    return not mismatch(job, point.row)


@lru_cache(maxsize=1024)
def _parsed(job_name: str) -> JobName | None:
    return parse_job(job_name)
