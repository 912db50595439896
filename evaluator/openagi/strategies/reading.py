"""Free text to the lines that each say one step.

Grammar, the first that applies::

    marked   = text with "Step" number ":" line anywhere, or "Step" number [ "." | ")" | "-" ] line at a line's start
    numbered = text with lines that begin with (number ("." | ")" | ":") | "-" | "*" | "•")
    listed   = line { ("," | ";" | "->" | "→") line }, over one line or several

Of a marked or numbered text only what is marked counts: what stands before the first mark, and what explains a step on
further lines, is no step. Commas part steps only where nothing is marked. Nothing is dropped for what it says.
"""

import re

MAX_LINES = 50
"""Lines that are read. No plan needs as many."""
MAX_LINE = 300
"""Characters of a line that are read and shown."""
_STEP = re.compile(
    r"^[\s>*_#`-]*step[ \t]*\d+[ \t]*(?:[:.)\-–—]|[*_]*[ \t]*$)|\bstep[ \t]*\d+[ \t]*:",  # noqa: RUF001 - as models write
    re.IGNORECASE | re.MULTILINE,
)
_ITEM = re.compile(r"^\s*(?:[*_`]{0,3}\d{1,3}\s*[.):][*_`]{0,3}|[-*•–])\s+(?P<line>.*)$")  # noqa: RUF001 - as models write
_PARTING = re.compile(r"[,;\n]|->|→")
_DECORATION = " \t\r\n*_`#\"'.,;"


def step_lines(text: str) -> tuple[str, ...]:
    """The lines of a text that each say one step, in order, at most `MAX_LINES`."""
    if _STEP.search(text):
        parts = [_first_line(part) for part in _STEP.split(text)[1:]]
    elif items := [match["line"] for match in map(_ITEM.match, text.splitlines()) if match is not None]:
        parts = items
    else:
        parts = _PARTING.split(text)
    lines = (" ".join(part.split()).strip(_DECORATION)[:MAX_LINE].rstrip() for part in parts)
    return tuple(line for line in lines if line)[:MAX_LINES]


def _first_line(text: str) -> str:
    return next((line for line in text.splitlines() if line.strip(_DECORATION)), "")
