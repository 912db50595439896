"""Hostile programs by family, in files of text, and those that are hard to read in `syntax`.

`$NAME` in a program is a canary of the test's. Its last expression is what it took, so that a theft shows in the
result; many end in an error, so that nothing is returned where nothing was taken.
"""

import re
from pathlib import Path

from tests.evaluator.sandbox.programs.corpus import syntax


def _read(family: str) -> dict[str, str]:
    """Programs by name; a line `=== NAME` begins each."""
    text = Path(__file__).with_name(f"{family}.txt").read_text(encoding="utf-8")
    parts = re.split(r"^=== (.+)\n", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


FAMILIES = {
    **{family: _read(family) for family in ("imports", "walking", "system", "memory", "time", "language")},
    "syntax": syntax.PROGRAMS,
}
ALL = {f"{family}: {name}": text for family, programs in FAMILIES.items() for name, text in programs.items()}
"""Every program by the name of its family and its own."""
