"""Candidates as values of results, and running them on the inputs of a task, one process per candidate."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import TypeAdapter

from evaluator.arc.grids import Grid, GridError, grid_of, grid_of_letters, letters_of
from evaluator.arc.steps import ENTRY, program_of
from evaluator.core.canonical_json import JsonValue, dumps
from evaluator.sandbox.programs.results import Failed
from evaluator.sandbox.programs.runner import Program, Runner
from evaluator.sandbox.programs.wire import Failure

_ANY: TypeAdapter[Any] = TypeAdapter(Any)


class Track(StrEnum):
    """Form of a candidate."""

    PROGRAM = "program"
    """A function of the grid, in restricted Python."""
    STEPS = "steps"
    """A sequence of calls of the helpers."""
    GRIDS = "grids"
    """The outputs of the test inputs themselves."""


_BEGINNINGS = tuple(f'{{"{track}":' for track in Track)


@dataclass(frozen=True, slots=True)
class ArcCandidate:
    """A candidate: the value of a result, which answers and later actions refer to."""

    track: Track
    content: JsonValue
    """The program's text, the list of the steps' expressions, or the list of grids of integers."""

    @property
    def is_run(self) -> bool:
        """Whether it is a program, or steps."""
        return self.track is not Track.GRIDS

    def text(self) -> str:
        """The value of a result."""
        return dumps({str(self.track): self.content})


def candidate_of_value(value: str) -> ArcCandidate | None:
    """The candidate in the value of a result; None for other values."""
    if not value.startswith(_BEGINNINGS):
        return None
    ((track, content),) = json.loads(value).items()
    return ArcCandidate(Track(track), content)


@dataclass(frozen=True, slots=True)
class Wrong:
    """Reason for a missing output."""

    failure: Failure
    message: str
    """One sentence."""
    line: int | None = None
    """Line of the program, or number of the step, from 1."""

    def sentence(self) -> str:
        """The message with its line, for planners."""
        return self.message if self.line is None else f"Line {self.line}: {self.message}"


Output = Grid | Wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A candidate with the grids to apply it to."""

    candidate: ArcCandidate
    demonstrations: Sequence[Grid]
    tests: Sequence[Grid]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The outputs of a candidate."""

    demonstrations: tuple[Output, ...]
    """Empty for a candidate of the grids track."""
    tests: tuple[Output, ...]

    @property
    def fault(self) -> Wrong | None:
        """The infrastructure fault that kept the program from running, if any."""
        outputs = (*self.demonstrations, *self.tests)
        wrong = (output for output in outputs if isinstance(output, Wrong))
        return next((output for output in wrong if output.failure is Failure.UNAVAILABLE), None)

    @property
    def refusal(self) -> Wrong | None:
        """Why the program cannot run on any input; None if it can."""
        whole = {Failure.SYNTAX, Failure.REFUSED, Failure.ENTRY}
        first = next(iter((*self.demonstrations, *self.tests)), None)
        return first if isinstance(first, Wrong) and first.failure in whole else None


def run_all(works: Sequence[Work], *, runner: Runner) -> list[Outputs]:
    """The outputs of each candidate."""
    programs = []
    for work in works:
        if work.candidate.is_run:
            content = work.candidate.content
            source = program_of([str(line) for line in content]) if isinstance(content, list) else str(content)
            inputs: list[list[JsonValue]] = [
                [[list[JsonValue](row) for row in letters_of(grid)]] for grid in (*work.demonstrations, *work.tests)
            ]
            # The paper's rule: a tuple, as `zip` makes them, is not a row of a grid.
            programs.append(Program(source=source, entry=ENTRY, calls=inputs, tuples=False))
    results = iter(runner.run(programs, schema=_ANY))
    return [_run_outputs(next(results), work=work) if work.candidate.is_run else _own_grids(work) for work in works]


def _run_outputs(results: Sequence[Any], *, work: Work) -> Outputs:
    # The program of steps begins with the line of the function's name.
    lines_before = int(work.candidate.track is Track.STEPS)
    outputs: list[Output] = []
    for result in results:
        if isinstance(result, Failed):
            line = None if result.line is None else max(1, result.line - lines_before)
            outputs.append(Wrong(result.failure, result.message, line))
        else:
            outputs.append(_grid_or_wrong(grid_of_letters, result.value))
    count = len(work.demonstrations)
    return Outputs(demonstrations=tuple(outputs[:count]), tests=tuple(outputs[count:]))


def _own_grids(work: Work) -> Outputs:
    content = work.candidate.content
    grids = (content if isinstance(content, list) else [])[: len(work.tests)]
    lacking = Wrong(Failure.RESULT, "There is no grid for this test input.")
    tests = [_grid_or_wrong(grid_of, grid, name=f"grid {number}") for number, grid in enumerate(grids, start=1)]
    return Outputs(demonstrations=(), tests=(*tests, *[lacking] * (len(work.tests) - len(tests))))


def _grid_or_wrong(read: Callable[..., Grid], value: object, **options: str) -> Output:
    try:
        return read(value, **options)
    except GridError as error:
        return Wrong(Failure.RESULT, sentence(error))


def sentence(error: Exception) -> str:
    """An error message that is a clause, as a sentence."""
    return f"{str(error)[:1].upper()}{str(error)[1:]}."
