"""Purpose: the batch script of a single-node launch: server, readiness, client, in that order, and nothing left over.

Pure: builds text. Every value is quoted by shlex; nothing of a row or recipe reaches the shell as code, except the
recipe's own `benchmark.command`, which is the measured submission.

Invariants: the script ends its server on every exit and gives the client's exit code; each phase says one line with a
fixed prefix (`sweepgate:`), which triage and readers look for. A server that never answers is exit 70. The port is
chosen on the node that runs the server, because only there it is known to be free.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

NOT_READY = 70
PORT_MARK = "SWEEPGATE_PORT_MARK"

_BODY = """\
#!/bin/bash
# Written by sweepgate launch; runs one row. Do not edit: it is made anew for each job.
set -uo pipefail
cd {folder}
{exports}
if [ -z "${{PORT:-}}" ]; then
  PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
fi
export PORT
echo "sweepgate: job on $(hostname) starts"
server=0
end_server() {{ [ "$server" -gt 0 ] && kill "$server" 2>/dev/null && wait "$server" 2>/dev/null; }}
trap end_server EXIT
trap 'exit 143' TERM
trap 'exit 130' INT
{server_command} >{server_log} 2>&1 &
server=$!
echo "sweepgate: server started as process $server on port $PORT"
deadline=$((SECONDS + {ready_seconds}))
until {probe}; do
  if ! kill -0 "$server" 2>/dev/null; then
    wait "$server"; code=$?
    echo "sweepgate: the server ended with exit code $code before it was ready"
    tail -n 40 {server_log}
    exit {not_ready}
  fi
  if [ "$SECONDS" -ge "$deadline" ]; then
    echo "sweepgate: the server did not become ready within {ready_seconds} s"
    tail -n 40 {server_log}
    exit {not_ready}
  fi
  sleep 1
done
echo "sweepgate: server ready after $SECONDS s"
{benchmark}
code=$?
echo "sweepgate: client ended with exit code $code"
exit "$code"
"""

_PROBE = (
    "python3 -c 'import sys, urllib.request as u; u.build_opener(u.ProxyHandler({})).open(sys.argv[1], timeout=2)' "
    '"http://127.0.0.1:$PORT$READY_PATH" 2>/dev/null'
)


@dataclass(frozen=True)
class Body:
    """What the script runs. `environment` is exported; PORT_MARK in `server` stands for the free port of the node."""

    folder: str
    environment: Mapping[str, str]
    server: Sequence[str]
    server_log: str
    ready_path: str
    ready_seconds: int
    benchmark: str


def flags_of(args: Mapping[str, Any]) -> list[str]:
    """Command-line flags of a recipe's argument mapping: true is a bare flag, false and null are left out.

    Lists repeat their values after one flag; mappings become JSON.
    """
    flags: list[str] = []
    for name, value in args.items():
        if value is None or value is False:
            continue
        flags.append(f"--{name}")
        if value is True:
            continue
        if isinstance(value, (list, tuple)):
            flags.extend(str(item) for item in value)
        elif isinstance(value, Mapping):
            flags.append(json.dumps(value, separators=(",", ":")))
        else:
            flags.append(str(value))
    return flags


def render(body: Body) -> str:
    """The script. Port and readiness path are exported as PORT and READY_PATH; a PORT of the recipe's own is kept."""
    exported = {**body.environment, "READY_PATH": body.ready_path}
    return _BODY.format(
        folder=shlex.quote(body.folder),
        exports="\n".join(f"export {name}={shlex.quote(value)}" for name, value in sorted(exported.items())),
        server_command=shlex.join(body.server).replace(PORT_MARK, "$PORT"),
        server_log=shlex.quote(body.server_log),
        ready_seconds=body.ready_seconds,
        probe=_PROBE,
        not_ready=NOT_READY,
        benchmark=body.benchmark,
    )
