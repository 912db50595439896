"""What the process of programs and its parent exchange. Standard library only."""

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Layer(StrEnum):
    """The parts of the confinement."""

    LANGUAGE = "language"
    """The allow-list over the syntax tree, with the step counter and bounded operations."""
    LIMITS = "limits"
    """On processor time, memory, file size, processes and descriptors."""
    SECCOMP = "seccomp"
    """System calls to manage memory, to write the result and to exit; no others."""
    LANDLOCK = "landlock"
    """No file can be opened."""
    NAMESPACES = "namespaces"
    """A network without interfaces, and IPC of its own."""
    OWN_USER = "own user"
    """A user that owns nothing, if started by root."""


class Failure(StrEnum):
    """Why a call has no value."""

    SYNTAX = "syntax"
    """The text is no Python program."""
    REFUSED = "refused"
    """The program uses what is not allowed."""
    ENTRY = "entry"
    """The program defines no function of the expected name, or nothing that gives an answer."""
    ERROR = "error"
    """The program raised an exception."""
    STEPS = "steps"
    """The call used up its steps."""
    SIZE = "size"
    """An integer, a text or a container became too large."""
    MEMORY = "memory"
    """The program used too much memory."""
    TIME = "time"
    """The program used too much time."""
    RESULT = "result"
    """The call returned something other than what is expected of it."""
    LOST = "lost"
    """The process ended without a result."""
    UNAVAILABLE = "unavailable"
    """The process that starts programs was lost: not the program's fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a program may use. Steps and sizes hold in the layer `language`, the others in the layer `limits`, except
    for the duration, which always holds."""

    steps: int = 3_000_000
    """Of one call. A step is about eight nodes of the syntax tree, or copying eight items: 0.1 microseconds."""
    cpu_seconds: int = 1
    """Of all calls of a program together, rounded up to whole seconds by the kernel."""
    wall_seconds: float = 5.0
    """For all calls of a program together. Only a program outside the layer `language` can wait without computing."""
    memory_bytes: int = 512 * 1024 * 1024
    """Address space of the process, some 40 MB of the interpreter's included."""
    answer_bytes: int = 1024 * 1024
    """Of one result as JSON."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a process of programs starts; its only argument, as JSON."""

    layers: tuple[str, ...]
    limits: dict[str, Any]
    library: tuple[str, ...]
    """Source texts of the helpers, trusted."""

    def dumps(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def loads(cls, text: str) -> "Settings":
        """From JSON."""
        found = json.loads(text)
        return cls(layers=tuple(found["layers"]), limits=found["limits"], library=tuple(found["library"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureLine:
    """A failed call, or, as the first line, a program none of whose calls runs."""

    failure: Failure
    message: str
    line: int | None = None
    steps: int = 0

    def dumps(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self))


class ProgramError(Exception):
    """A failure of a program, found by this package."""

    def __init__(self, failure: Failure, message: str, *, line: int | None = None) -> None:
        super().__init__(message)
        self.failure = failure
        self.message = message
        self.line = line


class MeterError(BaseException):
    """The program used up its steps, or made something too large. Not an `Exception`: no helper may catch it."""

    def __init__(self, failure: Failure, message: str) -> None:
        super().__init__(message)
        self.failure = failure
        self.message = message
