"""Candidates as values of results, and running them on the inputs of a task, in one process for each candidate."""

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
    """How a candidate says what the outputs are."""

    PROGRAM = "program"
    """A function of the grid, in restricted Python."""
    STEPS = "steps"
    """Calls of the helpers, one after the other."""
    GRIDS = "grids"
    """The outputs of the test inputs themselves."""


_BEGINNINGS = tuple(f'{{"{track}":' for track in Track)


@dataclass(frozen=True, slots=True)
class ArcCandidate:
    """A candidate, as the value of a result, from which answers and later actions take it."""

    track: Track
    content: JsonValue
    """The program's text, the list of the steps' expressions, or the list of grids of integers."""

    @property
    def is_run(self) -> bool:
        """Whether it is a program, or steps."""
        return self.track is not Track.GRIDS

    def text(self) -> str:
        """As the value of a result."""
        return dumps({str(self.track): self.content})


def candidate_of_value(value: str) -> ArcCandidate | None:
    """The candidate that a result is; None if it is none."""
    if not value.startswith(_BEGINNINGS):
        return None
    ((track, content),) = json.loads(value).items()
    return ArcCandidate(Track(track), content)


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

    candidate: ArcCandidate
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
    programs = [_program(work) for work in works if work.candidate.is_run]
    results = iter(runner.run(programs, schema=_ANY))
    return [_run_outputs(next(results), work=work) if work.candidate.is_run else _own_grids(work) for work in works]


def _program(work: Work) -> Program:
    content = work.candidate.content
    source = program_of([str(line) for line in content]) if isinstance(content, list) else str(content)
    inputs: list[list[JsonValue]] = [
        [[list[JsonValue](row) for row in letters_of(grid)]] for grid in (*work.demonstrations, *work.tests)
    ]
    # The paper's rule: a row that is a tuple, as `zip` makes them, is no row of a grid.
    return Program(source=source, entry=ENTRY, calls=inputs, tuples=False)


def _run_outputs(results: Sequence[Any], *, work: Work) -> Outputs:
    # Steps are numbered from 1; before their first line is that with the function's name.
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
    """The grids of the candidate itself: one for each test input."""
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
    """The message of an error that is part of a sentence, as a sentence."""
    return f"{str(error)[:1].upper()}{str(error)[1:]}."
