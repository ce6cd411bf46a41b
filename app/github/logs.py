"""Purpose: which text of a run's log archive belongs to which job.

The archive names a text "<n>_<job>.txt", with the characters left out that a file name bars, cut after 90 characters,
and a number added where two are alike. A job is matched only if exactly one text and one job fit each other, whole
names before cut ones; the others are for the caller to read one by one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from app.github.reads import JobRead

MEMBER = re.compile(r"^-?\d+_(.+)\.txt$")
CUT = 90


def job_texts(members: Mapping[str, bytes], jobs: Iterable[JobRead]) -> tuple[dict[int, bytes], list[JobRead]]:
    """Texts by job id, and the executed jobs that no single text could be found for."""
    texts = {name: fits[1] for name in members if (fits := MEMBER.match(name))}
    ran = [job for job in jobs if job.runner_name]
    whole = _pairs(texts, ran, lambda stem, job: _bare(stem) == _bare(job))
    left = {name: stem for name, stem in texts.items() if name not in whole.values() and len(stem) >= CUT - 3}
    rest = [job for job in ran if job.id not in whole]
    pairs = whole | _pairs(left, rest, lambda stem, job: _bare(job).startswith(_bare(stem)))
    return {job: members[name] for job, name in pairs.items()}, [job for job in ran if job.id not in pairs]


def _pairs(texts: Mapping[str, str], jobs: Iterable[JobRead], fits: Callable[[str, str], bool]) -> dict[int, str]:
    """Job ids and texts that fit each other and nothing else."""
    fitting = {job.id: [name for name, stem in texts.items() if fits(stem, job.name)] for job in jobs}
    claims = Counter(name for names in fitting.values() for name in names)
    return {job: names[0] for job, names in fitting.items() if len(names) == 1 and claims[names[0]] == 1}


def _bare(name: str) -> str:
    return re.sub(r"[^0-9A-Za-z]+", "", name)
