"""Purpose: the one kind of refusal of the launcher: a type that triage knows, a sentence, and the next step.

Types are listed here and nowhere else; configs/triage.yaml has a rule for each (a test holds that).
"""

from __future__ import annotations

RETRIABLE = {
    # prepare
    "bad-row": False,
    "bad-policy": False,
    "bad-folder": False,
    "unknown-cluster": False,
    "unknown-model": False,
    "bad-recipe": False,
    "no-variant": False,
    "ambiguous-variant": False,
    "no-curve": False,
    "unsupported": False,
    "wrong-checkout": True,
    "dirty-checkout": True,
    "runner-busy": True,
    "disk-full": True,
    # submit
    "no-scheduler": True,
    "slurm-refused": True,
    "no-job-id": True,
    "submit-timeout": True,
    # queue_wait and run
    "queue-timeout": True,
    "job-vanished": True,
    "log-missing": True,
    "node-failed": True,
    "preempted": True,
    "out-of-memory": False,
    "time-limit": True,
    "run-timeout": True,
    "job-failed": True,
    # collect
    "result-missing": True,
    "result-invalid": True,
    "result-mismatch": False,
    "error-rate": True,
    "eval-missing": True,
    "eval-scores": False,
    "upload-failed": True,
    # any stage
    "signal": True,
    "internal": False,
}


class LaunchError(Exception):
    """Why a launch ends. `kind` is a key of RETRIABLE; `message` and `next_step` are one short sentence each."""

    def __init__(self, kind: str, message: str, next_step: str) -> None:
        super().__init__(f"{message} {next_step}")
        self.kind = kind
        self.message = message
        self.next_step = next_step

    @property
    def retriable(self) -> bool:
        return RETRIABLE[self.kind]
