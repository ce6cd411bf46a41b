"""Purpose: which text of a run's log archive belongs to which job.

The archive names a text "<n>_<job>.txt", with the characters left out that a file name bars, cut after 90 characters,
and a number added where two are alike. A job is matched only if exactly one text and one job fit each other; the
others are for the caller to read one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from app.github.reads import JobRead

MEMBER = re.compile(r"^-?\d+_(.+)\.txt$")
CUT = 90


def job_texts(members: Mapping[str, bytes], jobs: Iterable[JobRead]) -> tuple[dict[int, bytes], list[JobRead]]:
    """Texts by job id, and the executed jobs that no single text could be found for."""
    ran = [job for job in jobs if job.runner_name]
    texts = {name: fits[1] for name in members if (fits := MEMBER.match(name))}
    fitting = {job.id: [name for name, stem in texts.items() if _fits(stem, job.name)] for job in ran}
    claims: dict[str, int] = {}
    for names in fitting.values():
        for name in names:
            claims[name] = claims.get(name, 0) + 1
    found: dict[int, bytes] = {}
    missing: list[JobRead] = []
    for job in ran:
        names = fitting[job.id]
        if len(names) == 1 and claims[names[0]] == 1:
            found[job.id] = members[names[0]]
        else:
            missing.append(job)
    return found, missing


def _fits(stem: str, job: str) -> bool:
    known, told = _bare(stem), _bare(job)
    return told.startswith(known) if len(stem) >= CUT - 3 else known == told


def _bare(name: str) -> str:
    return re.sub(r"[^0-9A-Za-z]+", "", name)
