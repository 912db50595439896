"""Generated programs: each is answered, none is lost, and no process is."""

from collections import Counter

import pytest

from evaluator.sandbox.programs.results import Failed, Returned
from evaluator.sandbox.programs.runner import ALL_LAYERS, Program, Runner
from evaluator.sandbox.programs.wire import Failure, Layer, Limits
from tests.evaluator.sandbox.programs.canaries import HELPERS, SECRET, canaries
from tests.evaluator.sandbox.programs.generating import generated

USUAL, MANY = 300, 20_000
BATCH = 150
CONTROL = Program(source="helper(1, SIZE)")
LIMITS = Limits(steps=200_000, memory_bytes=256 * 1024 * 1024)


def run_all(runner, seeds):
    """How many programs had which end; each batch also has a program whose result is known."""
    ends = Counter()
    for first in range(seeds.start, seeds.stop, BATCH):
        batch = range(first, min(first + BATCH, seeds.stop))
        results = runner.run([*[Program(source=generated(seed)) for seed in batch], CONTROL])
        assert results[-1][0].value == [[".", ".", "."]]
        for seed, [result] in zip(batch, results, strict=False):
            assert isinstance(result, Returned | Failed), seed
            assert SECRET not in repr(result), seed
            if isinstance(result, Failed):
                assert result.failure not in {Failure.LOST, Failure.UNAVAILABLE}, (seed, result, generated(seed))
                assert result.message.endswith("."), seed
            ends[result.failure.value if isinstance(result, Failed) else "returned"] += 1
    return ends


@pytest.mark.timeout(4 * 3600)
def test_generated_programs_are_all_answered_and_no_process_is_lost(full):
    seeds = range(MANY if full else USUAL)
    with canaries() as placed, Runner(library=[HELPERS], limits=LIMITS, workers=1) as runner:
        [process] = runner.processes()
        ends = run_all(runner, seeds)
        assert runner.processes() == [process]
        assert placed.disturbed() == []
    assert ends.total() == len(seeds)
    # The generator tries what is allowed and what is not.
    assert min(ends[end] for end in ("returned", "refused", "error")) > len(seeds) / 50


@pytest.mark.full
def test_generated_programs_that_nobody_has_checked_reach_nothing():
    limits = Limits(cpu_seconds=1, wall_seconds=1.2, memory_bytes=256 * 1024 * 1024)
    layers = ALL_LAYERS - {Layer.LANGUAGE}
    with canaries() as placed, Runner(library=[HELPERS], limits=limits, layers=layers, workers=1) as runner:
        [process] = runner.processes()
        runner.run([Program(source=generated(seed)) for seed in range(300)])
        assert runner.processes() == [process]
        assert runner.run([CONTROL])[0][0].value == [[".", ".", "."]]
        assert placed.disturbed() == []
