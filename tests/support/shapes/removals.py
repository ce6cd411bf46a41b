"""Purpose: GLM-5.2 on GB300 loses two points and gains none: nothing is submitted, so nothing is swept."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from tests.support.shapes import append_only, ground
from tests.support.shapes.story import Story

KEY, RECIPE = append_only.KEY, append_only.RECIPE
FULL = append_only.MASTER.replace("[4, 12, 28]", "[4, 12, 20, 28, 44]")
VARIANTS = append_only.BUNDLE + "".join(map(append_only.variant, append_only.NEW))
BODY = f"""\
## Description

Removes concurrency 20 and 44 of `{KEY}`. Concurrency 4, 12 and 28 stay as they are.
"""


@cache
def story() -> Story:
    return replace(
        append_only.story(),
        name="glm-fewer-points",
        number=5111,
        title="GLM-5.2 on GB300: two points less",
        body=BODY,
        files=ground.ground(FULL, **{RECIPE: VARIANTS}),
        head={
            ground.NVIDIA: append_only.MASTER,
            RECIPE: append_only.BUNDLE,
            ground.CHANGELOG: ground.appended(KEY, "Without concurrency 20 and 44."),
        },
        upstream=(),
        checkpoints=(),
        overview="",
        swept=False,
        used=False,
    )
