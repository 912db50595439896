"""Programs in a server elsewhere: the same results, and what happens when it goes."""

import json
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import pytest

from evaluator.sandbox.isolation.address import Address
from evaluator.sandbox.programs import remote
from evaluator.sandbox.programs.frames import FrameError, receive, send
from evaluator.sandbox.programs.results import Failed, Returned
from evaluator.sandbox.programs.runner import Program, Runner
from evaluator.sandbox.programs.serving import serve
from evaluator.sandbox.programs.support import support
from evaluator.sandbox.programs.wire import Failure, Limits
from evaluator.sandbox.programs.worker import WorkerError

ROOT = Path(__file__).resolve().parents[4]
HELPERS = "def double(x):\n    return 2 * x\n"
PROGRAMS = [
    Program(source="def f(x):\n    return double(x)", entry="f", calls=[[1], [[3]]]),
    Program(source="import os"),
    Program(source="def f():\n    return f()\nf()"),
    Program(source="n = 0\nwhile True:\n    n += 1\nn"),
]


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A server in a thread, whose address the environment names."""
    address = Address(path=str(tmp_path / "programs"))
    listener = address.listening(waiting=4)
    threading.Thread(
        target=serve, args=(listener,), kwargs={"connections": 2, "idle_seconds": 0.5}, daemon=True
    ).start()
    monkeypatch.setenv(remote.VARIABLE, f"unix:{tmp_path / 'programs'}")
    support.cache_clear()
    yield address
    listener.close()
    support.cache_clear()


def results(**settings):
    with Runner(library=[HELPERS], workers=1, **settings) as runner:
        return runner.run(PROGRAMS)


def wait_until_gone(before):
    """Until the server has ended the processes of connections that ended or were idle."""
    deadline = time.monotonic() + 60
    while set(psutil.Process().children(recursive=True)) - before:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_programs_give_what_they_give_here(server, monkeypatch):
    # Few enough that a slow machine reaches them before the second of processor time is over.
    limits = Limits(steps=100_000)
    elsewhere = results(limits=limits)
    monkeypatch.delenv(remote.VARIABLE)
    assert elsewhere == results(limits=limits)
    assert elsewhere[0][0].value == 2


def test_a_connection_that_was_idle_for_too_long_is_opened_again(server):
    before = set(psutil.Process().children(recursive=True))
    with Runner(library=[HELPERS], workers=1) as runner:
        [first] = runner.run(PROGRAMS[:1])
        wait_until_gone(before)
        [second] = runner.run(PROGRAMS[:1])
    assert first == second


def test_no_process_is_left_of_a_connection_that_ended(server):
    before = set(psutil.Process().children(recursive=True))
    results()
    wait_until_gone(before)


def test_more_connections_than_allowed_wait_for_an_idle_one_to_be_closed(server):
    with ExitStack() as stack:
        runners = [stack.enter_context(Runner(library=[HELPERS], workers=1)) for _ in range(3)]
        found = [runner.run(PROGRAMS[:1])[0][0].value for runner in runners * 2]
    assert found == [2] * 6


def test_a_server_that_goes_is_nobodys_fault(server, monkeypatch):
    def refuse(*_, **__):
        raise ConnectionRefusedError("gone")

    before = set(psutil.Process().children(recursive=True))
    with Runner(library=[HELPERS], workers=1) as runner:
        monkeypatch.setattr(Address, "connected", refuse)
        wait_until_gone(before)
        [[found]] = runner.run([Program(source="1")])
    assert isinstance(found, Failed)
    assert found.failure is Failure.UNAVAILABLE
    assert "cannot be reached: gone" in found.message


def test_an_address_that_is_none_is_named(monkeypatch):
    monkeypatch.setenv(remote.VARIABLE, "somewhere")
    with pytest.raises(WorkerError, match=r"PLANARENA_PROGRAMS: 'somewhere' is no address; write HOST:PORT"), Runner():
        pass


def test_a_library_that_does_not_run_is_told(server):
    with pytest.raises(WorkerError, match="the library raises ZeroDivisionError"), Runner(library=["1 / 0"], workers=1):
        pass


@pytest.mark.parametrize(
    "answer",
    [b"", b"[]", b"{}", b'{"code": "0", "late": false, "peak_kib": 1}', b'{"code": 0, "late": false}', b"\xff" * 10],
)
def test_a_server_that_answers_nonsense_is_unavailable(tmp_path, monkeypatch, answer):
    """Once it has a program, the pod may be anybody."""
    address = Address(path=str(tmp_path / "hostile"))

    def lie(listener):
        for _ in range(2):
            connection, _ = listener.accept()
            with connection, suppress(BrokenPipeError):
                receive(connection)
                send(connection, json.dumps({"layers": ["language"], "missing": {}}).encode())
                receive(connection)
                send(connection, answer)
                send(connection, b"")

    monkeypatch.setenv(remote.VARIABLE, f"unix:{address.path}")
    with address.listening(waiting=4) as listener:
        threading.Thread(target=lie, args=(listener,), daemon=True).start()
        with Runner(workers=1) as runner:
            [[found]] = runner.run([Program(source="1")])
    assert isinstance(found, Failed)
    assert found.failure is Failure.UNAVAILABLE


def test_frames_are_bounded_and_whole():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        send(ours, b"12345")
        with pytest.raises(FrameError, match="a frame of 5 bytes; at most 4 are allowed"):
            receive(theirs, most_bytes=4)
        ours.sendall((9).to_bytes(8) + b"1")
        ours.close()
        theirs.recv(5)
        with pytest.raises(FrameError, match="the connection was closed"):
            receive(theirs)


def test_the_server_runs_by_its_command_with_an_empty_environment(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "evaluator.sandbox.programs.serving", "--listen", f"127.0.0.1:{port}"],
        cwd=ROOT, env={"PATH": ""}, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert "Programs are confined by: " in process.stderr.readline()
        monkeypatch.setenv(remote.VARIABLE, f"127.0.0.1:{port}")
        deadline = time.monotonic() + 20
        while True:
            try:
                found = results()
                break
            except WorkerError:
                assert time.monotonic() < deadline
                time.sleep(0.1)
    finally:
        process.kill()
        process.communicate()
    assert [type(one) for one in found[0]] == [Returned, Returned]
