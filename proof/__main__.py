"""Purpose: `make sweep-proof`: the story and the drills with real parts, in `var/sweep-proof`.

Exit 0 where every step held, 1 where one did not (the last line says which), 2 where a part cannot be had.
"""

from __future__ import annotations

import os
import shutil
import sys
from datetime import date
from pathlib import Path

from app.demo.play import quieten
from app.demo.stage import Stage, TooLate
from app.sandbox import World
from proof import act, drills, parts, slurm, target_repository
from proof.runner import RUNNER, Runner
from proof.story import Broken, Transcript, fail, tell

FOLDER = parts.ROOT / "var" / "sweep-proof"
ACCOUNT = target_repository.NAME.split("/", maxsplit=1)[0]


def policy(folder: Path, found: parts.Parts) -> Path:
    """The launch policy with the engine's command filled in."""
    text = (parts.ROOT / "proof" / "launch.yaml").read_text()
    text = text.replace("@PYTHON@", str(found.bin / "python"))
    path = folder / "launch.yaml"
    path.write_text(text.replace("@ENGINE@", str(parts.ROOT / "proof" / "engine" / "serve.py")))
    return path


def workspace(
    folder: Path,
    target: target_repository.Target,
    found: parts.Parts,
    cluster: slurm.Cluster,
    api: str,
) -> act.Workspace:
    """Everything that the runs of this proof share."""
    sha = target_repository.tooling(folder, target.repositories)
    tools = folder / "tools"
    parts.own_tools(folder / "tooling" / "requirements.lock", tools)
    environment = {
        **cluster.environment(),
        "RUNNER_NAME": RUNNER,
        "SWEEPGATE_LAUNCH_POLICY": str(policy(folder, found)),
        "SWEEPGATE_TOOLS": str(tools),
        "SWEEPGATE_STATE": str(folder / "state"),
        "CLIENT_BIN": str(found.bin),
        "CLIENT_TOKENIZER": str(found.tokenizer),
        "GITHUB_API_URL": api,
    }
    variables = {
        "SWEEPGATE_REPOSITORY": target_repository.TOOLING,
        "SWEEPGATE_REF": sha,
        "SWEEPGATE_KEEP": str(folder / "kept"),
    }
    artifacts = folder / "artifacts"
    artifacts.mkdir()
    return act.Workspace(
        target.repositories,
        artifacts,
        folder / "act-cache",
        found.act,
        environment,
        variables,
    )


def play_story(folder: Path, found: parts.Parts, told: Transcript) -> None:
    world = World()
    target = target_repository.build(folder, world, "service", found.model)
    for login, permission in (
        ("maintainer", "write"),
        ("reviewer", "write"),
        ("author", "read"),
    ):
        target.remote.collaborator(login, permission)
    with (
        slurm.cluster(folder / "slurm") as cluster,
        Stage(world, review_day=date(2026, 10, 21), account=ACCOUNT) as stage,
        Runner(folder, target, workspace(folder, target, found, cluster, stage.sandbox.url)) as runner,
    ):
        world.token("proof-token", "github-actions[bot]")
        told.say("one-node Slurm, stand-in, service and runner are up")
        tell(target, runner, cluster, told)


def main(arguments: list[str]) -> int:
    chosen = set(arguments) or {"story", "drills"}
    os.chdir(parts.ROOT)
    quieten()
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    told = Transcript(FOLDER / "transcript.txt")
    try:
        told.say("fetching parts: Slurm, act, llama.cpp, a 270M model, AIPerf")
        slurm.install()
        found = parts.fetch()
        told.say("parts are there")
        if "story" in chosen:
            (FOLDER / "story").mkdir()
            play_story(FOLDER / "story", found, told)
        if "drills" in chosen:
            (FOLDER / "drills").mkdir()
            drills.play(FOLDER / "drills", found, told, workspace)
    except (parts.PartMissing, slurm.SlurmMissing) as missing:
        print(f"sweep-proof: {missing}", file=sys.stderr)
        return 2
    except (Broken, TooLate) as broken:
        return fail(f"{broken}. Logs: {FOLDER}")
    told.say("every step held")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
