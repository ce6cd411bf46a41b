"""Purpose: a stateful stand-in for GitHub and the other hosts that Sweepgate talks to, over HTTP on loopback.

`make run`, the tests and anyone who tries Sweepgate use it. It stands alone: nothing here knows the rest of the
project, so that a wrong idea of GitHub cannot be shared by both sides; its answers are held to GitHub's own API
description by tests.

    world = World()                                         # a clock cranked by hand, at 2026-10-21T00:00:00Z
    repo = world.repository("owner/name", files={"README.md": "hello"})
    repo.collaborator("maintainer", "write")
    repo.push("feature", {"README.md": "hello there"}, author="author")
    pull = repo.pull_request("feature", author="author", number=7)
    pull.comment("maintainer", "/verify")
    pull.apply_label("maintainer", "full-sweep-enabled")
    run = repo.start_run("run-sweep.yml", "pull_request", "maintainer", pull.head_sha, "feature").start()
    run.job("agentic / c1", log="...")
    run.artifact("eval_results_all", {"agg_eval_all.json": "[]"})
    run.finish("success")
    world.token("a-token", "sweepgate[bot]")
    with Server(world) as server:                           # server.url, server.addresses()
        ...

What a story can do: `World` people, teams, tokens, Apps, checkpoints, pages (world.py); `Repository` pushes, forks,
collaborators, labels, runs (repository.py); `PullRequest` comments, reviews, labels, edits, merge (pull.py); `Run`
jobs, artifacts, finish, rerun (runs.py). Every change moves the hand clock by a second, leaves its trace where GitHub
leaves it, and sends its webhook (`world.webhooks.point_at(url, secret)`; webhooks.py: lost, doubled, shuffled,
redelivered). What goes wrong on demand is in faults.py (`world.faults.error(...)`, `.secondary(...)`, `.silence(...)`),
lateness in `world.lag`, latency in `world.latency`. `world.requests` and `world.counted()` tell what was asked.

A world can also stand in a folder: `World.load(Path("my-world"))`, layout in load.py.
"""

from __future__ import annotations

from app.sandbox.server import Server
from app.sandbox.world import World

__all__ = ["Server", "World"]
