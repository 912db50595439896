"""The pool of processes: results are checked, neighbours undisturbed, lost processes replaced, speed sufficient."""

import os
import signal
from typing import Annotated

import psutil
import pytest
from pydantic import Field, TypeAdapter

from evaluator.sandbox.programs.results import Failed, Returned, read_results
from evaluator.sandbox.programs.runner import ALL_LAYERS, Program, Runner
from evaluator.sandbox.programs.support import ALLOW_UNCONFINED, Support, UnconfinedError, support
from evaluator.sandbox.programs.wire import Failure, Layer, Limits
from evaluator.sandbox.programs.worker import Ending, Worker, WorkerError
from tests.rings import usual

UNCHECKED = ALL_LAYERS - {Layer.LANGUAGE}
GRID = TypeAdapter(list[list[Annotated[str, Field(pattern="^[.a-j$]$")]]])
ENDED = Ending(code=0, late=False, peak_kib=1)


def test_values_must_satisfy_the_schema():
    programs = [Program(source=source) for source in ("[['a']]", "[['aa']]", "[['a'], [1]]", "'a'", "(('a',),)")]
    with Runner(workers=1) as runner:
        [[good], [bad], [number], [text], [tuples]] = runner.run(programs, schema=GRID)
    assert (good.value, tuples.value) == ([["a"]], [["a"]])
    assert bad.message.startswith("The result[0][0] is not as expected: String should match pattern")
    assert number.message == "The result[1][0] is not as expected: Input should be a valid string."
    assert text.message == "The result is not as expected: Input should be a valid list."
    assert {bad.failure, number.failure, text.failure} == {Failure.RESULT}


@pytest.mark.parametrize(
    "line",
    [
        b"", b"{}", b"[]", b"[" * 100_000, b'{"value": NaN, "steps": 1}', b'{"value": Infinity, "steps": 1}',
        b'{"value": 1}', b'{"value": 1, "steps": -1}', b'{"value": 1, "steps": "1"}',
        b'{"value": 1, "steps": 1, "x": 1}', b'{"value": "\\ud800", "steps": 1}', b"\xff\xfe", b"1" * 9999,
        b'{"value": ' + b"[" * 70 + b"]" * 70 + b', "steps": 1}',
        b'{"failure": "unknown", "message": "x", "line": 1, "steps": 1}',
        b'{"failure": "steps", "message": "", "line": 1, "steps": 1}',
        b'{"failure": "steps", "message": "x", "line": 0, "steps": 1}',
        b'{"failure": "steps", "message": "' + b"x" * 2000 + b'", "line": 1, "steps": 1}',
        b'{"value": "' + b"x" * 200_000 + b'", "steps": 1}',
    ],
)  # fmt: skip
def test_lines_of_a_process_that_was_taken_over_become_failures(line):
    read = read_results(line + b"\n", ending=ENDED, calls=1, most_bytes=150_000, schema=TypeAdapter(object))
    [result] = read
    assert isinstance(result, Failed)
    assert result.failure is Failure.RESULT


def test_control_characters_of_a_message_are_replaced():
    line = b'{"failure": "error", "message": "\\u001b[2Jx", "line": 1, "steps": 1}\n'
    [result] = read_results(line, ending=ENDED, calls=1, most_bytes=1000, schema=TypeAdapter(object))
    assert result.message == "?[2Jx"


def test_a_program_outside_of_the_language_forges_its_own_results_only():
    forger = 'import os\nos.write(3, b\'{"value": 666, "steps": 1}\\n\' * 100)\nos._exit(0)\n'
    honest = Program(source="def f(x):\n    return x\n", entry="f", calls=[[1], [2]])
    with Runner(layers=UNCHECKED, workers=2) as runner:
        results = runner.run([honest, Program(source=forger, calls=[[], []]), honest] * 5)
    for place, [one, two] in enumerate(results):
        assert (one.value, two.value) == ((666, 666) if place % 3 == 1 else (1, 2))


def test_calls_that_finished_keep_their_values_when_a_later_one_takes_too_long():
    source = "def f(x):\n    while x:\n        pass\n    return x\n"
    with Runner(layers=UNCHECKED, limits=Limits(wall_seconds=0.5), workers=1) as runner:
        [[first, second, third]] = runner.run([Program(source=source, entry="f", calls=[[0], [1], [0]])])
    assert first == Returned(0, 0)
    assert (second.failure, third.failure) == (Failure.TIME, Failure.TIME)
    assert second.message == "The program took too much time."


def test_a_lost_process_costs_one_program_and_is_replaced():
    with Runner(workers=1) as runner:
        [process] = runner.processes()
        os.kill(process, signal.SIGKILL)
        psutil.Process(process).wait(5)
        [[lost]] = runner.run([Program(source="1")])
        [[after]] = runner.run([Program(source="2")])
        assert lost.failure is Failure.UNAVAILABLE
        assert lost.message.startswith("The process of programs was lost: ")
        assert after.value == 2
        assert runner.processes() != [process]


def test_all_processes_end_with_the_runner():
    with Runner(workers=2) as runner:
        runner.run([Program(source="1")] * 20)
        processes = runner.processes()
        assert processes
    assert not [one for one in processes if psutil.pid_exists(one)]


def test_an_exception_in_a_library_is_reported_at_the_start():
    with pytest.raises(WorkerError, match=r"the library raises ZeroDivisionError\('division by zero'\)"):
        Runner(library=["1 / 0"]).__enter__()


def test_the_process_has_no_environment_no_descriptors_and_no_rights():
    source = (
        "import os, resource\n"
        "held = [d for d in range(3, 64) if d != 3]\n"
        "opened = []\n"
        "for d in [0, 1, 2, *held]:\n"
        "    try:\n"
        "        os.write(d, b'')\n"
        "        opened.append(d)\n"
        "    except OSError:\n"
        "        pass\n"
        "kinds = ('RLIMIT_FSIZE', 'RLIMIT_NPROC', 'RLIMIT_CORE', 'RLIMIT_NOFILE')\n"
        "[sorted(os.environ), opened, list(kinds)]\n"
    )
    with Runner(layers=UNCHECKED, workers=1) as runner:
        [[result]] = runner.run([Program(source=source)])
        [process] = map(psutil.Process, runner.processes())
        assert process.uids().real != 0
    environment, opened, _ = result.value
    assert set(environment) <= {"PYTHONHASHSEED", "LD_LIBRARY_PATH", "LC_CTYPE"}
    assert opened == []


@pytest.mark.parametrize("missing", usual(sorted(UNCHECKED - {Layer.SECCOMP}), of=[Layer.LANDLOCK]))
def test_a_layer_that_is_left_out_is_not_claimed(missing):
    worker = Worker(layers=UNCHECKED - {missing}, limits=Limits(), library=())
    worker.close()
    assert missing not in worker.layers
    assert worker.layers == UNCHECKED - {missing}


MAPPED = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
for _ in range(64):
    place = libc.mmap(None, 1 << 24, 3, {flags}, -1, 0)
    assert place != ctypes.c_void_p(-1).value, "refused"
    ctypes.memset(place, 1, 1 << 24)
    libc.madvise(ctypes.c_void_p(place), ctypes.c_size_t(1 << 24), 4)
"held"
"""
GREEDY = {
    "memory": "held = bytes([1]) * (1 << 30)\nlen(held)",
    "shared memory that is not present": MAPPED.format(flags="0x21"),
    "memory that grows downwards": MAPPED.format(flags="0x122"),
    "huge pages": MAPPED.format(flags="0x40022"),
    "files in memory": "import os\nos.memfd_create('x')",
    "pipes": "import os\nlen(os.pipe())",
    "processes": "import os\nos.fork() or os._exit(0)",
    "files": "import os\nos.open('/tmp/x', os.O_CREAT | os.O_WRONLY)",
    "locks": "import fcntl\nfcntl.lockf(3, fcntl.LOCK_SH)\n'held'",
    "threads": "import _thread\n[_thread.start_new_thread(print, ()) for _ in range(1000)]\n'held'",
}


def test_a_program_outside_of_the_language_holds_no_more_memory_than_it_may():
    with Runner(layers=UNCHECKED, limits=Limits(memory_bytes=256 * 1024**2), workers=1) as runner:
        ends = {name: runner.run([Program(source=source)])[0][0] for name, source in GREEDY.items()}
    refused = {Failure.MEMORY, Failure.ERROR, Failure.LOST}
    assert {name: end for name, end in ends.items() if not (isinstance(end, Failed) and end.failure in refused)} == {}


def test_this_machine_has_every_layer():
    assert support().layers == ALL_LAYERS
    assert support().missing == {}
    assert support().problem == ""
    support().require()


@pytest.mark.parametrize("layers", [{Layer.SECCOMP, Layer.LIMITS}, ALL_LAYERS - {Layer.LANDLOCK, Layer.NAMESPACES}])
def test_seccomp_and_limits_are_enough(layers):
    Support(frozenset(layers), {}).require()


@pytest.mark.parametrize(
    ("layers", "lacking"),
    [
        (ALL_LAYERS - {Layer.SECCOMP}, "from other processes by"),
        (ALL_LAYERS - {Layer.LIMITS}, "from more than their share of it by"),
        ({Layer.LANGUAGE}, "from files, the network, other processes, more than their share of it by"),
    ],
)
def test_programs_run_unconfined_only_if_the_operator_allows_it(layers, lacking, monkeypatch):
    monkeypatch.delenv(ALLOW_UNCONFINED, raising=False)
    found = Support(frozenset(layers), {Layer.SECCOMP: "no library"})
    with pytest.raises(UnconfinedError, match=lacking):
        found.require()
    assert found.problem in found.line()
    assert "Not available here: seccomp (no library)." in found.line()
    monkeypatch.setenv(ALLOW_UNCONFINED, "1")
    found.require()
    assert f"They run all the same, since {ALLOW_UNCONFINED}=1." in found.line()
