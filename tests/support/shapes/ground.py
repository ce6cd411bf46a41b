"""Purpose: what every made pull request shares: people, commits, moments, and the small repository it starts from.

The repository's rules (models, thresholds, curves, checklist, runners) are those of the reference story; ownership is
ours, so that one neutral reviewer owns what shapes touch.
"""

from __future__ import annotations

from app.sandbox.reference_parts.tree import files

REPOSITORY = "SemiAnalysisAI/InferenceX"
ROOT = "inferencex-e2e/"
NVIDIA, AMD = f"{ROOT}configs/nvidia-master.yaml", f"{ROOT}configs/amd-master.yaml"
CHANGELOG = f"{ROOT}perf-changelog.yaml"
CHECKLIST = f"{ROOT}docs/PR_REVIEW_CHECKLIST.md"
MODELS = f"{ROOT}docs/MODELS.md"
THRESHOLDS = f"{ROOT}infx/evals/thresholds.yaml"
CURVES = f"{ROOT}infx/golden_al_distribution/"
SINGLE = f"{ROOT}benchmarks/single_node/srt-slurm-recipes/"
MULTI = f"{ROOT}benchmarks/multi_node/srt-slurm-recipes/"
OWNERS = ".github/CODEOWNERS"

AUTHOR, REVIEWER, MAINTAINER, OUTSIDER = "author", "reviewer", "maintainer", "outsider"
IDS = {AUTHOR: 11, REVIEWER: 12, MAINTAINER: 13, OUTSIDER: 14}

BASE, HEAD, LATER, EARLIER = "b" * 40, "a" * 40, "c" * 40, "e" * 40
SRT_SLURM = "5ad1c0ffee37b2e948d6c1a4f7053be82d9061af"
RUN = 40_100_200
SIGN_OFF, USE = 700_002, 700_001
PUSHED, LABELED, STARTED = "2026-10-19T08:00:00Z", "2026-10-19T08:10:00Z", "2026-10-19T08:10:20Z"
USED, SIGNED, DAY = "2026-10-20T09:00:00Z", "2026-10-20T10:00:00Z", "2026-10-21"

CODEOWNERS = f"""\
# The last matching line decides.
* @SemiAnalysisAI/core
/{ROOT}configs/*-master.yaml @reviewer
/{ROOT}benchmarks/**/srt-slurm-recipes/ @reviewer
/{ROOT}docs/MODELS.md @reviewer @SemiAnalysisAI/core
/{ROOT}docs/waiver/ @SemiAnalysisAI/core
"""

_SHARED = ("configs/runners.yaml", "configs/srt-recipes/", "docs/", "infx/")

OLD_ENTRY = """\
- config-keys:
    - dsr1-fp8-h200-sglang
  description:
    - "The first entry of this history."
  pr-link: https://github.com/SemiAnalysisAI/InferenceX/pull/12
"""


def ground(nvidia: str = "", amd: str = "", **more: str) -> dict[str, str]:
    """Repository path to text at the base. `more` maps paths (recipes and others) to text."""
    shared = {
        path: content.decode()
        for path, content in files("base").items()
        if path.startswith(tuple(f"{ROOT}{part}" for part in _SHARED))
    }
    own = {OWNERS: CODEOWNERS, NVIDIA: nvidia, AMD: amd, CHANGELOG: OLD_ENTRY}
    return {**shared, **own, **more}


def appended(key: str, *description: str, extra: str = "", scenario: str = "agentic-coding") -> str:
    """The changelog with one more entry for `key`. `extra` are further lines of the entry."""
    told = "".join(f'    - "{line}"\n' for line in description)
    entry = f"- config-keys:\n    - {key}\n  scenario-type:\n    - {scenario}\n  description:\n{told}  pr-link: XXX\n"
    return f"{OLD_ENTRY}\n{entry}{extra}"
