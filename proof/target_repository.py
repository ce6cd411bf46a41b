"""Purpose: the target repository of the proof: real git commits, mirrored into the GitHub stand-in under the same ids.

Runners clone from bare repositories on disk; the service and the checks read the same commits from the stand-in.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from app.launch.install import FOLDER, render
from app.sandbox import World
from app.sandbox.repository import Repository
from proof.parts import ROOT

NAME = "example/inference-bench"
TOOLING = "example/sweepgate"
MASTER = "inferencex-e2e/configs/nvidia-master.yaml"
RECIPE = "inferencex-e2e/benchmarks/single_node/srt-slurm-recipes/gemma3/llamacpp/cpu-q4/agentic.yaml"
CHANGELOG = "inferencex-e2e/perf-changelog.yaml"
RUNNERS = "inferencex-e2e/configs/runners.yaml"
KEY = "gemma3-q4-cpu-llamacpp-agentic"
IDENTITY = (
    "-c",
    "user.name=author",
    "-c",
    "user.email=author@example.invalid",
    "-c",
    "commit.gpgsign=false",
)


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *IDENTITY, "-C", str(folder), *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def variant(concurrency: int) -> str:
    return (
        f"\noverride_c{concurrency}:\n"
        f"  roles: {{ agg: {{ args: {{ parallel: {concurrency} }} }} }}\n"
        f"  benchmark: {{ env: {{ CONC: '{concurrency}' }} }}\n"
    )


@dataclass
class Target:
    """A work tree and its bare mirror in `repositories`; `remote` is the stand-in's repository."""

    work: Path
    repositories: Path
    remote: Repository

    @property
    def bare(self) -> Path:
        return self.repositories / f"{NAME}.git"

    def text(self, path: str) -> str:
        return (self.work / path).read_text()

    def commit(
        self,
        branch: str,
        changes: Mapping[str, str],
        message: str,
        author: str = "author",
    ) -> str:
        """Commit on a branch (made from main where new), push to the mirror and to the stand-in. The commit's id."""
        known = branch in git(self.work, "branch", "--format=%(refname:short)").split()
        git(
            self.work,
            "checkout",
            "--quiet",
            *([branch] if known else ["-b", branch, "main"]),
        )
        for path, text in changes.items():
            (self.work / path).parent.mkdir(parents=True, exist_ok=True)
            (self.work / path).write_text(text)
        git(self.work, "add", "--all")
        git(self.work, "commit", "--quiet", "--message", message)
        sha = git(self.work, "rev-parse", "HEAD")
        git(self.work, "push", "--quiet", str(self.bare), branch)
        self.remote.push(branch, dict(changes), author=author, message=message, sha=sha)
        return sha

    def clone(self, folder: Path) -> Path:
        """A fresh checkout of the default branch, where act finds the workflows."""
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run(
            [
                "git",
                "clone",
                "--quiet",
                "--branch",
                "main",
                str(self.bare),
                str(folder),
            ],
            check=True,
        )
        return folder


def more_points(target: Target, concurrencies: tuple[int, ...]) -> dict[str, str]:
    """The files of a pull request that adds points: master, recipe, changelog."""
    listed = ", ".join(map(str, (1, *concurrencies)))
    entry = f'\n- config-keys:\n    - {KEY}\n  description:\n    - "Measure concurrency {listed}."\n  pr-link: XXX\n'
    return {
        MASTER: target.text(MASTER).replace("conc-list: [1]", f"conc-list: [{listed}]"),
        RECIPE: target.text(RECIPE) + "".join(variant(number) for number in concurrencies),
        CHANGELOG: target.text(CHANGELOG) + entry,
    }


def build(folder: Path, world: World, mode: str, model: Path) -> Target:
    """The repository with workflows of `mode` installed, on disk and in the stand-in."""
    work, repositories = folder / "target", folder / "repositories"
    shutil.copytree(ROOT / "proof" / "target", work)
    (work / RUNNERS).write_text((work / RUNNERS).read_text().replace("@MODEL@", str(model)))
    for name, text in render(mode).items():
        (work / FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
        (work / FOLDER / name).write_text(text)
    git(work, "init", "--quiet", "--initial-branch", "main")
    git(work, "add", "--all")
    git(work, "commit", "--quiet", "--message", "The benchmark repository")
    sha = git(work, "rev-parse", "HEAD")
    bare = repositories / f"{NAME}.git"
    bare.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "clone", "--quiet", "--bare", str(work), str(bare)], check=True)
    files = {path: (work / path).read_bytes() for path in git(work, "ls-files").splitlines()}
    return Target(work, repositories, world.repository(NAME, files=files, sha=sha))


def tooling(folder: Path, repositories: Path) -> str:
    """This project as the tooling repository, as it stands in the work tree; the commit that runners check out."""
    work = folder / "tooling"
    work.mkdir()
    for path in git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard").splitlines():
        if (ROOT / path).is_file() and path.split("/")[0] in (
            "app",
            "checks",
            "configs",
            "workflows",
            "requirements.lock",
        ):
            (work / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, work / path)
    git(work, "init", "--quiet", "--initial-branch", "main")
    git(work, "add", "--all")
    git(work, "commit", "--quiet", "--message", "Sweepgate")
    bare = repositories / f"{TOOLING}.git"
    bare.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "clone", "--quiet", "--bare", str(work), str(bare)], check=True)
    return git(work, "rev-parse", "HEAD")
