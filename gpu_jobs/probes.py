"""Files by which a pod's probes see how far its worker is. Imports only the standard library."""

import os
from pathlib import Path

ALIVE, READY = "PLANARENA_ALIVE_FILE", "PLANARENA_READY_FILE"
"""Variables with the names of files for probes: one is created when the worker has started, the other when the site has
accepted it. If unset, no file is created."""


def remove_probe_files() -> None:
    """Remove both files: volumes of a pod outlive its containers."""
    for variable in (ALIVE, READY):
        if name := os.environ.get(variable, "").strip():
            Path(name).unlink(missing_ok=True)


def touch(variable: str) -> None:
    """Create one of the files for probes."""
    if name := os.environ.get(variable, "").strip():
        Path(name).touch()
