"""The files that Python needs to import and run installed packages, for processes that may read nothing else."""

import os
import site
import sys
import sysconfig
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import evaluator

_SITE = Path(evaluator.__file__).resolve().parents[1]
_SYSTEM = ("/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime",
           "/usr/share/zoneinfo", "/dev/urandom", "/sys/devices/system/cpu")  # fmt: skip
_ENDINGS_OF_MODULES = frozenset({".py", ".so"})


def files_of_python(package: str) -> tuple[str, ...]:
    """Files, and folders with their content, that the interpreter and a top-level package need.

    Of a folder of `sys.path` that holds the home, data or working folder or the code of PlanArena, only the packages
    and modules count, unless it is where packages are installed.
    """
    library = sysconfig.get_paths()
    found = {Path(name) for name in _SYSTEM}
    found |= {Path(sys.base_prefix, "lib"), *(Path(library[name]) for name in ("stdlib", "platstdlib"))}
    found |= {Path(name) for name in site.getsitepackages()}
    found |= set(_of_spec("evaluator")) | set(_of_spec(package))
    private = _private()
    for name in (*sys.path, *filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":"))):
        folder = Path(name).resolve()
        if any(path.is_relative_to(folder) for path in private):
            found |= set(_importable(folder))
        else:
            found.add(folder)
    return tuple(sorted(map(str, found)))


def _private() -> list[Path]:
    # Not `Path.home`, which fails for users without one.
    home = os.path.expanduser("~")  # noqa: PTH111
    folders = [_SITE, Path.cwd(), Path(os.environ.get("PLANARENA_DATA", ".data")), Path(home)]
    return [folder.resolve() for folder in folders]


def _of_spec(package: str) -> Iterator[Path]:
    spec = find_spec(package)
    if spec is not None:
        yield from map(Path, filter(None, spec.submodule_search_locations or [spec.origin or ""]))


def _importable(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.suffix in _ENDINGS_OF_MODULES or (path / "__init__.py").is_file():
            yield path
