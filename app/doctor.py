"""Purpose: `sweepgate doctor`: settings, credentials, permissions, webhook, labels, workflows, policy, clock.

Each finding is one line with its next step. Reads only. A thing that could not be looked at is said, and is no "fine".
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

from app.github.app_page import AppPage, read_app
from app.github.apps import Installations, with_token
from app.github.client import GitHub
from app.github.errors import HostError
from app.github.hosts import Hosts, hosts_at
from app.inbox.events import EVENTS
from app.launch.install import FOLDER, InstallProblem, render
from app.policy import Policy, PolicyError
from app.settings import Settings
from app.verdict.policies import POLICY_PATH, policy_of_default_branch

# docs/operations.md, "The GitHub App", says what each is for.
PERMISSIONS = {
    "actions": "write",
    "checks": "write",
    "contents": "read",
    "issues": "write",
    "members": "read",
    "metadata": "read",
    "pull_requests": "write",
}
LEVELS = ("none", "read", "write", "admin")
# A JWT is dated back by a minute; a clock further ahead makes GitHub refuse it.
CLOCK_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Finding:
    """`ok` is None where it could not be looked at."""

    subject: str
    ok: bool | None
    said: str


def doctor(settings: Settings, repositories: Sequence[str], output: str, hosts: Hosts | None = None) -> int:
    """Print the findings. 1 where anything is wrong or could not be looked at."""
    found = list(findings(settings, repositories, hosts or hosts_at(settings.github_url)))
    if output == "json":
        print(json.dumps([asdict(one) for one in found], ensure_ascii=False))
    else:
        words = {True: "fine   ", False: "WRONG  ", None: "UNKNOWN"}
        for one in found:
            print(f"{words[one.ok]}  {one.subject}: {one.said}")
    bad = sum(one.ok is not True for one in found)
    print("Everything is fine." if not bad else f"{bad} to look at; each line says what to do.", file=sys.stderr)
    return 1 if bad else 0


def findings(
    settings: Settings, repositories: Sequence[str], hosts: Hosts, now: Callable[[], float] = time.time
) -> Iterator[Finding]:
    for name in settings.missing():
        yield Finding("settings", False, f"{name} is missing. Set it (docs/operations.md).")
    if not settings.missing():
        yield Finding("settings", True, "secrets, marker key and credentials are set")
    as_app = bool(settings.app_id and settings.app_private_key.get_secret_value())
    if not as_app and not settings.github_token.get_secret_value():
        return
    try:
        if as_app:
            page = read_app(hosts, settings.app_id, settings.app_private_key, now)
            yield from of_app(page, settings)
            installations = Installations(hosts, str(settings.app_id), settings.app_private_key)
            clients: Callable[[str], GitHub] = installations.of
        else:
            client = with_token(hosts, settings.github_token)
            yield from _of_token(client, settings)
            clients = _always(client)
    except (HostError, ValueError) as error:
        yield Finding(
            "credentials", False, f"{error}. Check the App's id and key, or the token, and SWEEPGATE_GITHUB_URL."
        )
        return
    named = list(dict.fromkeys([*repositories, *settings.repositories]))
    if not named:
        yield Finding("repositories", None, "none is named. Give OWNER/REPO, or set SWEEPGATE_REPOSITORIES.")
    for repository in named:
        yield from _of_repository(repository, clients)


def _always(client: GitHub) -> Callable[[str], GitHub]:
    return lambda _repository: client


def _of_token(client: GitHub, settings: Settings) -> Iterator[Finding]:
    login = str(client.transport.get("/user").json()["login"])
    wanted = settings.bot_login
    if wanted and wanted != login:
        yield Finding("credentials", False, f"the token is {login}'s, not {wanted}'s. Check SWEEPGATE_BOT_LOGIN.")
    else:
        yield Finding("credentials", True, f"the token speaks for {login}; its permissions cannot be listed")


def of_app(page: AppPage, settings: Settings) -> Iterator[Finding]:
    """Findings of the App's own page."""
    bot = f"{page.slug}[bot]"
    if settings.bot_login and settings.bot_login != bot:
        yield Finding("credentials", False, f"the App is {bot}, not {settings.bot_login}. Check SWEEPGATE_BOT_LOGIN.")
    else:
        yield Finding("credentials", True, f"GitHub knows the App as {bot}")
    low = [
        f"{name}: {level}"
        for name, level in PERMISSIONS.items()
        if LEVELS.index(level) > LEVELS.index(page.permissions.get(name, "none"))
    ]
    if low:
        yield Finding(
            "permissions", False, f"the App lacks {', '.join(low)}. Grant it on the App's page, then accept it."
        )
    else:
        yield Finding("permissions", True, "all that is needed")
    lacking = sorted(EVENTS - {"repository_dispatch"} - set(page.events))
    if lacking:
        yield Finding("events", False, f"not subscribed: {', '.join(lacking)}. Tick them on the App's page.")
    else:
        yield Finding("events", True, "all that are needed")
    yield from _of_hook(page)
    yield _clock(page.ahead)


def _of_hook(page: AppPage) -> Iterator[Finding]:
    hook = page.hook
    if hook is None:
        yield Finding("webhook", None, "its settings cannot be read. Look at the App's page.")
    elif not hook.get("url", "").endswith("/webhooks/github"):
        yield Finding(
            "webhook", False, f"its address is {hook.get('url') or 'empty'}. It must end with /webhooks/github."
        )
    elif hook.get("content_type") != "json":
        yield Finding("webhook", False, "its content type is not application/json. Change it on the App's page.")
    elif not hook.get("secret"):
        yield Finding("webhook", False, "it has no secret. Set one of SWEEPGATE_WEBHOOK_SECRETS on the App's page.")
    elif hook.get("insecure_ssl", "0") != "0":
        yield Finding("webhook", False, "it does not check certificates. Turn SSL verification on.")
    else:
        yield Finding("webhook", True, hook["url"])
    if not page.deliveries:
        yield Finding(
            "deliveries", None, "none was sent yet, or none can be listed. Comment on a pull request, ask again."
        )
    elif page.deliveries[0] == 401:
        yield Finding("deliveries", False, "the newest got 401: the App's secret is not in SWEEPGATE_WEBHOOK_SECRETS.")
    elif page.deliveries[0] >= 400:
        yield Finding(
            "deliveries", False, f"the newest got {page.deliveries[0]}. Look at /readyz and the service's log."
        )
    else:
        yield Finding("deliveries", True, f"the newest of {len(page.deliveries)} got {page.deliveries[0]}")


def _clock(ahead: float | None) -> Finding:
    if ahead is None:
        return Finding("clock", None, "GitHub told no time. Check that this machine's clock is synchronised.")
    if abs(ahead) > CLOCK_SECONDS:
        side = "ahead of" if ahead > 0 else "behind"
        return Finding("clock", False, f"{abs(ahead):.0f} s {side} GitHub's. Synchronise it (NTP).")
    return Finding("clock", True, "within 30 s of GitHub's")


def _of_repository(repository: str, clients: Callable[[str], GitHub]) -> Iterator[Finding]:
    try:
        client = clients(repository)
        wanted = {
            mode: {f"{FOLDER}/{name}": text for name, text in render(mode).items()} for mode in ("service", "actions")
        }
        paths = tuple({path: None for files in wanted.values() for path in files})
        found = client.files(repository, {"HEAD": ((POLICY_PATH, *paths), ())})[0]["HEAD"]
        labels = client.labels(repository)
    except (HostError, InstallProblem) as error:
        yield Finding(repository, False, f"{error}. Install the App on it, or check the name.")
        return
    try:
        policy = policy_of_default_branch(found[POLICY_PATH], repository=repository)
    except PolicyError as error:
        yield Finding(f"{repository} policy", False, str(error))
        return
    shown = POLICY_PATH if found[POLICY_PATH] is not None else f"there is no {POLICY_PATH}: the minimal policy"
    yield Finding(f"{repository} policy", True, f"{shown}, mode {policy.sweep.mode}")
    yield _labels(repository, policy, labels)
    yield _workflows(repository, policy, wanted[policy.sweep.mode], found)


def _labels(repository: str, policy: Policy, labels: frozenset[str]) -> Finding:
    lacking = [label for label in (*policy.sweep.primaries, *policy.sweep.modifiers) if label not in labels]
    if lacking:
        return Finding(
            f"{repository} labels", False, f"not there: {', '.join(lacking)}. Create them in the repository."
        )
    return Finding(f"{repository} labels", True, "all of the policy are there")


def _workflows(repository: str, policy: Policy, wanted: dict[str, str], found: dict[str, bytes | None]) -> Finding:
    subject, mode = f"{repository} workflows", policy.sweep.mode
    again = f"Run `sweepgate install --repo DIR --mode {mode}` in a checkout and merge the change."
    lacking = [path for path in wanted if found[path] is None]
    if policy.sweep.workflow not in wanted:
        lacking.append(f"{policy.sweep.workflow} (named by the policy)")
    if lacking:
        return Finding(subject, False, f"not on the default branch: {', '.join(lacking)}. {again}")
    drifted = [path for path, text in wanted.items() if found[path] != text.encode()]
    if drifted:
        return Finding(subject, False, f"not as installed: {', '.join(drifted)}. {again}")
    return Finding(subject, True, f"those of {mode} mode")
