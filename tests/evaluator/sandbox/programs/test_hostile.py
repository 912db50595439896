"""Each layer contains every hostile program by itself, and answers it with a sentence."""

import json

import pytest

from evaluator.sandbox.programs.results import Failed, Returned
from evaluator.sandbox.programs.runner import ALL_LAYERS, Program, Runner
from evaluator.sandbox.programs.wire import Failure, Layer, Limits
from evaluator.sandbox.programs.worker import Worker
from tests.evaluator.sandbox.programs.canaries import HELPERS, SECRET, canaries, processes_of
from tests.evaluator.sandbox.programs.corpus import ALL, FAMILIES
from tests.rings import usual

SLOW = {
    "memory": ("list in place", "list by a comprehension", "dict", "set", "text by replace", "text by zfill",
               "integer by powers", "shared list returned", "bytearray"),
    "time": ("loop", "comprehension", "sorted key", "recursion", "deep list compared", "counting texts", "sleep",
             "signals ignored", "exceptions swallowed"),
}  # fmt: skip
"""Of families whose programs take up to a second each, those that every run has."""
LANGUAGE = frozenset({Layer.LANGUAGE})
LIMITS = Limits(wall_seconds=1.2, memory_bytes=256 * 1024 * 1024)
NEIGHBOUR = Program(
    source="def neighbour(x):\n    return [helper(1, x), SIZE, len([x])]\n", entry="neighbour", calls=[[2]]
)
HARMLESS = {
    "language: exceptions as values": 2,
    "language: patched helper": [["patched"]],
    "language: patched constant": 99,
    "language: patched helper for a later call": 1,
    "language: shadowed function": 99,
    "language: changed argument": [[1, 1], [1, 1]],
    "language: deep comparison": 1,
    "language: recursive list returned": 1,
    "language: step by another name": 1,
}
"""What the language allows since it only affects the program itself, and its answer."""


def own(runner, program):
    """The result of a program, checked for what holds for each, and of its neighbour."""
    [[result], [after]] = runner.run([program, NEIGHBOUR])
    assert after.value == [[[".", "."]], 3, 1]
    if isinstance(result, Failed):
        assert result.message.endswith(".")
        assert result.message.isprintable()
        assert result.failure in Failure
    assert SECRET not in repr(result)
    return result


def part(family, *, full):
    """Programs of a family that this run takes, by name."""
    programs = FAMILIES[family]
    return list(programs.items()) if full else [(name, programs[name]) for name in SLOW.get(family, programs)]


@pytest.mark.parametrize("layers", [ALL_LAYERS, pytest.param(LANGUAGE, marks=pytest.mark.full)], ids=["all", "one"])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_language_refuses_or_bounds_every_hostile_program(family, layers, full):
    with canaries() as placed, Runner(library=[HELPERS], layers=layers, limits=LIMITS, workers=1) as runner:
        for name, text in part(family, full=full):
            called = f"{family}: {name}"
            result = own(runner, Program(source=placed.program(text)))
            assert placed.disturbed() == [], called
            if called in HARMLESS:
                assert isinstance(result, Returned), called
                assert result.value == HARMLESS[called], called
            else:
                assert isinstance(result, Failed), (called, result)
                assert result.failure not in {Failure.LOST, Failure.UNAVAILABLE}, (called, result)


@pytest.mark.parametrize("family", usual(FAMILIES, of=("system", "walking")))
def test_the_process_contains_every_hostile_program_that_no_one_has_checked(family, full):
    layers = ALL_LAYERS - LANGUAGE
    with canaries() as placed, Runner(library=[HELPERS], layers=layers, limits=LIMITS, workers=1) as runner:
        process = runner.processes()[0]
        for name, text in part(family, full=full):
            own(runner, Program(source=placed.program(text)))
            assert placed.disturbed() == [], name
            assert processes_of(process) == [], name
            # The process that forks them is still the first one: none was lost.
            assert runner.processes() == [process], name


@pytest.mark.full
def test_the_language_alone_bounds_memory(full):
    """Within a gibibyte, in a process that has no limit."""
    worker = Worker(layers=LANGUAGE, limits=LIMITS, library=[HELPERS])
    try:
        for name, text in part("memory", full=full):
            request = json.dumps({"source": text, "entry": None, "calls": ["[]"]})
            _, ending = worker.run(request, most_bytes=LIMITS.answer_bytes)
            assert ending.peak_kib < 1024 * 1024, name
    finally:
        worker.close()


def test_the_corpus_has_what_it_promises():
    assert len(ALL) >= 120
    assert HARMLESS.keys() <= ALL.keys()


@pytest.mark.parametrize(
    "name",
    usual(
        ["read", "write", "connect", "kill the victim", "environment by ctypes", "list"],
        of=("read", "connect", "environment by ctypes"),
    ),
)
def test_the_canaries_notice_programs_that_nothing_confines(name):
    """Without any layer these succeed, so that the tests above can fail."""
    with canaries() as placed, Runner(layers=frozenset(), limits=LIMITS, workers=1) as runner:
        [[result]] = runner.run([Program(source=placed.program(FAMILIES["system"][name]))])
        if name == "kill the victim":
            # A signal is only sent by then; it ends the victim when the kernel next runs it.
            placed.victim.wait(timeout=30)
        reached = placed.disturbed() or SECRET in repr(result) or "secret" in repr(result)
        # Even then the environment is empty.
        assert bool(reached) == (name != "environment by ctypes")
