"""The deliberate faults of `faults/`, and how one is put into a copy of the repository."""

import importlib.util
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLES = Path(__file__).with_name("faults")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One wrong piece of code that tests must find."""

    name: str
    says: str
    """What would go wrong, in a sentence."""
    file: str
    text: str
    """What is replaced; occurs once in `file`."""
    fault: str
    """What replaces it."""
    tests: tuple[str, ...]
    """Ids of tests of each run, without parameters; at least one of them fails."""

    def spoilt(self, code: str) -> str:
        """The code of `file` with the fault in it."""
        return code.replace(self.text, self.fault)

    @contextmanager
    def applied(self, root: Path) -> Iterator[None]:
        """Put the fault into the repository at `root`, and take it out again."""
        path = root / self.file
        code = path.read_text()
        try:
            _write(path, self.spoilt(code))
            yield
        finally:
            _write(path, code)


def faults() -> list[Fault]:
    """All faults, in the order of the tables."""
    tables = [tomllib.loads(path.read_text()) for path in sorted(TABLES.glob("*.toml"))]
    return [
        Fault(name=name, **{**entry, "tests": tuple(entry["tests"])})
        for table in tables
        for name, entry in table.items()
    ]


def copy_repository(target: Path) -> None:
    """Copy the tracked files as they are now, and link the built front end, which pages name their files by."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in listed.split("\0"):
        if name and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    if (built := ROOT / "frontend" / "dist").exists():
        (target / "frontend" / "dist").symlink_to(built.resolve())


def _write(path: Path, code: str) -> None:
    path.write_text(code)
    # Python takes a compiled file for the present one if size and second of the last change are the same.
    Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
