"""Purpose: the Typer verbs of `sweepgate`: verdicts, bundles, help, the demo, the service and its operation.

Each verb parses its arguments, calls one function of a room below, prints the result and returns the exit code.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.exceptions import TyperException

if TYPE_CHECKING:
    from app.settings import Settings

app = typer.Typer(
    name="sweepgate",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Verifies pull requests that submit inference benchmarks.",
    epilog="Also: plan, changed, changelog, recipe, golden-al, models, codeowners, pareto, launch, collect, artifacts, "
    "why, install, sweep. Each has --help.",
)

EXIT_FINE, EXIT_FINDING, EXIT_USAGE = 0, 1, 2


def run(arguments: Sequence[str]) -> int:
    """Run one verb. Usage errors are exit 2, in one sentence and with the next step."""
    try:
        result = app(args=list(arguments), standalone_mode=False)
    except TyperException as error:  # without a message where Typer has printed the help already
        if error.format_message():
            sentence = error.format_message().rstrip(".")
            print(f"{sentence}. `sweepgate --help` and `sweepgate VERB --help` tell what fits.", file=sys.stderr)
        return EXIT_USAGE
    except typer.Exit as stop:
        return stop.exit_code
    except typer.Abort:
        print("Stopped. Run the same command again to go on.", file=sys.stderr)
        return 130
    return int(result or 0)


def _refuse(message: object) -> int:
    print(message, file=sys.stderr)
    return EXIT_USAGE


@app.command()
def verify(
    bundle: Annotated[Path | None, typer.Option(help="A recorded bundle: folder or .zip.")] = None,
    pr: Annotated[str, typer.Option(help="OWNER/REPO#N: gather the evidence from GitHub.")] = "",
    signoff: Annotated[str, typer.Option(help="URL of the sign-off; else the newest one.")] = "",
    record: Annotated[Path | None, typer.Option(help="Write the gathered bundle into this folder.")] = None,
    output: Annotated[str, typer.Option("--format", help="text, markdown or json.")] = "text",
    day: Annotated[str, typer.Option("--date", help="Review date YYYY-MM-DD instead of the recorded one.")] = "",
    policy: Annotated[Path | None, typer.Option(help="Policy file instead of the recorded one.")] = None,
    timings: Annotated[bool, typer.Option(help="Print times and calls on stderr.")] = False,
) -> int:
    """Run checks 0-17 on a bundle or a pull request and print the verdict."""
    from app.verdict.command import VerifyRequest, verify_command

    if (bundle is None) == (not pr):
        return _refuse("Give exactly one of --bundle DIR or --pr OWNER/REPO#N.")
    if bundle is not None and (signoff or record is not None):
        return _refuse("--signoff and --record gather evidence: give them with --pr, or leave them out.")
    if output not in ("text", "markdown", "json"):
        return _refuse(f"--format {output}: expected text, markdown or json.")
    try:
        review_date = date.fromisoformat(day) if day else None
    except ValueError:
        return _refuse(f"--date {day}: expected YYYY-MM-DD.")
    return verify_command(VerifyRequest(bundle, pr, signoff, record, output, review_date, policy, timings))


@app.command()
def preflight(
    base: Annotated[str, typer.Option(help="Target branch; else origin/main or main.")] = "",
    repo: Annotated[Path, typer.Option(help="A folder inside the checkout.")] = Path(),
    output: Annotated[str, typer.Option("--format", help="text or json.")] = "text",
    day: Annotated[str, typer.Option("--date", help="Review date YYYY-MM-DD instead of today.")] = "",
) -> int:
    """Judge a local checkout before it is pushed, and say what will be asked for later."""
    from app.verdict.preflight import preflight_command

    if output not in ("text", "json"):
        return _refuse(f"--format {output}: expected text or json.")
    try:
        review_date = date.fromisoformat(day) if day else None
    except ValueError:
        return _refuse(f"--date {day}: expected YYYY-MM-DD.")
    return preflight_command(repo, base, output, review_date)


@app.command()
def explain(number: Annotated[int, typer.Argument(help="Check number, 0-17.")]) -> int:
    """Print a check's rule, when it passes and fails, and how to fix it."""
    from app.verdict.explain import explain_text

    text = explain_text(number)
    if text is None:
        return _refuse(f"There is no check {number}. Give a number from 0 to 17.")
    sys.stdout.write(text)
    return EXIT_FINE


@app.command()
def commands(file: Annotated[str, typer.Argument(help="A file with a comment's text, or - for stdin.")]) -> int:
    """Print what a comment would do, as JSON."""
    from app.commands import as_json, parse

    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return _refuse(f"{file}: cannot be read ({error}). Give a UTF-8 text file or -.")
    found = parse(text)
    print(json.dumps([as_json(command) for command in found], ensure_ascii=False))
    return EXIT_FINDING if any(command.problem for command in found) else EXIT_FINE


bundle_app = typer.Typer(no_args_is_help=True, help="Look into recorded bundles.")
app.add_typer(bundle_app, name="bundle")


@bundle_app.command("show")
def bundle_show(path: Path) -> int:
    """Print what a bundle holds: SHAs, sources, digest."""
    from app.evidence.bundle import BundleError, read_bundle
    from app.evidence.inspect import show

    try:
        print(json.dumps(show(read_bundle(path)), indent=1, ensure_ascii=False))
    except BundleError as error:
        return _refuse(error)
    return EXIT_FINE


@bundle_app.command("diff")
def bundle_diff(before: Path, after: Path) -> int:
    """Print what differs between two bundles; exit 1 where anything does."""
    from app.evidence.bundle import BundleError, read_bundle
    from app.evidence.inspect import difference

    try:
        lines = difference(read_bundle(before), read_bundle(after))
    except BundleError as error:
        return _refuse(error)
    for line in lines:
        print(line)
    return EXIT_FINDING if lines else EXIT_FINE


@bundle_app.command("redact")
def bundle_redact(source: Path, target: Path) -> int:
    """Write a copy without people's names and comment texts, for sharing."""
    from app.evidence.bundle import BundleError, read_bundle, write_bundle
    from app.evidence.inspect import redact

    try:
        if target.exists() and any(target.iterdir()):
            return _refuse(f"{target}: the folder is not empty. Give a new one.")
        write_bundle(redact(read_bundle(source)), target)
    except BundleError as error:
        return _refuse(error)
    except OSError as error:
        return _refuse(f"{target}: cannot be written ({error.strerror or error}). Give another folder.")
    return EXIT_FINE


@app.command()
def demo(serve: Annotated[bool, typer.Option(help="Stay up and print the addresses.")] = False) -> int:
    """Play the reference pull request: webhook in, evidence over HTTP, verdict comment out."""
    from app.demo.play import play

    return play(stay=serve)


@app.command()
def sandbox(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.")] = 8090,
) -> int:
    """Run the GitHub stand-in with the reference story."""
    from app.demo.stage import serve_sandbox

    return serve_sandbox(host, port)


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on; else SWEEPGATE_HOST.")] = "",
    port: Annotated[int, typer.Option(help="Port; else SWEEPGATE_PORT.")] = -1,
) -> int:
    """Run the service. Settings come from SWEEPGATE_ variables (docs/operations.md)."""
    from app.wiring import serve as serve_service

    return serve_service(host, port)


@app.command()
def doctor(
    repositories: Annotated[list[str] | None, typer.Argument(help="OWNER/REPO; else SWEEPGATE_REPOSITORIES.")] = None,
    output: Annotated[str, typer.Option("--format", help="text or json.")] = "text",
) -> int:
    """Check settings, credentials, permissions, webhook, labels, workflows, policy and clock."""
    from app.doctor import doctor as examine
    from app.wiring import read_settings

    if output not in ("text", "json"):
        return _refuse(f"--format {output}: expected text or json.")
    settings = read_settings()
    return EXIT_USAGE if settings is None else examine(settings, repositories or [], output)


@app.command()
def queue(output: Annotated[str, typer.Option("--format", help="text or json.")] = "text") -> int:
    """Print which pull requests wait, why they failed last and when they are tried again."""
    from app.desk import queue as show

    if output not in ("text", "json"):
        return _refuse(f"--format {output}: expected text or json.")
    return _with_store(lambda settings: show(settings, output))


@app.command()
def audit(
    pull_request: Annotated[str, typer.Argument(help="OWNER/REPO#N")],
    output: Annotated[str, typer.Option("--format", help="text or json.")] = "text",
) -> int:
    """Print who asked, what was decided and on what evidence."""
    from app.desk import audit as show

    named = re.fullmatch(r"([\w.-]+/[\w.-]+)#([1-9][0-9]{0,9})", pull_request, re.ASCII)
    if named is None:
        return _refuse(f"{pull_request}: expected OWNER/REPO#N.")
    if output not in ("text", "json"):
        return _refuse(f"--format {output}: expected text or json.")
    return _with_store(lambda settings: show(settings, named[1], int(named[2]), output))


@app.command()
def receive(
    event: Annotated[str, typer.Option(help="Name of the event, as in X-GitHub-Event.")],
    payload: Annotated[str, typer.Option(help="A file with the delivery's body, or - for stdin.")],
    guid: Annotated[str, typer.Option(help="Delivery id; else a new one.")] = "",
) -> int:
    """Put a delivery into the inbox, as the webhook door does."""
    from app.desk import read_payload
    from app.desk import receive as take

    try:
        body = read_payload(payload)
    except OSError as error:
        return _refuse(f"{payload}: {error.strerror or error}. Give a file or -.")
    return _with_store(lambda settings: take(settings, event, body, guid))


@app.command("run-event")
def run_event() -> int:
    """Act on the event of a GitHub Actions job (actions mode)."""
    from app.run_event import run_event as act
    from app.wiring import configure_logs, read_settings

    settings = read_settings()
    if settings is None:
        return EXIT_USAGE
    configure_logs(settings)
    return act(os.environ, settings)


def _with_store(verb: Callable[[Settings], int]) -> int:
    from app.desk import NoStore
    from app.wiring import read_settings

    settings = read_settings()
    if settings is None:
        return EXIT_USAGE
    try:
        return verb(settings)
    except NoStore as error:
        return _refuse(error)
