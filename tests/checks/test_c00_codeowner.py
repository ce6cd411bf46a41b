"""Purpose: check 0, rule by rule: who owns the changed files, and who signed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from app.facts.base import Context, Facts, Missing
from app.facts.github import ChangedFiles, Permissions, Teams
from app.facts.records import Account, CommentRecord, FileRecord, PermissionRecord, TeamRecord
from app.facts.repository import Ownership
from app.facts.sign_off import SignedComment, SignOff, SignOffs
from app.planner.points import Rules
from app.planner.scope import Scope
from app.policy import OwnerPolicy, Policy
from app.target.checklist import parse_signoff
from app.target.codeowners import Codeowners
from app.target.tree import Layout
from app.verdict.engine import _row
from checks import all_checks
from checks.contract import CheckResult
from tests.support.bundles import flipped, good

HEAD, OLD = "a" * 40, "c" * 40
NVIDIA, AMD, LOG = "e/configs/nvidia-master.yaml", "e/configs/amd-master.yaml", "e/perf-changelog.yaml"
OWNERS = """
* @org/core
/e/configs/nvidia-master.yaml @maintainer @org/core
/e/configs/amd-master.yaml @reviewer
/e/recipes/**/gb200-*/ @maintainer
/e/team/ @org/vendor
/e/docs/ @admin-person
"""
WRITE = PermissionRecord(permission="write", role_name="write")
READ = PermissionRecord(permission="read", role_name="read")
ADMIN = PermissionRecord(permission="admin", role_name="admin")


def signed(login: str, number: int = 1, head: str | None = HEAD, kind: str = "User") -> SignedComment:
    comment = CommentRecord(
        kind="issue_comment",
        id=number,
        author=Account(login=login, id=number, type=kind),
        body="As a PR reviewer and CODEOWNER, I have reviewed this and have:",
        created_at="2026-10-21T06:00:00Z",
        updated_at="2026-10-21T06:00:00Z",
    )
    return SignedComment(comment, parse_signoff(comment.body), comment.created_at, head)


@dataclass
class Signing:
    """Files, owners, and who signed."""

    files: tuple[Any, ...] = (NVIDIA, LOG)
    signer: SignedComment = field(default_factory=lambda: signed("maintainer"))
    others: tuple[SignedComment, ...] = ()
    owners: str = OWNERS
    permissions: dict[str, PermissionRecord] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    teams: dict[str, TeamRecord] | None = None
    joint: bool = True

    @property
    def row(self) -> CheckResult:
        check = next(check for check in all_checks() if check.number == 0)
        records = [
            file if isinstance(file, FileRecord) else FileRecord(path=file, status="modified") for file in self.files
        ]
        known = {"maintainer": WRITE, "reviewer": WRITE, "outsider": WRITE, "admin-person": ADMIN}
        known = {login: record for login, record in {**known, **self.permissions}.items() if login not in self.problems}
        policy = Policy(name="test", owners=OwnerPolicy(core_teams=("org/core",), joint_sign_offs=self.joint))
        facts = Facts.of(
            SignOff(self.signer),
            SignOffs((self.signer, *self.others)),
            Ownership(Codeowners.parse(".github/CODEOWNERS", self.owners.encode())),
            ChangedFiles(tuple(records)),
            Permissions(known, self.problems),
            Teams(self.teams) if self.teams is not None else (Teams, Missing(Teams.title, "HTTP 403")),
            context=Context(policy, head_sha=HEAD),
        )
        paths = ChangedFiles(tuple(records)).paths
        errors: list[str] = []
        result = _row(check, facts, Scope(Layout.OCTOBER, Rules.OCTOBER, (), (), paths), errors)
        assert not errors, errors[0]
        return result


def renamed(before: str, after: str) -> FileRecord:
    return FileRecord(path=after, previous_path=before, status="renamed")


VENDOR = "e/team/launch.sh"


@pytest.mark.parametrize(
    ("case", "status", "text"),
    [
        pytest.param(Signing(), "PASS", "@maintainer is a named owner of …/configs/nvidia-master.yaml", id="0.named"),
        pytest.param(
            Signing(files=(NVIDIA, AMD)),
            "FAIL",
            "@maintainer does not own …/configs/amd-master.yaml; needed: @reviewer",
            id="0.other-vendor: the owner of one vendor's file signs another's",
        ),
        pytest.param(
            Signing(files=("e/configs/elsewhere.yaml",), owners="* @maintainer\n/other @reviewer\n"),
            "PASS",
            "falls to the catch-all",
            id="0.catch-all: the catch-all's own owner",
        ),
        pytest.param(
            Signing(files=("x.txt",), owners="* @admin-person @stranger\n/other @maintainer\n"),
            "PASS",
            "falls to the catch-all",
            id="0.catch-all: any listed owner covers it",
        ),
        pytest.param(
            Signing(files=("x.txt",), owners="* @stranger\n/other @reviewer\n"),
            "FAIL",
            "needed: @stranger",
            id="0.catch-all: somebody listed nowhere does not",
        ),
        pytest.param(
            Signing(files=(VENDOR,), teams={"org/vendor": TeamRecord(visible=True, members=("Maintainer",))}),
            "PASS",
            "named owner of …/team/launch.sh",
            id="0.team: a visible member, in another case",
        ),
        pytest.param(
            Signing(files=(VENDOR,), teams={"org/vendor": TeamRecord(visible=True, members=("reviewer",))}),
            "FAIL",
            "needed: @org/vendor",
            id="0.team: a visible team without the signer",
        ),
        pytest.param(
            Signing(files=(NVIDIA, AMD), others=(signed("reviewer", 2),)),
            "PASS",
            "@reviewer is a named owner",
            id="0.joint: two sign-offs on one head",
        ),
        pytest.param(
            Signing(files=(NVIDIA, AMD), others=(signed("reviewer", 2),), joint=False),
            "FAIL",
            "amd-master",
            id="0.joint: the policy switches it off",
        ),
        pytest.param(
            Signing(files=(NVIDIA, AMD), others=(signed("reviewer", 2, OLD),)),
            "FAIL",
            "amd-master",
            id="0.joint: a sign-off of another head does not count",
        ),
        pytest.param(Signing(files=(LOG,)), "N/A", "owned by core or admins only", id="0.exempt: core owns every file"),
        pytest.param(
            Signing(files=("e/docs/a.md",)), "N/A", "owned by core or admins", id="0.exempt: an admin owns every file"
        ),
        pytest.param(
            Signing(files=("e/free/a.md",), owners=OWNERS + "/e/free/\n"), "N/A", "by nobody", id="0.exempt: no owner"
        ),
        pytest.param(
            Signing(files=(renamed(AMD, "e/plain.yaml"),)), "FAIL", "amd-master", id="0.rename: the old path counts"
        ),
        pytest.param(
            Signing(files=("e/recipes/a/gb200-fp4/x.yaml",), owners=OWNERS + "/e/recipes/a/ @reviewer\n"),
            "FAIL",
            "needed: @reviewer",
            id="0.last-match: a later line decides",
        ),
        pytest.param(
            Signing(files=("e/recipes/a/not-gb200-fp4/x.yaml",)),
            "N/A",
            "owned by core",
            id="0.last-match: a pattern matches whole segments",
        ),
        pytest.param(
            Signing(files=(NVIDIA, ".github/CODEOWNERS")),
            "PASS",
            "named owner",
            id="0.target: the pull request's own CODEOWNERS does not decide",
        ),
        pytest.param(Signing(signer=signed("helper[bot]", kind="Bot")), "FAIL", "a bot", id="0.bot"),
        pytest.param(
            Signing(permissions={"maintainer": READ}), "FAIL", "has read permission, not write", id="0.writer"
        ),
        pytest.param(
            Signing(problems={"maintainer": "HTTP 502"}),
            "FAIL",
            "could not be verified: the permission of @maintainer (HTTP 502)",
            id="0.writer: a look-up that failed is not a no",
        ),
        pytest.param(
            Signing(files=(VENDOR,)),
            "FAIL",
            "could not be verified: membership of @maintainer in @org/vendor",
            id="0.hidden-team: a vendor team that cannot be seen blocks",
        ),
        pytest.param(
            Signing(
                files=("e/recipes/a/gb200-fp4/x.yaml", "e/pair.yaml"),
                owners=OWNERS + "/e/pair.yaml @org/core @reviewer\n",
            ),
            "PASS",
            "core membership for e/pair.yaml is not visible and does not block",
            id="0.hidden-team: core membership does not block a signer who is named elsewhere",
        ),
        pytest.param(
            Signing(files=("e/pair.yaml",), owners=OWNERS + "/e/pair.yaml @org/core @reviewer\n"),
            "FAIL",
            "could not be verified: membership of @maintainer in @org/core",
            id="0.hidden-team: nothing else covers the signer",
        ),
        pytest.param(
            Signing(files=("e/docs/a.md",), problems={"admin-person": "HTTP 502"}),
            "FAIL",
            "could not be verified: the permission of @admin-person",
            id="0.lookup: an owner who may be an admin",
        ),
        pytest.param(
            Signing(files=(LOG,), owners="* @org/core\n!bad @x\n"),
            "FAIL",
            "line 2 is invalid",
            id="0.lookup: an invalid line exempts nothing",
        ),
    ],
)
def test_rules_of_check_0(case: Signing, status: str, text: str) -> None:
    row = case.row
    assert (row.status.value, text in row.reason) == (status, True), row.reason


def test_an_uncovered_file_is_found_at_its_line_of_codeowners() -> None:
    finding = Signing(files=(NVIDIA, AMD)).row.findings[0]
    assert (finding.where.path, finding.where.line) == (".github/CODEOWNERS", 4)
    assert finding.next_step == "Ask one of @reviewer to sign for this file."


def test_an_edit_of_codeowners_is_a_finding_of_its_own() -> None:
    row = Signing(files=(NVIDIA, ".github/CODEOWNERS")).row
    assert [finding.found for finding in row.findings] == ["the pull request edits CODEOWNERS"]


def sign_as(login: str):
    """The example bundle with another author of the sign-off."""
    editor = good()
    with editor.record("comments") as comments:
        sign_off = next(one for one in comments if one["id"] == editor.sign_off["id"])
        sign_off["author"] = {"id": 9, "login": login, "type": "User"}
        sign_off["body"] = sign_off["body"].replace("nvpohanh", login)
    with editor.record("permissions") as permissions:
        permissions[login] = {"permission": "write", "role_name": "write"}
    return editor


def renamed_amd():
    editor = good()
    with editor.record("changed_files") as changed:
        path = "inferencex-e2e/docs/notes.md"
        changed.append({"path": path, "previous_path": "inferencex-e2e/configs/amd-notes.md", "status": "renamed"})
    owners = editor.read(".github/CODEOWNERS", "target")
    return editor.write(".github/CODEOWNERS", owners + "/inferencex-e2e/configs/amd-* @reviewer\n", ("target",))


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: sign_as("reviewer"), id="0.other-vendor: the AMD owner signs NVIDIA files"),
        pytest.param(renamed_amd, id="0.rename: a file moved away from its owner"),
    ],
)
def test_one_change_of_the_story_flips_this_row_alone(make) -> None:
    assert flipped(good().rows(), make().rows()) == {0: "FAIL"}
