"""A call in a process of its own ends when it has used what it may."""

import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from evaluator.sandbox.limited_process import Exceeded, LimitExceededError, Limits, Server, call
from tests.rings import usual

LIMITS = Limits(memory_bytes=256 * 1024**2, cpu_seconds=1, wall_seconds=15)
GREEDY, GREEDY_SERVER = "tests.fakes.greedy_process", "tests.fakes.greedy_server"


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
    with pytest.raises(LimitExceededError) as ended:
        call(GREEDY, taken, limits=LIMITS)
    assert ended.value.what is exceeded


def test_it_is_not_waited_for_longer_than_it_may_take():
    with pytest.raises(LimitExceededError) as ended:
        call(GREEDY, "patience", limits=Limits(memory_bytes=256 * 1024**2, cpu_seconds=5, wall_seconds=0.5))
    assert ended.value.what is Exceeded.TIME


@pytest.mark.parametrize("taken", ["a defect", "a file"])
def test_another_failure_is_a_defect_and_in_the_log(taken, caplog):
    with pytest.raises(RuntimeError, match="ended with code"):
        call(GREEDY, taken, limits=LIMITS)
    assert "Error" in caplog.text


TAKEN = ["processes", "shared memory", "memory files", "pipes", "sockets", "many files", "names"]
CASES = [(module, taken) for module in (GREEDY, GREEDY_SERVER) for taken in TAKEN]


@pytest.mark.parametrize(("module", "taken"), usual(CASES, of=[*CASES[:7], (GREEDY_SERVER, "sockets")]))
def test_it_takes_nothing_that_its_limits_do_not_count(module, taken, caplog):
    with pytest.raises(RuntimeError, match="ended with code"):
        Server(module, limits=LIMITS).call(taken) if module == GREEDY_SERVER else call(module, taken, limits=LIMITS)
    assert "PermissionError" in caplog.text


def test_it_may_use_sockets_and_a_folder_where_the_caller_says_so():
    assert len(call(GREEDY, "sockets", limits=replace(LIMITS, sockets=True))) == 10
    assert call(GREEDY, "names", limits=replace(LIMITS, writable=("/tmp",))) == "names"
    for link in Path("/tmp").glob("planarena-greedy-*"):
        link.unlink()


def test_a_server_answers_many_requests_until_one_takes_too_much():
    server = Server(GREEDY_SERVER, limits=replace(LIMITS, cpu_seconds=0, wall_seconds=5))
    first = server.call("process id")
    assert [server.call([number, "é"]) for number in range(100)] == [[number, "é"] for number in range(100)]
    assert server.call("process id") == first
    for taken, exceeded in (("memory", Exceeded.MEMORY), ("an answer", Exceeded.MEMORY), ("time", Exceeded.TIME)):
        with pytest.raises(LimitExceededError) as ended:
            server.call(taken)
        assert ended.value.what is exceeded
        assert not psutil.pid_exists(first)
        assert server.call("process id") != first
        first = server.call("process id")
    server.close()
    assert not psutil.pid_exists(first)


def test_a_server_ends_with_its_object_and_with_its_program():
    server = Server(GREEDY_SERVER, limits=replace(LIMITS, cpu_seconds=0))
    first = server.call("process id")
    del server
    assert not psutil.pid_exists(first)
    program = (
        "import os, signal\nfrom tests.evaluator.sandbox.test_limited_process import GREEDY_SERVER, LIMITS\n"
        "from evaluator.sandbox.limited_process import Server\nserver = Server(GREEDY_SERVER, limits=LIMITS)\n"
        "print(server.call('process id'), flush=True)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    with suppress(psutil.NoSuchProcess):
        psutil.Process(int(done.stdout)).wait(10)
