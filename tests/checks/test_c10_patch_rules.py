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


SCRIPTS = "inferencex-e2e/benchmarks/single_node/srt-slurm-recipes/configs"
ENGINE = "/sgl-workspace/sglang/python/sglang/srt/x.py"
PYTHON = """python3 - <<'PY'
import importlib.util
from pathlib import Path
path = Path(importlib.util.find_spec("sglang").origin)
path.write_text(path.read_text().replace("a", "b"))
PY
"""
HARMLESS = """python3 - <<'PY'
import json
json.dump({}, open("/tmp/settings.json", "w"))
PY
"""


def script(text: str, **env: str) -> Story:
    """The recipe names a setup script of this repository; `env` is the role's environment."""
    story = top("  setup_script: setup.sh\n")
    for name, value in env.items():
        story.edit(
            RECIPE, "        PYTHONNOUSERSITE: '1'\n", f"        PYTHONNOUSERSITE: '1'\n        {name}: '{value}'\n"
        )
    for tree in (story.head, story.base):
        tree[f"{SCRIPTS}/setup.sh"] = f"#!/bin/bash\nset -e\n{text}\n".encode()
    return story


@pytest.mark.parametrize(
    ("make", "status", "reason"),
    [
        pytest.param(
            lambda: script("patch -p1 -d /sgl-workspace/sglang < fix.patch"),
            "FAIL",
            "patches /sgl-workspace/sglang",
            id="10.patch-file: patch",
        ),
        pytest.param(
            lambda: script("git -C /sgl-workspace/sglang apply fix.patch"),
            "FAIL",
            "applies a patch to /sgl-workspace/sglang",
            id="10.patch-file: git apply",
        ),
        pytest.param(
            lambda: script("patch -p1 -d /tmp/client < fix.patch"),
            "PASS",
            "nothing",
            id="10.harness: a patch of something else",
        ),
        pytest.param(
            lambda: script(f"F={ENGINE}\nsed -i 's/a/b/' \"$F\""),
            "FAIL",
            f"edits in place {ENGINE}",
            id="10.in-place: sed through a variable",
        ),
        pytest.param(
            lambda: script("sed -i.bak 's/a/b/' /sgl-workspace/sglang/x.py"),
            "FAIL",
            "edits in place /sgl-workspace/sglang/x.py",
            id="10.in-place: sed that keeps a copy",
        ),
        pytest.param(
            lambda: script("while read -r f; do sed -Ei s/a/b/ $f; done <<< /sgl-workspace/sglang/x.py"),
            "FAIL",
            "edits in place /sgl-workspace/sglang/x.py",
            id="10.in-place: a target from a here-string behind a loop",
        ),
        pytest.param(
            lambda: script("sed -i 's/a/b/' /tmp/x.yaml"), "PASS", "nothing", id="10.harness: sed on a config file"
        ),
        pytest.param(
            lambda: script(f"cat > {ENGINE} <<'EOF'\nx = 1\nEOF"),
            "FAIL",
            f"writes over {ENGINE}",
            id="10.in-place: a here-document",
        ),
        pytest.param(lambda: script(f"cp /tmp/x.py {ENGINE}"), "FAIL", f"copies onto {ENGINE}", id="10.in-place: cp"),
        pytest.param(
            lambda: script(PYTHON),
            "FAIL",
            "rewrites with a Python program /site-packages/sglang/",
            id="10.in-place: a Python program that finds the package",
        ),
        pytest.param(
            lambda: script(HARMLESS), "PASS", "nothing", id="10.harness: a Python program that writes elsewhere"
        ),
        pytest.param(
            lambda: script("sed -i 's/a/b/' \"$(find / -name x.py)\""),
            "FAIL",
            "could not be verified: edits in place",
            id="10.undecided: a target that the machine decides",
        ),
        pytest.param(
            lambda: script("if grep -q old /etc/os-release; then sed -i s/a/b/ /sgl-workspace/x; fi"),
            "FAIL",
            "it stands behind a condition that is not known",
            id="10.undecided: a condition that the machine decides",
        ),
        pytest.param(
            lambda: script("pip install --no-deps https://wheels.example/sglang-0.5.22+fix-cp312-none-any.whl"),
            "FAIL",
            "installs another build of https://wheels.example/sglang",
            id="10.wheel: a rebuilt engine",
        ),
        pytest.param(
            lambda: script("pip install 'nixl==0.9.1' pandas"),
            "FAIL",
            "installs another build of nixl==0.9.1",
            id="10.wheel: transport",
        ),
        pytest.param(
            lambda: script("pip install -q datasets pandas 'lm-eval[api]'"),
            "PASS",
            "nothing",
            id="10.harness: client packages",
        ),
        pytest.param(
            lambda: script("pip install -e /infmax-workspace/utils/aiperf"),
            "PASS",
            "nothing",
            id="10.harness: the harness's own client",
        ),
        pytest.param(
            lambda: script("cd /tmp/deepep && python3 setup.py install"),
            "FAIL",
            "builds from a source tree (setup.py install)",
            id="10.rebuild: setup.py",
        ),
        pytest.param(
            lambda: script("pip install -e /tmp/sglang/python"),
            "FAIL",
            "builds from a source tree (pip install /tmp/sglang/python)",
            id="10.rebuild: an editable install",
        ),
        pytest.param(
            lambda: script("mkdir -p /opt/hooks\ncat > /opt/hooks/sitecustomize.py <<'EOF'\nimport sglang\nEOF"),
            "FAIL",
            "hooks into sglang by /opt/hooks/sitecustomize.py",
            id="10.hook: sitecustomize",
        ),
        pytest.param(
            lambda: script("cat > /tmp/h/sitecustomize.py <<'EOF'\nimport lm_eval\nEOF"),
            "PASS",
            "nothing",
            id="10.harness: sitecustomize of the client",
        ),
        pytest.param(
            lambda: script('if [ "$MODE" = fix ]; then cp x.py /sgl-workspace/x.py; fi', MODE="stock"),
            "PASS",
            "nothing",
            id="10.unreachable: a branch that the point cannot reach",
        ),
        pytest.param(
            lambda: script('if [ "$MODE" = fix ]; then cp x.py /sgl-workspace/x.py; fi', MODE="fix"),
            "FAIL",
            "copies onto /sgl-workspace/x.py",
            id="10.in-place: the same branch reached",
        ),
        pytest.param(
            lambda: script("# cp x.py /sgl-workspace/x.py\necho done"),
            "PASS",
            "nothing",
            id="10.unreachable: a comment in a script",
        ),
        pytest.param(
            lambda: script("srun --container-mounts=/a/x.py:/usr/lib/python3/dist-packages/vllm/x.py true"),
            "FAIL",
            "mounts a file over /usr/lib/python3/dist-packages/vllm/x.py",
            id="10.mount: by the script",
        ),
    ],
)
def test_setup_scripts(make: Callable[[], Story], status: str, reason: str) -> None:
    row = make().row(10)
    assert row.status.value == status, row.reason
    assert reason in row.reason, row.reason


def test_findings_of_scripts_point_at_the_line() -> None:
    row = script(f"echo one\ncp /tmp/x.py {ENGINE}").row(10)
    assert str(row.findings[0].where).startswith(f"{SCRIPTS}/setup.sh:4")
