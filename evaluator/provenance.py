"""What a measurement depends on, recorded with it."""

import os
import platform
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path

from evaluator.canonical_json import JsonValue

_PACKAGES = ("torch", "transformers", "bert-score", "torchmetrics", "numpy", "pillow")
_ROOT = Path(__file__).resolve().parent.parent


@cache
def code_version() -> tuple[str | None, bool | None]:
    """Commit of the code and whether it was changed since; from the environment in images that carry no git.

    Returns:
        (commit, dirty), both None if neither git nor `PLANARENA_COMMIT` tells.
    """
    commit = os.environ.get("PLANARENA_COMMIT")
    if commit:
        return commit, False
    head = _git("rev-parse", "HEAD")
    if head is None:
        return None, None
    return head, bool(_git("status", "--porcelain"))


def provenance(*, device: str) -> dict[str, JsonValue]:
    """Code commit, package versions, interpreter and device."""
    commit, dirty = code_version()
    return {
        "commit": commit,
        "dirty": dirty,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "device": device,
        "packages": {name: metadata.version(name) for name in _PACKAGES},
    }


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(  # noqa: S603 - fixed program, no user input
            ["git", "-C", str(_ROOT), *arguments],  # noqa: S607
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
