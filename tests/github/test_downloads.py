"""Purpose: what comes from outside the API is bounded, checked at every redirect, and never sees the token."""

from __future__ import annotations

import io
import json
import stat
import zipfile
from typing import Any

import pytest

from app.github.client import GitHub
from app.github.errors import HostError, HostRefused, NotThere, Refused, TooLarge, Unavailable, Unreadable
from app.github.fetch import Bounds, unzip
from app.github.hosts import Hosts, allowed
from app.github.logs import job_texts
from app.github.reads import JobRead
from app.sandbox import World
from app.sandbox.faults import Fault
from app.sandbox.repository import Repository
from app.sandbox.runs import Run, zip_files
from tests.github.conftest import Connect, FakeTime, R

SMALL = Bounds(download=100_000, members=3, unpacked=50_000, member=20_000, ratio=50)


def zipped(*members: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return target.getvalue()


def link() -> bytes:
    info = zipfile.ZipInfo("link")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return zipped((info, b"/etc/passwd"))


def twice() -> bytes:
    with pytest.warns(UserWarning):
        return zipped(("a.json", b"1"), ("a.json", b"2"))


def lying() -> bytes:
    """A member whose real size is larger than the directory declares."""
    content = bytearray(zipped(("a.bin", b"\0" * 9_000)))
    at = content.rindex(b"PK\x01\x02")
    content[at + 24 : at + 28] = (10).to_bytes(4, "little")
    return bytes(content)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        pytest.param(b"no zip at all", Unreadable, id="no zip"),
        pytest.param(b"", Unreadable, id="empty"),
        pytest.param(zipped(("a.json", b"{}"))[:-30], Unreadable, id="cut off"),
        pytest.param(zipped(*((f"{n}.json", b"{}") for n in range(4))), TooLarge, id="too many members"),
        pytest.param(zipped(("a.bin", b"x" * 30_000)), TooLarge, id="a member too large"),
        pytest.param(
            zipped(*((f"{n}.bin", bytes(range(256)) * 70) for n in range(3))), TooLarge, id="too large in all"
        ),
        pytest.param(zipped(("../evil.sh", b"x")), Unreadable, id="a path above the archive"),
        pytest.param(zipped(("a/../../evil.sh", b"x")), Unreadable, id="a path above it inside"),
        pytest.param(zipped(("/etc/passwd", b"x")), Unreadable, id="an absolute path"),
        pytest.param(zipped(("C:\\evil.exe", b"x")), Unreadable, id="a drive"),
        pytest.param(zipped(("..\\evil.sh", b"x")), Unreadable, id="a backslash path"),
        pytest.param(link(), Unreadable, id="a symbolic link"),
        pytest.param(lying(), Unreadable, id="a member larger than declared"),
    ],
)
def test_an_archive_is_refused(content: bytes, error: type[HostError]) -> None:
    with pytest.raises(error):
        unzip(content, SMALL)


def test_a_path_that_stands_twice_is_refused() -> None:
    with pytest.raises(Unreadable):
        unzip(twice(), SMALL)


def test_a_bomb_is_refused_by_its_ratio() -> None:
    with pytest.raises(TooLarge, match="times its size"):
        unzip(zipped(("zeros", b"\0" * 40_000_000)), Bounds(ratio=200))


def test_a_sound_archive_gives_its_files() -> None:
    content = zipped(("a.json", b"{}"), ("folder/b.txt", b"text"))
    assert unzip(content, SMALL) == {"a.json": b"{}", "folder/b.txt": b"text"}
    assert unzip(content, SMALL, lambda name: "/" not in name) == {"a.json": b"{}"}


@pytest.fixture
def run(repo: Repository) -> Run:
    made = repo.start_run("run-sweep.yml", "pull_request", "maintainer", id=4001).start()
    made.job("agentic / c1", log="log of c1\n", runner="gb200_1", id=5001)
    made.job("agentic / c2", log="log of c2\n", runner="gb200_2", id=5002)
    made.job("canary /", conclusion="skipped", id=5003)
    return made


def test_an_artifact_is_read_behind_its_redirect_without_the_token(world: World, run: Run, github: GitHub) -> None:
    made = run.artifact("bmk_agentic_x", {"x.json": '{"conc": 1}'})
    assert github.artifact_files(R, made.id, made.size) == {"x.json": b'{"conc": 1}'}
    files = [each for each in world.requests if each.host == "files"]
    assert [each.authorization for each in files] == [False]
    assert github.counter.requests == 1 == world.counted()


@pytest.mark.parametrize(
    ("made", "error"),
    [
        pytest.param({"zipped": b"not a zip"}, Unreadable, id="no zip"),
        pytest.param({"files": {"x": b""}, "declared_size": 2_000_000_000}, TooLarge, id="2 GB declared"),
        pytest.param({"files": {"x": b""}, "expired": True}, NotThere, id="expired"),
    ],
)
def test_an_artifact_cannot_be_read(made: dict[str, Any], error: type[HostError], run: Run, github: GitHub) -> None:
    artifact = run.artifact("results_bmk", **made)
    listed = next(each for each in github.artifacts(R, 4001) if each.id == artifact.id)
    with pytest.raises(error):
        github.artifact_files(R, listed.id, listed.size)


def test_an_artifact_larger_than_it_says_is_cut_off_by_the_download(run: Run, github: GitHub) -> None:
    made = run.artifact("results_bmk", {"x": bytes(range(256)) * 8})
    with pytest.raises(TooLarge):
        github.artifact_files(R, made.id, 10, Bounds(download=50))


def test_a_redirect_to_a_host_that_is_not_listed_is_not_followed(run: Run, connect: Connect, world: World) -> None:
    made = run.artifact("results_bmk", {"x": b"1"})
    github = connect(archives=("https://*.actions.githubusercontent.com",))
    with pytest.raises(HostRefused):
        github.artifact_files(R, made.id)
    assert all(each.host == "github" for each in world.requests)


def test_a_host_that_redirects_on_to_another_is_not_followed(run: Run, github: GitHub, world: World) -> None:
    made = run.artifact("results_bmk", {"x": b"1"})
    world.faults.add(Fault(path="_hosts/files", status=302, headers={"Location": "http://192.0.2.1/evil"}, times=0))
    with pytest.raises(HostRefused):
        github.artifact_files(R, made.id)


@pytest.mark.parametrize(
    ("url", "fits"),
    [
        pytest.param("https://a.blob.core.windows.net/x", True, id="a subdomain"),
        pytest.param("https://blob.core.windows.net.evil.example/x", False, id="the name inside another"),
        pytest.param("https://evilblob.core.windows.net/x", False, id="no dot before the name"),
        pytest.param("http://a.blob.core.windows.net/x", False, id="without TLS"),
        pytest.param("https://a.blob.core.windows.net:8443/x", False, id="another port"),
        pytest.param("https://user@a.blob.core.windows.net/x", False, id="with a user"),
    ],
)
def test_a_redirect_fits_a_pattern(url: str, fits: bool) -> None:
    assert allowed(url, ("https://*.blob.core.windows.net",)) is fits


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("https://evil.example/cookbook", id="another host"),
        pytest.param("http://docs.sglang.io/cookbook", id="without TLS"),
        pytest.param("file:///etc/passwd", id="a file"),
        pytest.param("https://docs.sglang.io@evil.example/", id="the name as a user"),
        pytest.param("https://docs.sglang.io:8443/", id="another port"),
        pytest.param("https://169.254.169.254/latest/meta-data", id="an address of the cloud"),
    ],
)
def test_a_page_of_a_host_that_is_not_listed_is_not_read(url: str, github: GitHub, world: World) -> None:
    with pytest.raises(HostRefused):
        github.fetcher.page(url)
    assert world.requests == []


def test_a_page_is_read_as_it_is(world: World, github: GitHub) -> None:
    world.page("https://docs.sglang.io/cookbook/x", "<html>snippet</html>")
    assert github.fetcher.page("https://docs.sglang.io/cookbook/x") == b"<html>snippet</html>"
    assert github.counter.requests == 0
    assert not world.requests[-1].authorization


@pytest.mark.parametrize(
    ("plant", "error"),
    [
        pytest.param({"status": 404}, NotThere, id="not there"),
        pytest.param({"status": 503}, Unavailable, id="down"),
        pytest.param({"status": 403}, Refused, id="behind an account"),
    ],
)
def test_a_page_that_cannot_be_read(
    plant: dict[str, Any], error: type[HostError], world: World, github: GitHub
) -> None:
    world.page("https://docs.sglang.io/x", "text")
    world.faults.add(Fault(path="docs.sglang.io", times=0, **plant))
    with pytest.raises(error):
        github.fetcher.page("https://docs.sglang.io/x")


def test_a_page_is_asked_for_again(world: World, github: GitHub, clock: FakeTime) -> None:
    world.page("https://docs.sglang.io/x", "text")
    world.faults.error(path="docs.sglang.io", times=2)
    assert github.fetcher.page("https://docs.sglang.io/x") == b"text"
    assert clock.slept == [0.5, 1.0]


def test_a_page_that_is_no_text_or_too_long_is_refused(world: World, github: GitHub) -> None:
    world.page("https://docs.sglang.io/image", b"\x89PNG", "image/png")
    world.page("https://docs.sglang.io/long", b"x" * 8_000_001)
    with pytest.raises(Unreadable):
        github.fetcher.page("https://docs.sglang.io/image")
    with pytest.raises(TooLarge):
        github.fetcher.page("https://docs.sglang.io/long")


def test_a_page_may_redirect_within_its_host_only(world: World, github: GitHub) -> None:
    world.page("https://docs.sglang.io/new", "here")
    world.faults.add(Fault(path="/old", status=302, headers={"Location": "new"}))
    assert github.fetcher.page("https://docs.sglang.io/old") == b"here"


def test_endless_redirects_end(world: World, github: GitHub) -> None:
    world.faults.add(Fault(path="/loop", status=302, headers={"Location": "loop"}, times=0))
    with pytest.raises(Unreadable):
        github.fetcher.page("https://docs.sglang.io/loop")


# logs --------------------------------------------------------------------------------------------------------


def test_the_logs_of_a_run_come_as_one_archive(run: Run, github: GitHub, world: World) -> None:
    run.finish("success")
    jobs = github.jobs(R, 4001, 1)
    assert github.run_logs(R, 4001, 1, jobs) == {5001: b"log of c1\n", 5002: b"log of c2\n"}
    assert world.counted() == 2


def test_logs_that_no_name_tells_apart_are_read_one_by_one(run: Run, github: GitHub, world: World) -> None:
    name = "agentic / " + "a very long configuration name " * 4
    first = run.job(name + "c4", log="c4\n", runner="gb200_3")
    second = run.job(name + "c6", log="c6\n", runner="gb200_4")
    jobs = github.jobs(R, 4001, 1)
    logs = github.run_logs(R, 4001, 1, jobs)
    assert (logs[first.id], logs[second.id]) == (b"c4\n", b"c6\n")
    assert world.counted() == 4


def job(number: int, name: str, runner: str = "r") -> JobRead:
    return JobRead(number, 1, 1, name, "completed", "success", runner, 3, "", "", "")


LONG = "agentic  p4.750  musespark fp4 clustergb200-nv sgl TP4EP4 mtp dram KV offload hicache c2"


@pytest.mark.parametrize(
    ("members", "jobs", "found", "missing"),
    [
        pytest.param(["0_build.txt"], [job(1, "build")], {1: "0_build.txt"}, [], id="one job"),
        pytest.param(["0_a  b.txt"], [job(1, "a / b")], {1: "0_a  b.txt"}, [], id="a slash left out"),
        pytest.param(["0_a.txt"], [job(1, "a"), job(2, "skipped", "")], {1: "0_a.txt"}, [], id="a skipped job"),
        pytest.param([], [job(1, "a")], {}, [1], id="no text"),
        pytest.param(["0_a.txt", "1_a.txt"], [job(1, "a"), job(2, "a")], {}, [1, 2], id="two jobs of one name"),
        pytest.param(
            [f"0_{LONG}.txt", f"1_{LONG}0.txt"],
            [job(1, LONG), job(2, f"{LONG}0")],
            {1: f"0_{LONG}.txt", 2: f"1_{LONG}0.txt"},
            [],
            id="whole names before cut ones",
        ),
        pytest.param(["0_a.txt"], [job(1, "ab")], {}, [1], id="a short name is not the start of another"),
    ],
)
def test_texts_belong_to_jobs(
    members: list[str], jobs: list[JobRead], found: dict[int, str], missing: list[int]
) -> None:
    texts, rest = job_texts({name: name.encode() for name in members}, jobs)
    assert texts == {number: name.encode() for number, name in found.items()}
    assert [each.id for each in rest] == missing


# checkpoints -------------------------------------------------------------------------------------------------


def shard(tensors: dict[str, object], tail: int = 64, padding: int = 0) -> bytes:
    header = json.dumps(tensors | {"__metadata__": {"pad": " " * padding}}).encode()
    return len(header).to_bytes(8, "little") + header + b"\0" * tail


TENSOR = {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]}


def test_a_checkpoint_gives_configs_and_headers_at_one_commit(world: World, github: GitHub) -> None:
    from app.github.checkpoint import read_checkpoint

    files = {"config.json": b'{"dtype": "bfloat16"}', "model.safetensors": shard({"a": TENSOR}, tail=500_000)}
    world.checkpoint("org/draft", "46c90f41", files)
    found = read_checkpoint(github.fetcher, "org/draft", "main")
    assert found.sha == "46c90f41"
    assert found.files == {"config.json": files["config.json"]}
    assert json.loads(found.headers["model.safetensors"])["a"] == TENSOR
    assert all("/46c90f41/" in each.path for each in world.requests if "resolve" in each.path)
    assert world.counted() == 0


def test_a_long_header_is_read_with_a_second_range(world: World, github: GitHub) -> None:
    from app.github.checkpoint import read_checkpoint

    world.checkpoint("org/draft", "46c9", {"model.safetensors": shard({"a": TENSOR}, padding=300_000)})
    found = read_checkpoint(github.fetcher, "org/draft", "main")
    assert len(found.headers["model.safetensors"]) > 300_000
    assert sum("resolve" in each.path for each in world.requests) == 2


@pytest.mark.parametrize(
    ("content", "error"),
    [
        pytest.param(b"short", Unreadable, id="too short"),
        pytest.param((2_000_000).to_bytes(8, "little") + b"{" + b" " * 2_000_000, TooLarge, id="a header over 1 MB"),
        pytest.param((100).to_bytes(8, "little") + b"{}", Unreadable, id="a header cut off"),
        pytest.param((20).to_bytes(8, "little") + b"not json at all, no.", Unreadable, id="no header"),
    ],
)
def test_a_shard_cannot_be_read(content: bytes, error: type[HostError], world: World, github: GitHub) -> None:
    from app.github.checkpoint import read_checkpoint

    world.checkpoint("org/draft", "46c9", {"model.safetensors": content})
    with pytest.raises(error):
        read_checkpoint(github.fetcher, "org/draft", "main")


def test_of_many_shards_only_those_with_draft_tensors_are_read(world: World, github: GitHub) -> None:
    from app.github.checkpoint import read_checkpoint

    names = [f"model-{n:05d}.safetensors" for n in range(1, 13)]
    weights = {f"model.layers.{n}.weight": name for n, name in enumerate(names)}
    config = {"num_hidden_layers": 11, "num_nextn_predict_layers": 1}
    files = {name: shard({f"model.layers.{n}.weight": TENSOR}) for n, name in enumerate(names)}
    files |= {"config.json": json.dumps(config).encode()}
    files |= {"model.safetensors.index.json": json.dumps({"weight_map": weights}).encode()}
    world.checkpoint("org/served", "aaaa", files)
    assert list(read_checkpoint(github.fetcher, "org/served", "main").headers) == ["model-00012.safetensors"]


def test_a_checkpoint_that_does_not_exist(github: GitHub) -> None:
    from app.github.checkpoint import read_checkpoint

    with pytest.raises(NotThere):
        read_checkpoint(github.fetcher, "org/none", "main")


def test_zips_of_the_story_are_the_same_bytes_each_time() -> None:
    assert zip_files({"a": b"1"}) == zip_files({"a": b"1"})


def test_unlisted_hosts_are_refused_before_any_name_is_looked_up() -> None:
    with pytest.raises(HostRefused):
        Hosts().page("https://localhost/")
