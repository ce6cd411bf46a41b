"""Purpose: the fixed names of the reference story: repositories, commits, ids, people, moments.

The pull request, its run, its commits and its times are public; what nobody published is chosen once, here.
"""

from __future__ import annotations

REPOSITORY = "SemiAnalysisAI/InferenceX"
NUMBER = 4343
TITLE = "Retune the low-concurrency points of Muse Spark Open NVFP4 on GB200 SGLang (AgentX)"
BRANCH = "musespark-gb200-low-concurrency"
WORKFLOW = ".github/workflows/run-sweep.yml"

BASE_SHA = "0b6d9c41f7e25a83d1c09f6e8ab47d52c3e1907f"
HEAD_SHA = "bdfb83f2e0d95441eebd2b1dfb5928b76d8d0f27"
TOOLING_SHA = "7d20b8e19c54f3a06b1de8427f95c0a3d6e81b4f"
SRT_SLURM_SHA = "3f9a61c7d80b2e45a9c1f4d7806e2b35c9d7a14e"

RUN_ID = 39404635036
FIRST_JOB_ID = 113_207_551_001
FIRST_OTHER_JOB_ID = 113_207_550_001
FIRST_ARTIFACT_ID = 7_904_128_001
LABEL_EVENT_ID = 24_880_417_305
PUSH_ACTIVITY_ID = 31_447_902_118
SIGN_OFF_ID = 4_482_216_350
USE_ID = 4_482_190_417
AGREE_ID = 4_482_711_902
REUSE_ID = 4_482_713_288

AUTHOR = "shyeh25"
SIGNER = "nvpohanh"
MAINTAINER = "maintainer"
OUTSIDER = "outsider"
UPSTREAM_MAINTAINER = "upstream-maintainer"
USER_IDS = {AUTHOR: 200_417_733, SIGNER: 66_801_204, MAINTAINER: 190_225_017, OUTSIDER: 190_225_099}
CORE_TEAM = "SemiAnalysisAI/core"

LABEL = "non-canary-full-sweep-enabled"
KEY = "musespark-fp4-gb200-sglang-agentic-dflash"
MODEL = "meta-models/Muse-Spark-Open-816B-A42B-NVFP4"
DRAFT = "RadixArk/Muse-Spark-Open-DFlash2"
DRAFT_SHA = "46c90f41d2b7a85e6f1309cc7d84e02b91a6f5d3"
IMAGE_NAME = "lmsysorg/sglang:dev-muse-spark-open"
DIGEST = "sha256:8cfc5a72cb296771f5f8a4a4688cb6d05685610a830cbb616fa4ab0eb7bb2b0a"
IMAGE = f"{IMAGE_NAME}@{DIGEST}"

UPSTREAM = "sgl-project/sglang"
UPSTREAM_NUMBER = 45513
UPSTREAM_BASE_SHA = "5e7c10d92ab84f63810d5f29e7c4b3a06d9182f5"
UPSTREAM_HEAD_SHA = "a94d0e63b7f1c8250e3d96ba41c7f85d20693be1"
UPSTREAM_MERGE_SHA = "1689cb2d7f04e9a35b82c61d0f9e47a8c35d1b60"
SNIPPET = "docs/src/snippets/agentx/meta-models/muse-spark-open.jsx"
COOKBOOK_FILE = "docs/cookbook/autoregressive/Meta/MuseSparkOpen.mdx"
COOKBOOK_URL = "https://docs.sglang.io/cookbook/autoregressive/Meta/MuseSparkOpen"
OVERVIEW_URL = "https://docs.nvidia.com/llm-inference-quick-start-recipes/overview"

STARTED = "2026-10-15T09:12:00Z"
PUSHED = "2026-10-20T16:31:08Z"
OPENED = "2026-10-20T16:33:41Z"
LABELED = "2026-10-20T16:52:19Z"
RUN_STARTED = "2026-10-20T16:52:31Z"
RUN_FINISHED = "2026-10-21T02:47:53Z"
UPSTREAM_OPENED = "2026-10-21T03:30:10Z"
UPSTREAM_MERGED = "2026-10-21T05:22:39Z"
USED = "2026-10-21T06:02:14Z"
SIGNED = "2026-10-21T06:41:37Z"
AGREED = "2026-10-21T08:15:02Z"
REUSED = "2026-10-21T08:16:20Z"
