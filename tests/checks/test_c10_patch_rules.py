"""Purpose: check 10, rule by rule: mounts, hooks, setup scripts, and the waiver that may cover them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.sandbox.reference_parts import names
from tests.checks.reference_facts import RECIPE, Story

WAIVER = "inferencex-e2e/docs/waiver/4343.md"
MOUNT = "  container_mounts: [ '/shared/fix.py:/sgl-workspace/sglang/python/sglang/fix.py' ]\n"
KEY = "musespark-fp4-gb200-sglang-agentic-dflash"
COMPLETE = f"""# Engine patch waiver, PR #4343

## Config covered
{KEY} on {names.IMAGE}, recipe `{RECIPE}`.

## What is patched
One file of the scheduler.

## Why the unmodified image cannot run
It stops at load.

## Upstream links
https://github.com/sgl-project/sglang/pull/1

## Removal plan
With the next image.
"""


def top(text: str) -> Story:
    return Story().edit(RECIPE, "  frontend:\n", f"{text}  frontend:\n")


def waived(old: str = "", new: str = "", linked: bool = True) -> Story:
    story = top(MOUNT)
    assert old in COMPLETE
    story.head[WAIVER] = COMPLETE.replace(old, new).encode()
    if linked:
        story.sign_off = story.sign_off.replace("- Pareto:", f"- Waiver: {WAIVER}\n- Pareto:")
    return story


@pytest.mark.parametrize(
    ("make", "status", "reason"),
    [
        pytest.param(
            Story,
            "PASS",
            "nothing in the effective launch changes engine or transport",
            id="10.none: the reference story",
        ),
        pytest.param(
            lambda: top(MOUNT),
            "FAIL",
            "mounts a file over /sgl-workspace/sglang/python/sglang/fix.py",
            id="10.mount: over an engine file (10.no-waiver)",
        ),
        pytest.param(
            lambda: top("  container_mounts: [ '/a:/infmax-workspace', '/b:/logs' ]\n"),
            "PASS",
            "nothing",
            id="10.harness: mounts of the harness",
        ),
        pytest.param(
            lambda: top("  # container_mounts: [ '/a:/sgl-workspace/x' ]\n"),
            "PASS",
            "nothing",
            id="10.unreachable: a comment",
        ),
        pytest.param(waived, "PASS", f"{WAIVER} covers the patch", id="10.waiver: complete and linked"),
        pytest.param(
            lambda: waived(KEY, "another-key"), "FAIL", f"does not name {KEY}", id="10.waiver-scope: another key"
        ),
        pytest.param(
            lambda: waived(names.IMAGE, "lmsysorg/sglang:old"),
            "FAIL",
            "does not name the image lmsysorg/sglang:dev-muse-spark-open",
            id="10.waiver-scope: the image was bumped",
        ),
        pytest.param(
            lambda: waived(f"recipe `{RECIPE}`", "some recipe"),
            "FAIL",
            "does not name agentic.yaml",
            id="10.waiver-scope: another script",
        ),
        pytest.param(
            lambda: waived("## Removal plan\nWith the next image.\n", ""),
            "FAIL",
            "does not say the removal plan",
            id="10.waiver-sections: no removal plan",
        ),
        pytest.param(
            lambda: waived("https://github.com/sgl-project/sglang/pull/1", ""),
            "FAIL",
            "does not say the upstream link",
            id="10.waiver-sections: an empty section",
        ),
        pytest.param(
            lambda: waived(linked=False), "FAIL", "is not linked in the sign-off", id="10.waiver-link: not linked"
        ),
        pytest.param(
            lambda: Story().edit(RECIPE, "        PYTHONNOUSERSITE: '1'\n", "        PYTHONPATH: /opt/hooks\n"),
            "FAIL",
            "could not be verified: PYTHONPATH=/opt/hooks can replace modules of the engine",
            id="10.hook: a module path (10.undecided)",
        ),
        pytest.param(
            lambda: Story().edit(RECIPE, "        PYTHONNOUSERSITE: '1'\n", "        LD_PRELOAD: /opt/x.so\n"),
            "FAIL",
            "could not be verified: LD_PRELOAD=/opt/x.so",
            id="10.hook: a preloaded library",
        ),
        pytest.param(
            lambda: top("  setup_script: vllm-container-deps.sh\n"),
            "FAIL",
            "could not be verified: runs the setup script vllm-container-deps.sh",
            id="10.setup-script: from outside the repository",
        ),
    ],
)
def test_rules(make: Callable[[], Story], status: str, reason: str) -> None:
    row = make().row(10)
    assert row.status.value == status, row.reason
    assert reason in row.reason, row.reason
