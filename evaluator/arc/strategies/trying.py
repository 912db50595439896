"""Running the agents' programs on what planners are given: demonstrations, and the inputs of tests."""

import threading
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from evaluator.arc.candidates.kept import Kept, Track
from evaluator.arc.candidates.running import Outputs, Work, run_all
from evaluator.arc.grids import Grid
from evaluator.arc.helpers.source import library
from evaluator.arc.strategies.sampling import Sample

if TYPE_CHECKING:
    from evaluator.sandbox.programs.runner import Runner


class ProgramsUnavailableError(Exception):
    """Programs could not be run: nobody's fault."""


class Trials:
    """Processes for programs, confined as the suite's own. They start with the first program."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._runner: Runner | None = None
        self._starting = threading.Lock()

    def run(self, written: Sequence[tuple[Sample, str]]) -> None:
        """Run each sample's new program on its inputs, and tell the sample; then those of all steps together.

        Raises:
            ProgramsUnavailableError: they cannot be run here.
        """
        made = self._make([(program, sample.inputs, len(sample.demonstrations)) for sample, program in written])
        whole = [
            (sample, program)
            for (sample, _), outputs in zip(written, made, strict=True)
            if (program := sample.learn(outputs)) is not None
        ]
        own = [(program, _own_inputs(sample), len(sample.demonstrations)) for sample, program in whole]
        for (sample, program), outputs in zip(whole, self._make(own), strict=True):
            sample.confirm(program, outputs=outputs)

    def _make(self, programs: Sequence[tuple[str, Sequence[Grid], int]]) -> list[Outputs]:
        works = [
            Work(candidate=Kept(Track.PROGRAM, program), demonstrations=inputs[:count], tests=inputs[count:])
            for program, inputs, count in programs
        ]
        if not works:
            return []
        made = run_all(works, runner=self._running())
        fault = next((outputs.fault for outputs in made if outputs.fault is not None), None)
        if fault is not None:
            raise ProgramsUnavailableError(fault.message)
        return made

    def _running(self) -> "Runner":
        with self._starting:
            if self._runner is None:
                from evaluator.sandbox.programs.runner import Runner
                from evaluator.sandbox.programs.support import support

                support().require()
                self._runner = self._open.enter_context(Runner(library=[library()]))
            return self._runner


def _own_inputs(sample: Sample) -> tuple[Grid, ...]:
    return (*(pair.input for pair in sample.demonstrations), *sample.test_inputs)
