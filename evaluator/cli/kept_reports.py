"""Reports of `evaluate` without `--output`: files in the user's folder for state, the newest of which are kept."""

import os
import re
import time
from collections.abc import Mapping
from pathlib import Path

REPORTS_VARIABLE = "PLANARENA_REPORTS"
MOST_KEPT = 50
_LONGEST_NAME = 60
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def reports_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """The folder: `PLANARENA_REPORTS`, or `planarena/reports` in the user's folder for state."""
    if named := environment.get(REPORTS_VARIABLE, ""):
        return Path(named)
    base = environment.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "planarena" / "reports"


def keep_report(data: bytes, *, suite: str, planner: str, folder: Path, now: float | None = None) -> Path:
    """Write a report, and delete the oldest ones beyond `MOST_KEPT`.

    Args:
        data: the JSON.
        suite: slug, a part of the file's name.
        planner: name, a part of the file's name.
        folder: created if it is missing.
        now: Unix time in the file's name; default: the current one.

    Raises:
        OSError: it cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    seconds = time.time() if now is None else now
    stamp = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime(seconds))}{int(seconds * 1000) % 1000:03}"
    words = _UNSAFE.sub("-", f"{suite}-{planner}")[:_LONGEST_NAME].strip("-.")
    file = folder / f"{stamp}-{words}.json"
    file.write_bytes(data)
    # Names begin with the time. Other files of the folder stay.
    kept = sorted(folder.glob("[0-9]*T[0-9]*-*.json"))
    for old in kept[:-MOST_KEPT]:
        old.unlink(missing_ok=True)
    return file
