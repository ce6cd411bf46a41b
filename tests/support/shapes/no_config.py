"""Purpose: a pull request that touches no config: a page of the documentation and the read-me, nothing to sweep."""

from __future__ import annotations

from functools import cache

from tests.support.shapes import ground, vllm_fixed
from tests.support.shapes.story import Story

PAGE, READ_ME = f"{ground.ROOT}docs/ADDING_A_MODEL.md", "README.md"
BODY = "Explains where a new model's prefix has to appear, and links the page from the read-me.\n"


@cache
def story() -> Story:
    files = ground.ground(vllm_fixed.MASTER, **{vllm_fixed.RECIPE: vllm_fixed.BUNDLE, READ_ME: "# InferenceX\n"})
    return Story(
        name="docs-adding-a-model",
        number=5109,
        title="Docs: how to add a model",
        body=BODY,
        files={**files, ground.OWNERS: f"{ground.CODEOWNERS}/{ground.ROOT}docs/ADDING_A_MODEL.md @reviewer\n"},
        head={
            PAGE: "# Adding a model\n\nMODELS.md, the masters, the thresholds and the golden curves name its prefix.\n",
            READ_ME: f"# InferenceX\n\n[Adding a model]({PAGE})\n",
        },
        swept=False,
        used=False,
    )
