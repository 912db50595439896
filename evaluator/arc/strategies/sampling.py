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
    lines, calls = [], []
    for number, program in enumerate(programs, start=1):
        try:
            body = ast.unparse(parse_module(program))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise ComposeError(f"one of the programs is no Python: {error}") from None
        # Only docstrings have line breaks after that, so that no other text changes.
        lines += [f"def step_{number}(grid):", *(_INDENT + line for line in body.split("\n"))]
        lines.append(f"{_INDENT}return {ENTRY}(grid)")
        calls.append(f"{_INDENT}grid = step_{number}(grid)")
    return "\n".join([*lines, f"def {ENTRY}(grid):", *calls, f"{_INDENT}return grid"])


_MOST_CHARACTERS = 4000
"""Of an unreadable reply in the notes."""


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
    _reply: Reply | None = None
    _text: str = ""

    @property
    def is_open(self) -> bool:
        """Whether it may be asked again."""
        return not self.solution and len(self.replies) < self.loops

    @property
    def inputs(self) -> tuple[Grid, ...]:
        """What the next program is applied to: of the demonstrations, then of the tests."""
        return self._inputs or self.own_inputs

    @property
    def own_inputs(self) -> tuple[Grid, ...]:
        """The inputs of the demonstrations, then of the tests."""
        return (*(pair.input for pair in self.demonstrations), *self.test_inputs)

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

    def take_reply(self, text: str) -> str | None:
        """Take a reply. Returns the program to run on `inputs`; None where there is none."""
        self._text = text
        try:
            self._reply = read_reply(text)
        except ReplyError as error:
            self._note(End.UNREADABLE, problem=str(error))
            self._correct(f"Your answer cannot be read: {error}.")
            return None
        return self._reply.program

    def take_outputs(self, outputs: Outputs) -> str | None:
        """Take what the program made of `inputs`. Returns a program of all steps that is to be checked on the
        demonstrations' own inputs; None if it does not give their outputs."""
        assert self._reply is not None
        found = (*outputs.demonstrations, *outputs.tests)
        wrong = next((output for output in found if isinstance(output, Wrong)), None)
        rights = [pair.output for pair in self.demonstrations]
        try:
            whole = composed([*self._programs, self._reply.program])
        except ComposeError:
            whole = ""
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
        self._programs.append(self._reply.program)
        self._patterns.append(self._reply.prose.get("overall_pattern", ""))
        self._inputs, self._messages = tuple(grid for grid in found if not isinstance(grid, Wrong)), ()
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

    def _correct(self, problem: str, *, outputs: Sequence[Output] = ()) -> None:
        rights = [pair.output for pair in self.demonstrations]
        correction = self.style.correction(reply=self._text, problem=problem, outputs=outputs, rights=rights)
        # Of a long exchange only the request and the last reply: corrections do not pile up.
        self._messages = (self.messages()[0], *correction)

    def _note(self, end: End, *, problem: str = "") -> None:
        if self._reply is None or end is End.UNREADABLE:
            note: dict[str, JsonValue] = {"end": str(end), "text": self._text[:_MOST_CHARACTERS]}
        else:
            note = {"end": str(end), "program": self._reply.program, **self._reply.prose}
        self.replies.append(note | ({"problem": problem} if problem else {}))


class ProgramsUnavailableError(Exception):
    """Programs could not be run: nobody's fault."""


class Trials:
    """Processes for programs, confined as the suite's own. They start with the first program."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._runner: Runner | None = None
        self._starting = threading.Lock()

    def run(self, programs: Sequence[tuple[Sample, str]]) -> None:
        """Run each sample's new program on its inputs, and tell the sample; then those of all steps together.

        Raises:
            ProgramsUnavailableError: they cannot be run here.
        """
        whole = []
        for (sample, _), outputs in zip(
            programs, self._outputs([(sample, program, sample.inputs) for sample, program in programs]), strict=True
        ):
            if (program := sample.take_outputs(outputs)) is not None:
                whole.append((sample, program))
        own = [(sample, program, sample.own_inputs) for sample, program in whole]
        for (sample, program), outputs in zip(whole, self._outputs(own), strict=True):
            sample.confirm(program, outputs=outputs)

    def _outputs(self, programs: Sequence[tuple[Sample, str, Sequence[Grid]]]) -> list[Outputs]:
        if not programs:
            return []
        with self._starting:
            if self._runner is None:
                from evaluator.sandbox.programs.runner import Runner
                from evaluator.sandbox.programs.support import support

                support().require()
                self._runner = self._open.enter_context(Runner(library=[library()]))
        works = []
        for sample, program, inputs in programs:
            count = len(sample.demonstrations)
            candidate = ArcCandidate(Track.PROGRAM, program)
            works.append(Work(candidate=candidate, demonstrations=inputs[:count], tests=inputs[count:]))
        outputs = run_all(works, runner=self._runner)
        fault = next((one.fault for one in outputs if one.fault is not None), None)
        if fault is not None:
            raise ProgramsUnavailableError(fault.message)
        return outputs
