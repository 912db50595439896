"""Settings of this process: memory allocator, garbage collection, standard streams, imports, and Python's parser.

Imports no native library: some read their settings when they are loaded.

`settle_process` was measured on two cores. Beside other processes, spinning OpenMP threads took three quarters of all
processor time. With plans that produce large pictures, the kernel took 38 %, to map and clear memory that had just been
freed: every tensor above 32 MB, and repeatedly the top of the heap. Records are many small objects, hardly any of them
garbage: collecting took a quarter of the time of an evaluation from a full store.
"""

import ast
import codecs
import ctypes
import gc
import json
import sys
from collections.abc import MutableMapping
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from threading import RLock
from types import ModuleType
from typing import Any

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Options of glibc's `mallopt`."""
_KEPT_BYTES = 2**29
"""How much freed memory the allocator keeps, and the largest block that it takes from it."""
_SPINS = "1000"
"""Of the order of microseconds; GNU OpenMP's own default is milliseconds."""
_ALLOCATIONS = 10_000
"""New objects before the collector examines them; Python's default is 700."""
_OF_ALLOCATOR = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES", "LD_PRELOAD")


def settle_process(environment: MutableMapping[str, str]) -> None:
    """Keep freed memory for the next tensor, let waiting threads sleep, and collect garbage less often.

    Settings of the user take precedence. Must be called before torch is imported. No result of a model depends on it.

    Args:
        environment: of this process; the setting for threads is written to it, and so holds for child processes too.
    """
    gc.set_threshold(_ALLOCATIONS, *gc.get_threshold()[1:])
    if "OMP_WAIT_POLICY" not in environment:
        environment.setdefault("GOMP_SPINCOUNT", _SPINS)
    if sys.platform == "linux" and not any(name in environment for name in _OF_ALLOCATOR):
        keep_freed_memory()


def keep_freed_memory() -> bool:
    """Raise the thresholds of glibc's allocator. False if it refuses, or the C library is another one."""
    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        trims_late, maps_little = (mallopt(option, _KEPT_BYTES) for option in (_TRIM_THRESHOLD, _MMAP_THRESHOLD))
        return bool(trims_late and maps_little)
    return False


def import_without_collection(name: str) -> ModuleType:
    """Import a module without garbage collection, which would take a fifth of the first model's imports for nothing."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return import_module(name)
    finally:
        if was_enabled:
            gc.enable()


def import_without_package(name: str) -> ModuleType:
    """Import a module of a top-level package without executing the package's own `__init__`.

    The package stays empty in this process, except for its version.

    Raises:
        ModuleNotFoundError: there is no such module.
    """
    package, _, _ = name.partition(".")
    if package not in sys.modules:
        spec = find_spec(package)
        if spec is None:
            raise ModuleNotFoundError(f"No module named '{package}'", name=package)
        # Imported here: it takes longer than all that a short command needs.
        from importlib.metadata import version

        empty = module_from_spec(spec)
        empty.__dict__["__version__"] = version(package)
        sys.modules[package] = empty
    return import_module(name)


_LOCK = RLock()
"""Held while parsing: up to Python 3.12, parsing in two threads at once can raise a `SystemError`, since they share a
count of the tree's depth."""


def parse_module(source: str) -> ast.Module:
    """The syntax tree of a program. Raises what `ast.parse` does."""
    with _LOCK:
        return ast.parse(source)


def parse_expression(source: str) -> ast.Expression:
    """The syntax tree of an expression. Raises what `ast.parse` does."""
    with _LOCK:
        return ast.parse(source, mode="eval")


def literal(source: str) -> Any:
    """The value of a literal. Raises what `ast.literal_eval` does."""
    with _LOCK:
        return ast.literal_eval(source)


def settle_streams() -> None:
    """Print characters that the encoding of a terminal or pipe lacks as escapes.

    Otherwise Python's standard output raises UnicodeEncodeError, for example with LC_ALL=C or PYTHONIOENCODING=ascii.
    """
    for stream in (sys.stdout, sys.stderr):
        if not hasattr(stream, "reconfigure") or stream.encoding is None:
            continue
        if not codecs.lookup(stream.encoding).name.startswith("utf"):
            stream.reconfigure(errors="backslashreplace")


def as_printable_json(text: str) -> str:
    """JSON for standard output, with JSON escapes if its encoding lacks characters of the text."""
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(json.loads(text), indent=1) + ("\n" if text.endswith("\n") else "")
    return text
