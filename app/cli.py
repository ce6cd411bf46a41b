"""Purpose: the `sweepgate` command: thin; each verb calls one function of a room below.

Verbs that people run again and again on a checkout (`plan`, `changed`, `recipe`, ...) are dispatched to small argparse
entries before Typer and the service are imported, because their whole run must cost less than those imports.

Invariants: results on stdout, everything else on stderr; exit 0 fine, 1 a finding or a rejected input, 2 usage or
unreadable input; never a traceback: an error that is ours is said in one line with its id, the rest goes to the log
when SWEEPGATE_DEBUG is set.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
import traceback
from collections.abc import Callable, Sequence

FAST_VERBS = {
    "plan": "app.cli_plan",
    "changed": "app.cli_plan",
    "changelog": "app.cli_plan",
    "recipe": "app.cli_target",
    "golden-al": "app.cli_target",
    "models": "app.cli_target",
    "codeowners": "app.cli_target",
    "pareto": "app.cli_pareto",
    "launch": "app.cli_launch",
    "collect": "app.cli_launch",
    "artifacts": "app.cli_launch",
    "why": "app.cli_launch",
    "install": "app.cli_launch",
    "sweep": "app.cli_sweep",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point. Returns the exit code; the console script passes it to sys.exit."""
    _speak_utf8()
    arguments = list(sys.argv[1:] if argv is None else argv)
    verb = arguments[0] if arguments else ""
    try:
        if verb in FAST_VERBS:
            fast: Callable[[Sequence[str]], int] = importlib.import_module(FAST_VERBS[verb]).main
            return fast(arguments)
        from app.cli_verbs import run

        return run(arguments)
    except KeyboardInterrupt:
        print("Stopped. Run the same command again to go on.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except Exception as error:  # the last line of defence: a user never sees a traceback
        return _internal_error(error)


def _speak_utf8() -> None:
    """The same bytes under every locale; a file name that is no UTF-8 is shown with its bytes escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _internal_error(error: Exception) -> int:
    if os.environ.get("SWEEPGATE_DEBUG"):
        traceback.print_exc()
    place = traceback.extract_tb(error.__traceback__)[-1]
    code = f"{type(error).__name__} at {place.name}:{place.lineno}"
    print(
        f"Internal error ({code}): {error}. Set SWEEPGATE_DEBUG=1, run it again and report the trace.", file=sys.stderr
    )
    return 2


if __name__ == "__main__":
    sys.exit(main())
