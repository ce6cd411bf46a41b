"""Purpose: writes examples/pr-4343: collects the reference story from the stand-in over HTTP, as production would.

`make example` runs it. A test collects again and holds the recorded digest.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from pydantic import SecretStr

from app.demo.play import EXAMPLE, REVIEW_DAY
from app.evidence.bundle import Bundle, write_bundle
from app.github.apps import with_token
from app.github.evidence import EvidenceReads
from app.github.hosts import Hosts
from app.sandbox import Server, World
from app.sandbox.reference_story import ReferenceStory
from app.verdict.assess import assess, gather
from app.verdict.policies import policy_of_default_branch


def collect_reference() -> Bundle:
    """The reference bundle, collected over HTTP."""
    world = World()
    story = ReferenceStory(world).play()
    world.token("recorder", "sweepgate[bot]")
    repository = story.repository.full_name
    with Server(world) as server:
        github = with_token(Hosts(**server.addresses()), SecretStr("recorder"))
        return gather(
            EvidenceReads(github),
            repository,
            story.pull.number,
            REVIEW_DAY,
            lambda content: policy_of_default_branch(content, repository=repository),
        )


def main(folder: Path = EXAMPLE) -> int:
    bundle = collect_reference()
    shutil.rmtree(folder, ignore_errors=True)
    write_bundle(bundle, folder)
    print(f"{folder}: {assess(bundle).verdict.header}, digest {bundle.digest}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
