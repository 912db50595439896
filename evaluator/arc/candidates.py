"""Candidates as values of results, and running them on the inputs of a task, in one process for each candidate."""

import json
from collections.abc import Sequence
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


class Track(StrEnum):
    """How a candidate says what the outputs are."""

    PROGRAM = "program"
    """A function of the grid, in restricted Python."""
    STEPS = "steps"
    """Calls of the helpers, one after the other."""
    GRIDS = "grids"
    """The outputs of the test inputs themselves."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A candidate."""

    track: Track
    content: JsonValue
    """The program's text, the list of the steps' expressions, or the list of grids of integers."""

    def text(self) -> str:
        """As the value of a result."""
        return dumps({str(self.track): self.content})


def kept_of(value: str) -> Kept | None:
    """The candidate that a result is; None if it is none."""
    if not value.startswith(_BEGINNINGS):
        return None
    ((track, content),) = json.loads(value).items()
    return Kept(Track(track), content)


_BEGINNINGS = tuple(f'{{"{track}":' for track in Track)


_ANY: TypeAdapter[Any] = TypeAdapter(Any)


@dataclass(frozen=True, slots=True)
class Wrong:
    """Why there is no output."""

    failure: Failure
    message: str
    """One sentence."""
    line: int | None = None
    """Of the program, or the number of the step, from 1."""

    def sentence(self) -> str:
        """For planners, with the line."""
        return self.message if self.line is None else f"Line {self.line}: {self.message}"


Output = Grid | Wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A candidate with the grids to apply it to."""

    candidate: Kept
    demonstrations: Sequence[Grid]
    tests: Sequence[Grid]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """What a candidate made of each input."""

    demonstrations: tuple[Output, ...]
    """None of a candidate that is output grids."""
    tests: tuple[Output, ...]

    @property
    def fault(self) -> Wrong | None:
        """Why the program could not be run, if that is nobody's fault."""
        outputs = (*self.demonstrations, *self.tests)
        return next((one for one in outputs if isinstance(one, Wrong) and one.failure is Failure.UNAVAILABLE), None)

    @property
    def refusal(self) -> Wrong | None:
        """Why the program does not run at all; None if it does."""
        whole = {Failure.SYNTAX, Failure.REFUSED, Failure.ENTRY}
        first = next(iter((*self.demonstrations, *self.tests)), None)
        return first if isinstance(first, Wrong) and first.failure in whole else None


def run_all(works: Sequence[Work], *, runner: Runner) -> list[Outputs]:
    """What each candidate makes of its grids."""
    programs = [_program(work) for work in works if work.candidate.track is not Track.GRIDS]
    ran = iter(runner.run(programs, schema=_ANY))
    return [_given(work) if work.candidate.track is Track.GRIDS else _made(next(ran), work=work) for work in works]


def _program(work: Work) -> Program:
    content = work.candidate.content
    if work.candidate.track is Track.STEPS:
        assert isinstance(content, list)
        source = program_of([str(one) for one in content])
    else:
        source = str(content)
    grids = (*work.demonstrations, *work.tests)
    # The paper's rule: a row that is a tuple, as `zip` makes them, is no row of a grid.
    return Program(source=source, entry=ENTRY, calls=[[_as_json(grid)] for grid in grids], tuples=False)


def _as_json(grid: Grid) -> list[JsonValue]:
    return [list[JsonValue](row) for row in letters_of(grid)]


def _made(results: Sequence[Any], *, work: Work) -> Outputs:
    # Steps are numbered from 1; before their first line is that with the function's name.
    before = int(work.candidate.track is Track.STEPS)
    outputs = tuple(_output(result, lines_before=before) for result in results)
    count = len(work.demonstrations)
    return Outputs(demonstrations=outputs[:count], tests=outputs[count:])


def _output(result: Any, *, lines_before: int) -> Output:
    if isinstance(result, Failed):
        line = None if result.line is None else max(1, result.line - lines_before)
        return Wrong(result.failure, result.message, line)
    try:
        return grid_of_letters(result.value)
    except GridError as error:
        return Wrong(Failure.RESULT, f"{str(error)[:1].upper()}{str(error)[1:]}.")


def _given(work: Work) -> Outputs:
    """The grids themselves: one for each test input."""
    content = work.candidate.content
    given = content if isinstance(content, list) else []
    lacking = Wrong(Failure.RESULT, "There is no grid for this test input.")
    tests = [_grid(one, number=number) for number, one in enumerate(given[: len(work.tests)], start=1)]
    return Outputs(demonstrations=(), tests=(*tests, *[lacking] * (len(work.tests) - len(tests))))


def _grid(value: object, *, number: int) -> Output:
    try:
        return grid_of(value, name=f"grid {number}")
    except GridError as error:
        return Wrong(Failure.RESULT, f"{str(error)[:1].upper()}{str(error)[1:]}.")
