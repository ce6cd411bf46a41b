"""Purpose: check 0: somebody who owns the changed files has signed.

Scope step first: files whose owners are only core teams or repository admins need nobody's sign-off. Each other file
needs an owner of its own among the signers; a file that only the catch-all names is covered by any listed owner.

Invariants: ownership is the target branch's, never the pull request's. Every path counts, the old one of a rename
too; the last matching line decides. A look-up that failed never exempts a file and is never taken for "no".
Source: rules.md 0; workflows.md 5; verdicts.md, check 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from app.facts.base import Facts
from app.facts.github import ChangedFiles, Permissions, Teams
from app.facts.repository import Ownership
from app.facts.sign_off import SignedComment, SignOff, SignOffs
from app.planner.scope import Scope
from app.target.codeowners import Codeowners, Rule
from app.target.source import FileLine
from checks.applying import listed, short
from checks.contract import (
    FAIL,
    NA,
    PASS,
    CannotVerify,
    CheckResult,
    Comment,
    Finding,
    Help,
    NotApplicable,
    Optional,
    Required,
    Unverified,
    check,
    failed,
    not_applicable,
    passed,
)

RULES = {
    "0.named": "A signer is named on the line that decides for the file.",
    "0.catch-all": "A file that only the catch-all line names is covered by any owner listed in CODEOWNERS.",
    "0.team": "A signer is a visible member of an owning team.",
    "0.joint": "Several sign-offs on one head may cover the files together (policy, on by default).",
    "0.exempt": "A file whose owners are only core teams or admins, or that has no owner, needs no sign-off.",
    "0.other-vendor": "A file whose owners are others than the signers is not covered.",
    "0.rename": "The old path of a rename needs its owner as well.",
    "0.last-match": "The last matching line decides, whole path segments only.",
    "0.target": "CODEOWNERS of the target branch decides; an edit of it in the pull request does not.",
    "0.bot": "A bot cannot sign.",
    "0.writer": "A signer needs write permission.",
    "0.hidden-team": "Membership that cannot be seen blocks unless another line covers the signer.",
    "0.lookup": "A permission that could not be read exempts no file.",
}

HELP = Help(
    rule="Every changed file that has an owner outside the core team is covered by an owner who signed.",
    passes_when=tuple(f"{key}: {RULES[key]}" for key in ("0.named", "0.catch-all", "0.team", "0.joint", "0.exempt")),
    fails_when=tuple(
        f"{key}: {RULES[key]}"
        for key in (
            "0.other-vendor",
            "0.rename",
            "0.last-match",
            "0.target",
            "0.bot",
            "0.writer",
            "0.hidden-team",
            "0.lookup",
        )
    ),
    fix="Ask an owner named for the uncovered file to post the review checklist as well.",
    source="review rules, check 0",
)


def applies(scope: Scope) -> object | NotApplicable:
    """a file is changed"""
    return scope.changed_files or NotApplicable("no file is changed")


@check(
    number=0,
    name="CODEOWNER",
    applies=applies,
    needs=(
        Required(SignOff),
        Required(Ownership),
        Required(ChangedFiles),
        Required(Permissions),
        Optional(SignOffs),
        Optional(Teams),
    ),
    may=(PASS, FAIL, NA),
    help=HELP,
)
def codeowner(facts: Facts, _scope: Scope) -> CheckResult:
    """Rows of files against owners; see the module's rules."""
    signed = facts[SignOff].signed
    problem = _signer_problem(signed, facts[Permissions])
    if problem:
        step = "Ask a person who owns the files and has write permission to sign."
        return failed(problem, [Finding(Comment(signed.comment.id, 1), problem, "a person with write access", step)])
    ledger = _Ledger(facts[Ownership].codeowners, facts[Permissions], facts.get(Teams), facts.policy.owners.core_teams)
    signers = _signers(signed, facts)
    files = [ledger.judge(path, signers) for path in facts[ChangedFiles].paths]
    notes = _notes(facts, ledger)
    needing = [file for file in files if file.state is not _Exempt]
    if not needing:
        if ledger.codeowners.problems:
            line = ledger.codeowners.problems[0].where.line
            raise CannotVerify([Unverified("CODEOWNERS at the target branch tip", f"line {line} is invalid")], notes)
        return not_applicable("every changed file is owned by core or admins only, or by nobody")
    return _settle(files, needing, signers, ledger, notes)


_Covered, _Open, _Hidden, _Exempt = "covered", "open", "hidden", "exempt"


@dataclass(frozen=True)
class _File:
    """One path: the deciding rule, its state, and who covers it or what could not be seen."""

    path: str
    rule: Rule | None
    state: str
    by: str = ""
    unseen: tuple[Unverified, ...] = ()

    @property
    def named(self) -> bool:
        return self.rule is not None and not self.rule.catch_all


@dataclass(frozen=True)
class _Ledger:
    codeowners: Codeowners
    permissions: Permissions
    teams: Teams | None
    core: tuple[str, ...]

    def judge(self, path: str, signers: tuple[str, ...]) -> _File:
        rule = self.codeowners.rule_for(path)
        counting = [owner for owner in rule.owners if not self._exempt(owner)] if rule else []
        if rule is None or not counting:
            return _File(path, rule, _Exempt)
        for login in signers:
            if self._listed(rule, login) or (rule.catch_all and self.owns_something(login)):
                return _File(path, rule, _Covered, login)
        unseen = tuple(self._unseen(rule, signers))
        return _File(path, rule, _Hidden if unseen else _Open, "", unseen)

    def _exempt(self, owner: str) -> bool:
        """Core teams and repository admins; an individual whose permission is unknown is not exempt."""
        name = owner.removeprefix("@")
        if "/" in name:
            return name.lower() in {team.lower() for team in self.core}
        record = self.permissions.of(name) if owner.startswith("@") else None
        return record is not None and record.is_admin

    def _listed(self, rule: Rule, login: str) -> bool:
        return any(self._is(owner, login) for owner in rule.owners)

    def _is(self, owner: str, login: str) -> bool:
        name = owner.removeprefix("@").lower()
        if owner.startswith("@") and "/" in name:
            team = self.teams.by_name.get(name) if self.teams else None
            return team is not None and team.visible and login.lower() in {one.lower() for one in team.members}
        return owner.startswith("@") and name == login.lower()

    def owns_something(self, login: str) -> bool:
        return any(self._listed(rule, login) for rule in self.codeowners.rules)

    def _unseen(self, rule: Rule, signers: tuple[str, ...]) -> Iterable[Unverified]:
        """Look-ups that failed and could turn the answer: hidden teams, and owners who may be admins."""
        for owner in rule.owners:
            name = owner.removeprefix("@")
            if owner.startswith("@") and "/" in name:
                team = self.teams.by_name.get(name.lower()) if self.teams else None
                if team is None or not team.visible:
                    yield Unverified(f"membership of @{signers[0]} in {owner}", "the team's members are not visible")
            elif owner.startswith("@") and name.lower() in self.permissions.problems:
                yield Unverified(f"the permission of {owner}", self.permissions.problems[name.lower()])

    def core_only(self, file: _File) -> bool:
        """True where everything unseen is the membership of a core team."""
        core = {f"@{team.lower()}" for team in self.core}
        return all(item.source.split(" in ")[-1].lower() in core for item in file.unseen)


def _signer_problem(signed: SignedComment, permissions: Permissions) -> str:
    if signed.comment.author.is_bot:
        return f"the sign-off is by @{signed.login}, a bot"
    record = permissions.of(signed.login)
    if record is None:
        why = permissions.problems.get(signed.login.lower(), "was not asked for")
        raise CannotVerify([Unverified(f"the permission of @{signed.login}", why)])
    if not record.can_write:
        return f"the signer @{signed.login} has {record.permission} permission, not write"
    return ""


def _signers(signed: SignedComment, facts: Facts) -> tuple[str, ...]:
    """The signer, then those who signed the same commit or the head and may write."""
    signers = [signed.login]
    others = facts.get(SignOffs) if facts.policy.owners.joint_sign_offs else None
    heads = {head for head in (signed.signed_head, facts.head_sha) if head}
    for other in others.all if others else ():
        record = facts[Permissions].of(other.login)
        if other.signed_head in heads and not other.comment.author.is_bot and record is not None and record.can_write:
            signers.append(other.login)
    return tuple(dict.fromkeys(signers))


def _notes(facts: Facts, ledger: _Ledger) -> list[Finding]:
    notes = [
        Finding(problem.where, problem.found, problem.rule, problem.fix) for problem in ledger.codeowners.problems[:5]
    ]
    path = ledger.codeowners.path
    if path in facts[ChangedFiles].paths:
        step = "Let the core team review this edit; it counts after it is merged."
        notes.append(Finding(FileLine(path), "the pull request edits CODEOWNERS", "the target's version decides", step))
    return notes


def _settle(
    files: list[_File], needing: list[_File], signers: tuple[str, ...], ledger: _Ledger, notes: list[Finding]
) -> CheckResult:
    names = " and ".join(f"@{login}" for login in signers)
    open_files = [file for file in needing if file.state is _Open]
    if open_files:
        owners = listed([owner for file in open_files for owner in (file.rule.owners if file.rule else ())], 4)
        paths = listed([short(file.path) for file in open_files], 2)
        reason = f"{names} {'do' if len(signers) > 1 else 'does'} not own {paths}; needed: {owners}"
        return failed(reason, [*(_uncovered(file, names) for file in open_files), *notes])
    anchored = any(file.state is _Covered and file.named for file in needing)
    hidden = [file for file in needing if file.state is _Hidden]
    blocking = [file for file in hidden if not (anchored and ledger.core_only(file))]
    if blocking:
        missing = tuple(dict.fromkeys(item for file in blocking for item in file.unseen))
        raise CannotVerify(missing, [*(_uncovered(file, names) for file in blocking), *notes])
    return passed(_praise(files, hidden), notes)


def _uncovered(file: _File, names: str) -> Finding:
    rule = file.rule
    owners = " ".join(rule.owners) if rule else ""
    where = rule.where if rule and rule.where.path else FileLine(file.path)
    found = f"{file.path} falls to {rule.pattern} {owners}" if rule else file.path
    return Finding(where, found, f"an owner among the signers ({names})", f"Ask one of {owners} to sign for this file.")


def _praise(files: list[_File], hidden: list[_File]) -> str:
    parts = []
    for login in dict.fromkeys(file.by for file in files if file.by):
        mine = [file for file in files if file.by == login]
        named = [short(file.path) for file in mine if file.named]
        general = [short(file.path) for file in mine if not file.named]
        if named:
            parts.append(f"@{login} is a named owner of {listed(named)}")
        if general:
            parts.append(f"{listed(general)} {'falls' if len(general) == 1 else 'fall'} to the catch-all")
    exempt = [short(file.path) for file in files if file.state is _Exempt]
    if exempt:
        parts.append(f"{listed(exempt)} {'needs' if len(exempt) == 1 else 'need'} no separate owner")
    if hidden:
        parts.append(
            f"core membership for {listed([short(file.path) for file in hidden])} is not visible and does not block"
        )
    return "; ".join(parts)
