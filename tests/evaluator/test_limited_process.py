"""A call in a process of its own ends when it has used what it may."""

import os
import time

import pytest

from evaluator.limited_process import Exceeded, LimitExceededError, Limits, call

LIMITS = Limits(memory_bytes=256 * 1024**2, cpu_seconds=1, wall_seconds=15)
GREEDY = "tests.fakes.greedy_process"


def test_the_answer_comes_back_and_the_environment_holds_no_secret(monkeypatch):
    monkeypatch.setenv("PLANARENA_SECRET_KEY", "secret")
    monkeypatch.setenv("DATABASE_URL", "secret")
    assert call(GREEDY, {"a": [1, None]}, limits=LIMITS) == {"a": [1, None]}
    seen = call(GREEDY, "secrets", limits=LIMITS)
    assert "PATH" in seen
    assert not {"PLANARENA_SECRET_KEY", "DATABASE_URL"} & set(seen)
    assert set(seen) < {*os.environ, "MALLOC_ARENA_MAX", "PYTHONUTF8", "LC_CTYPE"}


@pytest.mark.parametrize(
    ("taken", "exceeded"),
    [
        ("time", Exceeded.TIME),
        ("memory", Exceeded.MEMORY),
        ("an answer", Exceeded.MEMORY),
        ("killed", Exceeded.MEMORY),
    ],
)
def test_what_it_takes_too_much_of_is_said(taken, exceeded):
    started = time.monotonic()
    with pytest.raises(LimitExceededError) as ended:
        call(GREEDY, taken, limits=LIMITS)
    assert ended.value.what is exceeded
    assert time.monotonic() - started < 10


def test_it_is_not_waited_for_longer_than_it_may_take():
    started = time.monotonic()
    with pytest.raises(LimitExceededError) as ended:
        call(GREEDY, "patience", limits=Limits(memory_bytes=256 * 1024**2, cpu_seconds=5, wall_seconds=0.5))
    assert ended.value.what is Exceeded.TIME
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("taken", ["a defect", "a file"])
def test_another_failure_is_a_defect_and_in_the_log(taken, caplog):
    with pytest.raises(RuntimeError, match="ended with code"):
        call(GREEDY, taken, limits=LIMITS)
    assert "Error" in caplog.text
