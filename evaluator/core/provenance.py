"""What a measurement depends on, recorded with it."""

import json
import os
import platform
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # `planarena --version` needs no package.
    from evaluator.core.canonical_json import JsonValue

_PACKAGES = ("torch", "transformers", "bert-score", "torchmetrics", "numpy", "pillow")
_ROOT = Path(__file__).resolve().parents[2]
SHIPPED = Path(__file__).resolve().parents[1] / "shipped"
"""Files that the build of the wheel adds to the package; a checkout has no such folder."""


@cache
def code_version() -> tuple[str | None, bool | None]:
    """Commit of the code, and whether the code was changed since.

    Images contain no git repository: they set `PLANARENA_COMMIT`. A package records the commit that it was built from.

    Returns:
        (commit, dirty), both None if the commit is unknown.
    """
    commit = os.environ.get("PLANARENA_COMMIT")
    if commit:
        return commit, False
    # Before git: a virtual environment may lie within the repository of another project.
    if (built := SHIPPED / "commit.json").is_file():
        facts = json.loads(built.read_text(encoding="utf-8"))
        return facts["commit"], facts["dirty"]
    head = _git("rev-parse", "HEAD")
    if head is None:
        return None, None
    return head, bool(_git("status", "--porcelain"))


def version_line(version: str) -> str:
    """The output of `--version`, without the line break."""
    commit, dirty = code_version()
    changed = ", with changes" if dirty else ""
    return f"planarena {version}" + (f" (commit {commit[:12]}{changed})" if commit else "")


def provenance(*, device: str) -> "dict[str, JsonValue]":
    """Code commit, package versions, interpreter and device."""
    commit, dirty = code_version()
    return {
        "commit": commit,
        "dirty": dirty,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "device": device,
        "packages": {name: version for name in _PACKAGES if (version := _version_of(name))},
    }


def _version_of(package: str) -> str | None:
    """None if it is not installed: judging plans needs no torch."""
    # Imported here: it takes longer than `planarena --version`.
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


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
