"""What a worker logs while it works on a lease."""

from typing import Annotated

from pydantic import Field

from gpu_jobs.contract.message import Message

MOST_LINES_PER_CALL = 200
LONGEST_LINE = 2000
"""Characters of a line that are kept."""
LONGEST_LEVEL = 20
_LATEST = 32_503_680_000
"""The year 3000."""


class LogLine(Message):
    """One line of a worker's log."""

    at: Annotated[float, Field(ge=0, le=_LATEST)]
    """Seconds since 1970."""
    level: Annotated[str, Field(max_length=LONGEST_LEVEL)]
    text: str


class LogLines(Message):
    """Lines of a worker's log that follow each other."""

    first: Annotated[int, Field(ge=0, le=2**31 - 1 - MOST_LINES_PER_CALL)]
    """Number of the first of `lines`, counted from 0. Lines that the site has change nothing."""
    lines: Annotated[tuple[LogLine, ...], Field(max_length=MOST_LINES_PER_CALL)]

    def after(self) -> "LogLines":
        """No lines, behind these."""
        return LogLines(first=self.first + len(self.lines), lines=())


class LogTaken(Message):
    """How far the site has the log."""

    next: int
    """Number of the line that it expects next."""
    cut: bool
    """Whether it keeps no more lines, because there are too many."""
