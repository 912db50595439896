"""One sample of an agent: its programs so far, what it is asked next, and running its programs."""

import ast
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from evaluator.arc.candidates import ArcCandidate, Output, Outputs, Track, Work, Wrong, run_all
from evaluator.arc.grids import Demonstration, Grid
from evaluator.arc.helpers.catalogue import library
from evaluator.arc.strategies.agents import Agent
from evaluator.arc.strategies.replies import ENTRY, Reply, ReplyError, read_reply
from evaluator.arc.strategies.styles import PAPER, Style
from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Message
from evaluator.core.process import parse_module

if TYPE_CHECKING:
    from evaluator.sandbox.programs.runner import Runner


_INDENT = "    "


class ComposeError(ValueError):
    """A program that is no Python. The message is part of a sentence."""


def composed(programs: Sequence[str]) -> str:
    """One program that applies all, the first one first.

    Each keeps its functions and names to itself. The released code forgets all but the last two.

    Raises:
        ComposeError: one of several is no Python.
    """
    if len(programs) == 1:
        return programs[0]
    names = [f"step_{number}" for number in range(1, len(programs) + 1)]
    lines = [line for name, program in zip(names, programs, strict=True) for line in _enclosed(name, program)]
    calls = [f"{_INDENT}grid = {name}(grid)" for name in names]
    return "\n".join([*lines, f"def {ENTRY}(grid):", *calls, f"{_INDENT}return grid"])


def _enclosed(name: str, program: str) -> list[str]:
    try:
        body = ast.unparse(parse_module(program))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ComposeError(f"one of the programs is no Python: {error}") from None
    # Only docstrings have line breaks after that, so that no other text changes.
    return [f"def {name}(grid):", *(_INDENT + line for line in body.split("\n")), f"{_INDENT}return {ENTRY}(grid)"]


_MOST_KEPT = 4000


class End(StrEnum):
    """What a reply came to."""

    UNREADABLE = "unreadable"
    ERROR = "error"
    WRONG = "wrong outputs"
    FITS = "fits all demonstrations"


@dataclass(kw_only=True)
class Sample:
    """Goes on until a program fits the demonstrations, or its replies are used up."""

    agent: Agent
    number: int
    demonstrations: Sequence[Demonstration]
    test_inputs: Sequence[Grid]
    loops: int
    style: Style = PAPER
    solution: str = ""
    """A program that fits all demonstrations."""
    best: tuple[int, str] = (-1, "")
    """How many demonstrations the best program gets right, and the program."""
    replies: list[dict[str, JsonValue]] = field(default_factory=list)
    """What was said and what came of it, for the task's page."""
    _messages: tuple[Message, ...] = ()
    _programs: list[str] = field(default_factory=list)
    """Those that ran and were not right: the next one goes on from their outputs."""
    _patterns: list[str] = field(default_factory=list)
    _inputs: tuple[Grid, ...] = ()
    _written: Reply | None = None
    _text: str = ""

    @property
    def is_open(self) -> bool:
        """Whether it may be asked again."""
        return not self.solution and len(self.replies) < self.loops

    @property
    def inputs(self) -> tuple[Grid, ...]:
        """What the next program is applied to: of the demonstrations, then of the tests."""
        return self._inputs or (*(pair.input for pair in self.demonstrations), *self.test_inputs)

    def messages(self) -> tuple[Message, ...]:
        """What the model is asked next."""
        if not self._messages:
            count = len(self.demonstrations)
            pairs = [
                Demonstration(input=grid, output=pair.output)
                for grid, pair in zip(self.inputs[:count], self.demonstrations, strict=True)
            ]
            self._messages = self.style.first(
                agent=self.agent, demonstrations=pairs, test_inputs=self.inputs[count:], before=self._patterns
            )
        return self._messages

    def hear(self, text: str) -> str | None:
        """Take a reply. Returns the program to run on `inputs`; None where there is none."""
        self._text = text
        try:
            self._written = read_reply(text)
        except ReplyError as error:
            self._note(End.UNREADABLE, problem=str(error))
            self._correct(f"Your answer cannot be read: {error}.")
            return None
        return self._written.program

    def learn(self, outputs: Outputs) -> str | None:
        """Take what the program made of `inputs`. Returns a program of all steps that is to be checked on the
        demonstrations' own inputs; None if it does not give their outputs."""
        assert self._written is not None
        found = (*outputs.demonstrations, *outputs.tests)
        wrong = next((one for one in found if isinstance(one, Wrong)), None)
        rights = [pair.output for pair in self.demonstrations]
        whole = self._whole()
        passed = sum(output == right for output, right in zip(outputs.demonstrations, rights, strict=True))
        if passed > self.best[0] and whole:
            self.best = (passed, whole)
        if wrong is not None or not whole:
            problem = wrong.sentence() if wrong is not None else "The programs cannot be put together."
            self._note(End.ERROR, problem=problem)
            self._correct(f"The program fails. {problem}", outputs=outputs.demonstrations)
            return None
        if passed == len(rights):
            return whole
        self._note(End.WRONG)
        if not self.style.continues:
            self._correct("The program gives wrong outputs.", outputs=outputs.demonstrations)
            return None
        self._go_on(tuple(one for one in found if not isinstance(one, Wrong)))
        return None

    def confirm(self, program: str, *, outputs: Outputs) -> None:
        """Take what all steps together make of the demonstrations' own inputs."""
        rights = tuple(pair.output for pair in self.demonstrations)
        if outputs.demonstrations == rights:
            self.solution = program
            self._note(End.FITS)
            return
        self._note(End.ERROR, problem="The steps give something else together than one after the other.")
        self._correct(
            "The program fails where it is applied directly after the earlier ones.", outputs=outputs.demonstrations
        )

    def _whole(self) -> str:
        assert self._written is not None
        try:
            return composed([*self._programs, self._written.program])
        except ComposeError:
            return ""

    def _go_on(self, outputs: tuple[Grid, ...]) -> None:
        assert self._written is not None
        self._programs.append(self._written.program)
        self._patterns.append(self._written.prose.get("overall_pattern", ""))
        self._inputs, self._messages = outputs, ()

    def _correct(self, problem: str, *, outputs: Sequence[Output] = ()) -> None:
        rights = [pair.output for pair in self.demonstrations]
        told = self.style.correction(reply=self._text, problem=problem, outputs=outputs, rights=rights)
        # Of a long exchange only the request and the last reply: corrections do not pile up.
        self._messages = (self.messages()[0], *told)

    def _note(self, end: End, *, problem: str = "") -> None:
        prose: dict[str, JsonValue] = dict(self._written.prose) if self._written and end is not End.UNREADABLE else {}
        program = self._written.program if self._written and end is not End.UNREADABLE else self._text[:_MOST_KEPT]
        self.replies.append(
            {"end": str(end), "text" if end is End.UNREADABLE else "program": program, **prose}
            | ({"problem": problem} if problem else {})
        )


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
            Work(candidate=ArcCandidate(Track.PROGRAM, program), demonstrations=inputs[:count], tests=inputs[count:])
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
