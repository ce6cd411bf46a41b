"""A small target repository, a stand-in for Slurm's programs, and a way to launch a row as a runner does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
RECIPE = "inferencex-e2e/benchmarks/single_node/srt-slurm-recipes/tiny/fake/cpu/agentic.yaml"
ROW: dict[str, Any] = {
    "image": "tiny:1", "model": "org/tiny", "model-prefix": "tiny", "runner": "cluster:lab", "precision": "fp4",
    "framework": "fake", "tp": 1, "ep": 1, "pp": 1, "dcp-size": 1, "pcp-size": 1, "dp-attn": False, "conc": 1,
    "kv-offloading": "none", "spec-decoding": "none", "exp-name": "tiny_tp1_conc1_kvnone", "total-cpu-dram-gb": 0,
    "scenario-type": "agentic-coding", "duration": 3600,
    "srt-recipe": "benchmarks/single_node/srt-slurm-recipes/tiny/fake/cpu/agentic.yaml",
}  # fmt: skip
RECIPE_TEXT = """base:
  schema: 2
  name: tiny
  engine: fake
  roles: { agg: { nodes: 1, workers: 1, gpus: 1, args: {} } }
override_c1: { benchmark: { env: { CONC: '1' } } }
override_c2: { benchmark: { env: { CONC: '2' } } }
override_c2_too: { benchmark: { env: { CONC: '2' } } }
"""
CLIENT = """#!/bin/bash
case "$CLIENT_MODE" in
  silent) exit 0 ;;
  forever) touch "$RESULT_DIR/started"; exec sleep 300 ;;
esac
failed=0; [ "$CLIENT_MODE" = errors ] && failed=5
prefix=$MODEL_PREFIX; [ "$CLIENT_MODE" = stranger ] && prefix=other
if [ "$EVAL_ONLY" = true ]; then
  mkdir -p "$RESULT_DIR/eval"
  score=0.95; [ "$CLIENT_MODE" = errors ] && score=0.5
  echo '{"results": {"gsm8k": {"exact_match,strict-match": '$score'}}, "n-samples": {"gsm8k": {"effective": 9}}}' \\
    >"$RESULT_DIR/eval/results_2026-10-21T00-00-00.json"
  exit
fi
cat >"$RESULT_DIR/$RESULT_FILENAME.json" <<JSON
{"scenario_type": "agentic-coding", "infmax_model_prefix": "$prefix", "framework": "$FRAMEWORK", "hw": "$RUNNER_TYPE",
 "precision": "$PRECISION", "conc": $CONC, "num_requests_successful": 10,
 "request_accounting": {"records_error_dropped": $failed}}
JSON
"""
SBATCH = """#!/bin/bash
echo "sbatch $*" >>"$FAKE/calls"
case "$FAKE_MODE" in
  refuse) echo "sbatch: error: invalid partition specified: batch" >&2; exit 1 ;;
  nameless) echo "queued, thank you"; exit 0 ;;
  slow-submit) touch "$FAKE/submitting"; while [ ! -e "$FAKE/go" ]; do sleep 0.05; done ;;
esac
log=; for word in "$@"; do case $word in --output=*) log=${word#--output=} ;; esac; done
script=${!#}
id=$(( $(ls "$FAKE/jobs" | wc -l) + 1 )); log=${log//%j/$id}
echo "$log" >"$FAKE/logs-$id"
if [ "$FAKE_MODE" = pending ]; then echo PENDING >"$FAKE/jobs/$id"
elif [ "$FAKE_MODE" = silent ]; then echo RUNNING >"$FAKE/jobs/$id"
elif [ "$FAKE_MODE" = vanish ]; then echo GONE >"$FAKE/jobs/$id"
else
  echo RUNNING >"$FAKE/jobs/$id"
  (
    bash "$script" >"$log" 2>&1 && end=COMPLETED || end=FAILED
    echo $end >"$FAKE/jobs/$id"
  ) </dev/null >/dev/null 2>&1 &
  echo $! >"$FAKE/pid-$id"
fi
echo "$id"
"""
SRTCTL = """#!/bin/bash
# Stands in for `srtctl apply -f RECIPE`: a batch job named after the recipe that runs the recipe's client.
echo "srtctl $*" >>"$FAKE/calls"
[ -z "$VIRTUAL_ENV" ] || { echo "the launcher's own environment reached the job" >&2; exit 9; }
recipe=${!#}
cp "$recipe" "$FAKE/recipe.yaml"
printf '#!/bin/bash\\nbash "%s/srt_agentic.sh"\\n' "$FAKE_CHECKOUT" >"$FAKE/srtctl.sh"
echo "Submitted batch job $(sbatch --output="$FAKE/srtctl-%j.log" "$FAKE/srtctl.sh")"
"""
SCONTROL = """#!/bin/bash
state=$(cat "$FAKE/jobs/$3" 2>/dev/null)
if [ -z "$state" ] || [ "$state" = GONE ]; then echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1; fi
echo "JobId=$3 JobState=$state Reason=None ExitCode=0:0 StdOut=$(cat "$FAKE/logs-$3")"
"""
SQUEUE = """#!/bin/bash
for job in "$FAKE"/jobs/*; do
  [ -e "$job" ] || continue
  case $(cat "$job") in RUNNING | PENDING) echo "$(basename "$job") $(cat "$job")" ;; esac
done
"""
SCANCEL = """#!/bin/bash
echo "scancel $*" >>"$FAKE/calls"
for id in "$@"; do
  case $id in -*) continue ;; esac
  echo CANCELLED >"$FAKE/jobs/$id"
  [ -e "$FAKE/pid-$id" ] && pkill -TERM -P "$(cat "$FAKE/pid-$id")" 2>/dev/null
done
exit 0
"""
POLICY = """
default:
  submit: {submit}
  least_free_gib: 0
  job_names: ["test-{{runner}}"]
  limits: {{ queue_minutes: {wait}, single_node_minutes: {run}, log_minutes: {wait}, ready_minutes: 1,
            unknown_seconds: {unknown}, cancel_seconds: 10, poll_seconds: 0.05 }}
  gates: {{ result_wait_seconds: 0 }}
engines:
  fake: {{ command: [python3, "{server}", "{{port}}"], ready: / }}
"""
SERVER = """import http.server, sys
http.server.test(http.server.SimpleHTTPRequestHandler, port=int(sys.argv[1]), bind="127.0.0.1")
"""


@dataclass
class Lab:
    """One runner with its checkout, fake Slurm and launch policy."""

    folder: Path
    sha: str = ""
    env: dict[str, str] = field(default_factory=dict)

    @property
    def checkout(self) -> Path:
        return self.folder / "checkout"

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def write(self, path: str, text: str) -> None:
        target = self.checkout / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def commit(self) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false"]
        git = ["git", *identity, "-C", str(self.checkout)]
        subprocess.run([*git, "init", "-q"], check=True)
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-q", "-m", "x"], check=True)
        self.sha = subprocess.run(
            [*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True
        ).stdout.strip()

    def policy(self, submit: str = "sbatch", run: float = 1, wait: float = 1, unknown: float = 20) -> None:
        """Limits (minutes, `unknown` in seconds) that a busy machine keeps; faults of waiting set short ones."""
        text = POLICY.format(submit=submit, run=run, wait=wait, unknown=unknown, server=self.folder / "server.py")
        (self.folder / "launch.yaml").write_text(text)

    def command(self, row: object, *extra: str) -> list[str]:
        text = row if isinstance(row, str) else json.dumps(row)
        (self.folder / "row.json").write_text(text)
        return [
            sys.executable, "-m", "app.cli_launch", "launch", "--row", str(self.folder / "row.json"),
            "--checkout", str(self.checkout), "--sha", self.sha, "--out", str(self.out),
            "--work", str(self.folder / "work"), *extra,
        ]  # fmt: skip

    def start(self, row: object = ROW, *extra: str, **env: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(row, *extra),
            env={**self.env, **env},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def launch(self, row: object = ROW, *extra: str, **env: str) -> tuple[int, dict[str, Any], str]:
        """Exit code, job_event.json, standard error."""
        process = self.start(row, *extra, **env)
        _, complaint = process.communicate(timeout=120)
        return process.returncode, self.event(), complaint

    def event(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.out / "job_event.json").read_text())
        return found

    def live(self) -> list[str]:
        """What squeue shows: live jobs."""
        done = subprocess.run(["squeue"], env=self.env, capture_output=True, text=True, check=True)
        return done.stdout.split()

    def calls(self) -> str:
        path = self.folder / "fake" / "calls"
        return path.read_text() if path.exists() else ""


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    made = Lab(tmp_path)
    made.write("inferencex-e2e/configs/runners.yaml", (
        "labels: { 'cluster:lab': [lab_0] }\n"
        "clusters: { lab: { gpus-per-node: 1, models: { tiny: /models/tiny }, slurm: { partition: batch } } }\n"
    ))  # fmt: skip
    made.write(RECIPE, RECIPE_TEXT)
    made.write(
        "inferencex-e2e/configs/srt-recipes/agentic-single.yaml",
        "benchmark: { type: custom, command: bash /infmax-workspace/srt_agentic.sh }\n",
    )
    made.write("srt_agentic.sh", CLIENT)
    made.commit()
    programs, fake = tmp_path / "bin", tmp_path / "fake"
    programs.mkdir()
    (fake / "jobs").mkdir(parents=True)
    texts = {"sbatch": SBATCH, "scontrol": SCONTROL, "squeue": SQUEUE, "scancel": SCANCEL, "sacct": "#!/bin/bash\n"}
    texts["srtctl"] = SRTCTL
    for name, text in texts.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    (tmp_path / "server.py").write_text(SERVER)
    made.env = {
        **os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "FAKE": str(fake), "FAKE_MODE": "run",
        "FAKE_CHECKOUT": str(made.checkout),
        "SWEEPGATE_LAUNCH_POLICY": str(tmp_path / "launch.yaml"), "RUNNER_NAME": "lab_0", "GITHUB_RUN_ID": "7",
        "SWEEPGATE_STATE": str(tmp_path / "state"), "CLIENT_MODE": "fine",
    }  # fmt: skip
    made.env.pop("GITHUB_OUTPUT", None)
    made.policy()
    return made
