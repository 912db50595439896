"""Files by which a worker shows probes that it has started, and that the site knows it.

A folder of a pod outlives its containers, so a process first removes what an earlier one has left.
"""

import os
from pathlib import Path

ALIVE, READY = "PLANARENA_ALIVE_FILE", "PLANARENA_READY_FILE"
"""Variables that name the files; without one nothing is written."""


def forget_earlier_process() -> None:
    """Remove both files."""
    for variable in (ALIVE, READY):
        if (path := _path(variable)) is not None:
            path.unlink(missing_ok=True)


def show(variable: str) -> None:
    """Write one of the files."""
    if (path := _path(variable)) is not None:
        path.touch()


def _path(variable: str) -> Path | None:
    name = os.environ.get(variable, "").strip()
    return Path(name) if name else None
