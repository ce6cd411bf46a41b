"""Purpose: one installation stays within GitHub's limits, and its repositories stay fair to each other."""

from __future__ import annotations

import threading

import pytest

from app.github.errors import Limited
from app.github.limits import Limiter, is_secondary
from tests.github.conftest import START, FakeTime

OLDER = (
    "You have exceeded a secondary rate limit and have been temporarily blocked. Please retry your request again later."
)
NEWER = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
ABUSE = "You have triggered an abuse detection mechanism."


@pytest.mark.parametrize(
    ("status", "message", "secondary"),
    [
        pytest.param(403, OLDER, True, id="the older text"),
        pytest.param(403, NEWER, True, id="the newer text"),
        pytest.param(403, ABUSE, True, id="the oldest text"),
        pytest.param(429, NEWER, True, id="with status 429"),
        pytest.param(403, "Resource not accessible by integration", False, id="a plain refusal"),
        pytest.param(422, NEWER, False, id="a status that is no limit"),
    ],
)
def test_the_limit_on_speed_is_known_by_its_text(status: int, message: str, secondary: bool) -> None:
    assert is_secondary(status, message) is secondary


@pytest.mark.parametrize(
    ("status", "headers", "message", "until"),
    [
        pytest.param(403, {}, OLDER, START + 60, id="secondary without a header waits a minute"),
        pytest.param(403, {}, NEWER, START + 60, id="secondary in the newer text"),
        pytest.param(403, {"retry-after": "7"}, NEWER, START + 7, id="secondary with Retry-After"),
        pytest.param(429, {}, "Too many requests", START + 60, id="429 without a header"),
        pytest.param(429, {"retry-after": "3"}, "", START + 3, id="429 with Retry-After"),
        pytest.param(
            403,
            {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(START) + 900)},
            "API rate limit exceeded",
            START + 901,
            id="primary waits for the reset and a second",
        ),
    ],
)
def test_an_answer_that_tells_of_a_limit_blocks_until(
    status: int, headers: dict[str, str], message: str, until: float
) -> None:
    limited = Limiter(FakeTime().time).note(status, headers, message)
    assert limited is not None
    assert limited.until == until


@pytest.mark.parametrize(
    ("status", "message"),
    [
        pytest.param(200, "", id="success"),
        pytest.param(403, "Resource not accessible by integration", id="a refusal is no limit"),
        pytest.param(404, "Not Found", id="not found"),
    ],
)
def test_other_answers_block_nothing(status: int, message: str) -> None:
    assert Limiter(FakeTime().time).note(status, {"x-ratelimit-remaining": "4000"}, message) is None


def test_secondary_limits_in_a_row_wait_longer_each_time() -> None:
    clock = FakeTime()
    limiter = Limiter(clock.time)
    waits = [limited.until - clock.now() for _ in range(6) if (limited := limiter.note(403, {}, NEWER))]
    assert waits == [60, 120, 240, 480, 900, 900]
    limiter.note(200, {})
    again = limiter.note(403, {}, NEWER)
    assert again is not None
    assert again.until - clock.now() == 60


def test_a_short_block_is_waited_for() -> None:
    clock = FakeTime()
    limiter = Limiter(clock.time, longest_wait=30)
    limiter.note(429, {"retry-after": "5"})
    with limiter.turn("acme/bench"):
        pass
    assert clock.slept == [5]


def test_a_long_block_is_told_and_not_slept_through() -> None:
    clock = FakeTime()
    limiter = Limiter(clock.time, longest_wait=30)
    limiter.note(403, {}, NEWER)
    with pytest.raises(Limited) as told, limiter.turn("acme/bench"):
        pass
    assert told.value.until == START + 60
    assert clock.slept == []


def test_writes_are_a_second_apart_and_reads_are_not() -> None:
    clock = FakeTime()
    limiter = Limiter(clock.time)
    begun = []
    for write in (True, True, False, True):
        with limiter.turn("acme/bench", write):
            begun.append(clock.now() - START)
    assert begun == [0, 1, 1, 2]


def test_only_one_write_is_under_way() -> None:
    limiter = Limiter(FakeTime().time)
    inside, most, lock = 0, 0, threading.Lock()

    def write() -> None:
        nonlocal inside, most
        with limiter.turn("acme/bench", write=True):
            with lock:
                inside += 1
                most = max(most, inside)
            with lock:
                inside -= 1

    threads = [threading.Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_a_repository_with_many_waiting_requests_does_not_hold_up_another() -> None:
    limiter = Limiter(FakeTime().time, slots=1)
    served: list[str] = []
    started = threading.Semaphore(0)

    def ask(repository: str) -> None:
        started.release()
        with limiter.turn(repository):
            served.append(repository)

    with limiter.turn("acme/first"):
        threads = []
        for repository in ["acme/busy"] * 5 + ["acme/quiet"]:
            threads.append(threading.Thread(target=ask, args=(repository,)))
            threads[-1].start()
            started.acquire()
        with limiter._state:
            limiter._state.wait_for(lambda: sum(limiter._waiting.values()) == 6, 5)
    for thread in threads:
        thread.join()
    assert served.index("acme/quiet") <= 1


def test_when_the_hour_runs_out_the_greedy_repository_waits_and_the_other_goes_on() -> None:
    clock = FakeTime()
    limiter = Limiter(clock.time)
    left = {"x-ratelimit-limit": "5000", "x-ratelimit-remaining": "400", "x-ratelimit-reset": str(int(START) + 900)}
    limiter.note(200, left)
    for repository in ["acme/greedy"] * 20 + ["acme/modest"] * 2:
        limiter._used[repository] += 1
    with pytest.raises(Limited) as told, limiter.turn("acme/greedy"):
        pass
    assert told.value.until == START + 901
    with limiter.turn("acme/modest"):
        pass


def test_with_plenty_left_nobody_is_held_back() -> None:
    limiter = Limiter(FakeTime().time)
    limiter.note(200, {"x-ratelimit-limit": "5000", "x-ratelimit-remaining": "4000", "x-ratelimit-reset": "1800000900"})
    limiter._used.update({"acme/greedy": 900, "acme/modest": 1})
    with limiter.turn("acme/greedy"):
        pass
