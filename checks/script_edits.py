"""Purpose: what an evaluated launch script changes in the image: patches, in-place edits, installs, mounts, hooks.

Source: rules.md 10, evidence.md 8. The script was evaluated for one point (app.target.shell); here its commands and
the files it writes are judged against the roots and packages of the policy.

Invariants: only reached commands count. What stands behind an undecided condition, and a target that is not known, is
`undecided`; a known target outside engine and transport is no edit. Texts of other languages (a Python here-document)
are searched, never run.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from app.policy import PatchPolicy
from app.target.shell_record import Command, Evaluated, Written
from app.target.shell_text import is_known, known_part, shown
from app.target.source import FileLine


@dataclass(frozen=True, slots=True)
class Edit:
    """Something that a launch changes in the image: what, which target, in which script.

    `undecided` says why it could not be told whether the target belongs to the engine; "" where it does.
    """

    what: str
    target: str
    script: str
    where: FileLine
    undecided: str = ""


_WRAPPERS = ("sudo", "env", "nohup", "time", "exec", "timeout", "command")
_IN_PLACE = re.compile(r"-[nErsuzp0]*i.*|--in-place(?:=.*)?", re.DOTALL)
_PYTHON = re.compile(r"python[\d.]*\Z")
_WRITES = re.compile(
    r"write_text\(|write_bytes\(|\.write\(|open\([^)\n]{0,300},[ \t]{0,20}(?:mode=)?['\"][wa]"
    r"|shutil\.(?:copy|move)|os\.replace|\.symlink_to\("
)
_FINDS = re.compile(
    r"(?:find_spec|import_module)\(\s*['\"]([\w.]+)['\"]|^[ \t]*(?:import|from)[ \t]+([\w.]+)", re.MULTILINE
)
_SOURCES = re.compile(r"__file__|\.origin\b|getsourcefile|getfile\(|submodule_search_locations")
_LITERAL = re.compile(r"['\"](/[^'\"\n]{2,300})['\"]")
_VCS = re.compile(r"(?:git|hg|svn|bzr)\+|https?://|\.whl(?:#|\Z)|\.tar\.gz\Z|\.zip\Z")
_HOOKS = ("sitecustomize.py", "usercustomize.py")


def edits_of(evaluated: Evaluated, policy: PatchPolicy) -> Iterator[Edit]:
    """Every edit of an evaluated script, in order, each once."""
    seen: set[Edit] = set()
    for command in evaluated.commands:
        for edit in _of_command(command, evaluated.script, policy):
            if edit not in seen:
                seen.add(edit)
                yield edit
    for written in evaluated.written:
        for edit in _of_file(written, evaluated.script, policy):
            if edit not in seen:
                seen.add(edit)
                yield edit
    if not evaluated.finished:
        start = FileLine(evaluated.script, 1)
        yield Edit("runs a script beyond what is evaluated", "", evaluated.script, start, "the rest was not read")


def _of_command(command: Command, script: str, policy: PatchPolicy) -> Iterator[Edit]:
    words = _bare(command.words)
    if not words:
        return
    program = posixpath.basename(words[0])
    for what, target in _targets(program, words, command, policy):
        yield from _judged(what, target, script, command.where, command.certain, policy)
    for what in _installs(program, words, policy):
        yield Edit(what, "", script, command.where, "" if command.certain else _BEHIND)


_BEHIND = "it stands behind a condition that is not known"


def _judged(what: str, target: str, script: str, where: FileLine, certain: bool, policy: PatchPolicy) -> Iterator[Edit]:
    """An edit of a target, if it lies below a protected root or that cannot be told."""
    name = shown(target)
    if protected(known_part(target) if not is_known(target) else target, policy):
        yield Edit(f"{what} {name}", name, script, where, "" if certain else _BEHIND)
    elif not is_known(target) or not target:
        yield Edit(f"{what} {name or 'a target that is not named'}", name, script, where, "its target is not known")


def protected(path: str, policy: PatchPolicy) -> bool:
    """True for a path below a root of engine or transport and not below one of the harness."""
    if not path or any(fnmatchcase(path, pattern) for pattern in policy.harness_mounts):
        return False
    return any(fnmatchcase(path, pattern) or fnmatchcase(f"{path}/", pattern) for pattern in policy.roots)


def _bare(words: Sequence[str]) -> list[str]:
    """Words without wrappers and assignments in front."""
    rest = list(words)
    while rest and (posixpath.basename(rest[0]) in _WRAPPERS or re.match(r"[A-Za-z_]\w*=", rest[0])):
        rest.pop(0)
    return rest


def _targets(program: str, words: Sequence[str], command: Command, policy: PatchPolicy) -> Iterator[tuple[str, str]]:
    """(what is done, to which path) of a command that writes."""
    operands = [word for word in words[1:] if not word.startswith("-")]
    if program == "patch":
        yield "patches", _option(words, ("-d", "--directory")) or (operands[0] if operands else "")
    elif program == "git" and any(word in ("apply", "am", "cherry-pick") for word in words[1:4]):
        yield "applies a patch to", _option(words, ("-C", "--directory", "--work-tree"))
    elif program in ("sed", "perl", "gawk", "awk") and any(_IN_PLACE.fullmatch(word) for word in words[1:]):
        for target in operands[1:] if "-e" not in words and "-f" not in words else operands:
            yield "edits in place", target
    elif program in ("cp", "mv", "install", "ln", "rsync") and len(operands) > 1:
        yield "copies onto", _option(words, ("-t", "--target-directory")) or operands[-1]
    elif program == "tee":
        yield from (("writes to", target) for target in operands)
    elif program == "dd":
        yield from (("writes to", word[3:]) for word in words[1:] if word.startswith("of="))
    elif _PYTHON.match(program):
        yield from _python(words, command, policy)
    yield from (("mounts a file over", target) for target in _mounts(words))


def _option(words: Sequence[str], names: Sequence[str]) -> str:
    """Value of the first of these options: `-d DIR`, `--directory=DIR`."""
    for place, word in enumerate(words):
        for name in names:
            if word == name and place + 1 < len(words):
                return words[place + 1]
            if name.startswith("--") and word.startswith(f"{name}="):
                return word.partition("=")[2]
    return ""


def _python(words: Sequence[str], command: Command, policy: PatchPolicy) -> Iterator[tuple[str, str]]:
    """A program in a here-document or after -c that writes into an installed package."""
    text = command.stdin if "-" in words[1:2] or len(words) == 1 else ""
    if "-c" in words[:-1]:
        text = words[words.index("-c") + 1]
    if not text or not _WRITES.search(text):
        return
    for path in dict.fromkeys(_LITERAL.findall(text)):
        if protected(path, policy):
            yield "rewrites with a Python program", path
    if _SOURCES.search(text):
        packages = {(one or other).split(".")[0] for one, other in _FINDS.findall(text)}
        for package in sorted(packages):
            if engine_package(package, policy):
                yield "rewrites with a Python program", f"/site-packages/{package}/"


def engine_package(name: str, policy: PatchPolicy) -> bool:
    """True for a package of engine or transport, in either spelling."""
    names = {name.lower(), name.lower().replace("_", "-"), name.lower().replace("-", "_")}
    if any(fnmatchcase(one, pattern) for one in names for pattern in policy.allowed_packages):
        return False
    return any(fnmatchcase(one, pattern) for one in names for pattern in policy.packages)


def _mounts(words: Sequence[str]) -> Iterator[str]:
    """Targets of container mounts: `--container-mounts=a:b,c:d`, `-v a:b`, `--mount type=bind,src=a,dst=b`."""
    for place, word in enumerate(words):
        name, equals, value = word.partition("=")
        following = words[place + 1] if place + 1 < len(words) else ""
        if name in ("--container-mounts", "--volume", "-v"):
            for mount in (value if equals else following).split(","):
                parts = mount.split(":")
                if len(parts) > 1 and parts[1].startswith("/"):
                    yield parts[1]
        elif name == "--mount":
            for part in (value if equals else following).split(","):
                key, _, target = part.partition("=")
                if key in ("dst", "target", "destination"):
                    yield target


def _installs(program: str, words: Sequence[str], policy: PatchPolicy) -> Iterator[str]:
    """Installs and builds of engine or transport."""
    at = next((place for place, word in enumerate(words) if word == "install"), 0)
    before = {posixpath.basename(word) for word in words[:at]}
    if at and before & {"pip", "pip3", "uv"}:
        yield from _packages(words[at + 1 :], policy)
    elif _PYTHON.match(program) and any(posixpath.basename(word) == "setup.py" for word in words):
        steps = [word for word in words if word in ("install", "develop", "bdist_wheel", "build_ext", "build")]
        if steps:
            yield f"builds from a source tree (setup.py {steps[0]})"


def _packages(words: Sequence[str], policy: PatchPolicy) -> Iterator[str]:
    values = (
        "-r",
        "--requirement",
        "-i",
        "--index-url",
        "--extra-index-url",
        "-f",
        "--find-links",
        "--python",
        "-c",
        "-t",
    )
    skip = False
    editable = False
    for word in words:
        if skip:
            skip = False
            continue
        if word in values:
            skip = True
        elif word in ("-e", "--editable"):
            editable = True
        elif not word.startswith("-"):
            yield from _package(word, editable, policy)
            editable = False


def _package(word: str, editable: bool, policy: PatchPolicy) -> Iterator[str]:
    name = re.split(r"[\[<>=!~;@ ]", posixpath.basename(word) if _VCS.search(word) else word, maxsplit=1)[0]
    stem = re.sub(r"\.git\Z|\.whl\Z", "", name).split("-")[0] if _VCS.search(word) else name
    path = word.startswith((".", "/")) or editable
    if any(fnmatchcase(word, pattern) for pattern in policy.harness_mounts):
        return
    if path and not _VCS.search(word):
        yield f"builds from a source tree (pip install {shown(word)})"
    elif engine_package(stem, policy) or engine_package(name, policy):
        yield f"installs another build of {shown(word)}"


def _of_file(written: Written, script: str, policy: PatchPolicy) -> Iterator[Edit]:
    """Redirections onto engine files, and hooks that Python loads by itself."""
    name = shown(written.path)
    if posixpath.basename(written.path) in _HOOKS:
        packages = {word for word in re.findall(r"[A-Za-z_][\w]*", written.text) if engine_package(word, policy)}
        if packages:
            what = f"hooks into {', '.join(sorted(packages))} by {name}"
            yield Edit(what, name, script, written.where, "" if written.certain else _BEHIND)
        return
    if is_known(written.path) and not protected(written.path, policy):
        return
    if protected(known_part(written.path), policy):
        yield Edit(f"writes over {name}", name, script, written.where, "" if written.certain else _BEHIND)


_CONFIG = re.compile(r"(?:\A|/)(?:config|hf_quant_config)\.json\Z")
_KEY = re.compile(r"['\"]([a-z][a-z0-9_]{2,60})['\"]\s*(?:\]\s*=[^=]|:)")


@dataclass(frozen=True, slots=True)
class ConfigRewrite:
    """A rewrite of a model's configuration by a script: the keys that its text sets."""

    script: str
    where: FileLine
    keys: tuple[str, ...]
    certain: bool


def config_rewrites(evaluated: Evaluated) -> Iterator[ConfigRewrite]:
    """Commands and files that write a model's config.json."""
    for command in evaluated.commands:
        words = _bare(command.words)
        program = posixpath.basename(words[0]) if words else ""
        text = ""
        if _PYTHON.match(program) and "config.json" in command.stdin and _WRITES.search(command.stdin):
            text = command.stdin
        elif program in ("sed", "jq", "perl") and any(_CONFIG.search(word) for word in words[1:]):
            text = " ".join(words[1:]) if program == "jq" or any(map(_IN_PLACE.fullmatch, words[1:])) else ""
        if text:
            keys = tuple(dict.fromkeys((*_KEY.findall(text), *_jq_keys(text if program == "jq" else ""))))
            yield ConfigRewrite(evaluated.script, command.where, keys, command.certain)
    for written in evaluated.written:
        if _CONFIG.search(written.path):
            keys = tuple(dict.fromkeys(_KEY.findall(written.text)))
            yield ConfigRewrite(evaluated.script, written.where, keys, written.certain)


def _jq_keys(text: str) -> Iterable[str]:
    return re.findall(r"\.([a-z][a-z0-9_]{2,60})\s*\|?=", text)
