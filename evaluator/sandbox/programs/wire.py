"""The messages between the process of programs and its parent. Standard library only."""

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Layer(StrEnum):
    """The layers of the confinement."""

    LANGUAGE = "language"
    """The allow list for the syntax tree, with the step counter and bounded operations."""
    LIMITS = "limits"
    """Resource limits for CPU time, memory, file size, processes and descriptors."""
    SECCOMP = "seccomp"
    """Only system calls to manage memory, write the result and exit."""
    LANDLOCK = "landlock"
    """No file can be opened."""
    NAMESPACES = "namespaces"
    """A network namespace without interfaces, and a separate IPC namespace."""
    OWN_USER = "own user"
    """A user that owns nothing, if started by root."""


class Failure(StrEnum):
    """Why a call has no value."""

    SYNTAX = "syntax"
    """The text is not a Python program."""
    REFUSED = "refused"
    """The program uses something that is not allowed."""
    ENTRY = "entry"
    """The program has no function of the expected name, or no answer."""
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
    """The call returned an unexpected value."""
    LOST = "lost"
    """The process ended without a result."""
    UNAVAILABLE = "unavailable"
    """The process that starts programs was lost, which is not the program's fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of a program. Steps and sizes are enforced by the layer `language`, the others by `limits`, except for the
    duration, which is always enforced."""

    steps: int = 3_000_000
    """Steps of a call. A step is about eight nodes of the syntax tree, or copying eight items: 0.1 microseconds."""
    cpu_seconds: int = 1
    """CPU time of all calls of a program together; the kernel rounds up to whole seconds."""
    wall_seconds: float = 5.0
    """Duration of all calls of a program together. Without the layer `language`, a program can sleep."""
    memory_bytes: int = 512 * 1024 * 1024
    """Address space of the process, including about 40 MB of the interpreter."""
    answer_bytes: int = 1024 * 1024
    """Size of a result as JSON."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a process of programs."""

    layers: tuple[str, ...]
    limits: dict[str, Any]
    library: tuple[str, ...]
    """Source texts of the helpers, trusted."""

    def dumps(self) -> str:
        """The settings as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def loads(cls, text: str) -> "Settings":
        """Parse the result of `dumps`."""
        content = json.loads(text)
        return cls(layers=tuple(content["layers"]), limits=content["limits"], library=tuple(content["library"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureLine:
    """The output of a failed call."""

    failure: Failure
    message: str
    line: int | None = None
    steps: int = 0

    def dumps(self) -> str:
        """The line as JSON."""
        return json.dumps(asdict(self))


class ProgramError(Exception):
    """A failure of a program, detected by this package."""

    def __init__(self, failure: Failure, message: str, *, line: int | None = None) -> None:
        super().__init__(message)
        self.failure = failure
        self.message = message
        self.line = line


class MeterError(BaseException):
    """The program used up its steps, or created too large a value. Not an `Exception`, so that no helper catches it."""

    def __init__(self, failure: Failure, message: str) -> None:
        super().__init__(message)
        self.failure = failure
        self.message = message
