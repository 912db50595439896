"""What has changed among the sources of a development site, and which processes have to start again for it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

QUEUE, SITE = ("celery", "beat"), ("site",)
WORKERS = "workers"
"""Workers of evaluations, which the launcher starts."""
_PACKAGES = ("evaluator", "gpu_jobs", "leaderboard")
_TEMPLATES = Path("frontend") / "templates"


class SourceWatcher:
    """Compares the files of a checkout with what they were: some thousand, which takes milliseconds."""

    def __init__(self, root: Path) -> None:
        """`root`: the checkout."""
        self._root = root
        self._seen = self._look()

    def changed(self) -> list[Path]:
        """Files that were written, added or removed since the last call, relative to the checkout."""
        before, self._seen = self._seen, self._look()
        paths = {path for path, _ in before.items() ^ self._seen.items()}
        return sorted(path.relative_to(self._root) for path in paths)

    def _look(self) -> Mapping[Path, int]:
        """Time of the last change of each file, in nanoseconds."""
        found = {}
        for path in (
            *(path for package in _PACKAGES for path in (self._root / package).rglob("*.py")),
            *(self._root / _TEMPLATES).rglob("*.*"),
        ):
            try:
                found[path] = path.stat().st_mtime_ns
            except FileNotFoundError:
                continue
        return found


def to_restart(changed: Sequence[Path]) -> set[str]:
    """Names of the processes that run the changed files; `WORKERS` among them for those of evaluations.

    Templates are compiled once in each process, and the queue's processes write mails from some of them.
    """
    names = set[str]()
    for path in changed:
        names.update(SITE, QUEUE)
        if path.parts[0] in {"evaluator", "gpu_jobs"}:
            names.add(WORKERS)
    return names
