"""One sample of an agent: its programs so far, its next prompt, and running its programs."""

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
    """A program that is not valid Python. The message is a clause."""


def composed(programs: Sequence[str]) -> str:
    """One program that applies all in order.

    Each program has its own namespace. The released code composes only the last two.

    Raises:
        ComposeError: one of several programs is not valid Python.
    """
    if len(programs) == 1:
        return programs[0]
    lines, calls = [], []
    for number, program in enumerate(programs, start=1):
        try:
            body = ast.unparse(parse_module(program))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise ComposeError(f"one of the programs is no Python: {error}") from None
        # After `unparse` only docstrings span lines, so that indenting changes no other string.
        lines += [f"def step_{number}(grid):", *(_INDENT + line for line in body.split("\n"))]
        lines.append(f"{_INDENT}return {ENTRY}(grid)")
        calls.append(f"{_INDENT}grid = step_{number}(grid)")
    return "\n".join([*lines, f"def {ENTRY}(grid):", *calls, f"{_INDENT}return grid"])


_MOST_CHARACTERS = 4000
"""Maximum length of an unreadable reply in the notes."""


class End(StrEnum):
    """Outcome of a reply."""

    UNREADABLE = "unreadable"
    ERROR = "error"
    WRONG = "wrong outputs"
    FITS = "fits all demonstrations"


@dataclass(kw_only=True)
class Sample:
    """Continues until a program fits the demonstrations, or the maximum number of replies is reached."""

    agent: Agent
    number: int
    demonstrations: Sequence[Demonstration]
    test_inputs: Sequence[Grid]
    loops: int
    style: Style = PAPER
    solution: str = ""
    """A program that fits all demonstrations."""
    best: tuple[int, str] = (-1, "")
    """Number of demonstrations that the best program gets right, and the program."""
    replies: list[dict[str, JsonValue]] = field(default_factory=list)
    """Replies and their outcomes, for the task's page."""
    _messages: tuple[Message, ...] = ()
    _programs: list[str] = field(default_factory=list)
    """Programs that ran with wrong outputs, from which the next one continues."""
    _patterns: list[str] = field(default_factory=list)
    _inputs: tuple[Grid, ...] = ()
    _reply: Reply | None = None
    _text: str = ""

    @property
    def is_open(self) -> bool:
        """Whether it needs another reply."""
        return not self.solution and len(self.replies) < self.loops

    @property
    def inputs(self) -> tuple[Grid, ...]:
        """Inputs of the next program: of the demonstrations, then of the tests."""
        return self._inputs or self.own_inputs

    @property
    def own_inputs(self) -> tuple[Grid, ...]:
        """The inputs of the demonstrations, then of the tests."""
        return (*(pair.input for pair in self.demonstrations), *self.test_inputs)

    def messages(self) -> tuple[Message, ...]:
        """The next request to the model."""
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
        """Process a reply. Returns the program to run on `inputs`, if there is one."""
        self._text = text
        try:
            self._reply = read_reply(text)
        except ReplyError as error:
            self._note(End.UNREADABLE, problem=str(error))
            self._correct(f"Your answer cannot be read: {error}.")
            return None
        return self._reply.program

    def take_outputs(self, outputs: Outputs) -> str | None:
        """Process the program's outputs for `inputs`. If they fit the demonstrations, returns the program of all steps,
        which must be checked on the demonstrations' original inputs."""
        assert self._reply is not None
        results = (*outputs.demonstrations, *outputs.tests)
        wrong = next((output for output in results if isinstance(output, Wrong)), None)
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
        self._inputs, self._messages = tuple(grid for grid in results if not isinstance(grid, Wrong)), ()
        return None

    def confirm(self, program: str, *, outputs: Outputs) -> None:
        """Process the outputs of the program of all steps for the demonstrations' original inputs."""
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
        # Only the request and the last reply, so that corrections do not accumulate.
        self._messages = (self.messages()[0], *correction)

    def _note(self, end: End, *, problem: str = "") -> None:
        if self._reply is None or end is End.UNREADABLE:
            note: dict[str, JsonValue] = {"end": str(end), "text": self._text[:_MOST_CHARACTERS]}
        else:
            note = {"end": str(end), "program": self._reply.program, **self._reply.prose}
        self.replies.append(note | ({"problem": problem} if problem else {}))


class ProgramsUnavailableError(Exception):
    """Programs could not be run, because of the infrastructure."""


class Trials:
    """Runs programs in the sandbox of the suite. Processes start with the first program."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._runner: Runner | None = None
        self._starting = threading.Lock()

    def run(self, programs: Sequence[tuple[Sample, str]]) -> None:
        """Run each sample's new program on its inputs, then the programs of all steps on the original inputs.

        Raises:
            ProgramsUnavailableError: they cannot be run here.
        """
        new = [(sample, program, sample.inputs) for sample, program in programs]
        whole = []
        for (sample, _), outputs in zip(programs, self._outputs(new), strict=True):
            if (program := sample.take_outputs(outputs)) is not None:
                whole.append((sample, program, sample.own_inputs))
        for (sample, program, _), outputs in zip(whole, self._outputs(whole), strict=True):
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
        for made in outputs:
            if made.fault is not None:
                raise ProgramsUnavailableError(made.fault.message)
        return outputs
