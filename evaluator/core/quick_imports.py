"""Imports of modules that load thousands of others, such as those of `transformers`."""

import gc
import sys
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec, module_from_spec
from types import ModuleType


def import_without_collection(name: str) -> ModuleType:
    """Import a module while garbage collection waits: nothing that an import makes is garbage, and searching it all
    again and again takes a fifth of the time of the first model's imports."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return import_module(name)
    finally:
        if was_enabled:
            gc.enable()


def import_without_package(name: str) -> ModuleType:
    """Import a module of a package, and not what the package imports for its other modules.

    The package stays empty for this process, except for its version.

    Args:
        name: a module of a top-level package, which runs without the package's own names.

    Raises:
        ModuleNotFoundError: there is none.
    """
    package, _, _ = name.partition(".")
    if package not in sys.modules:
        spec = find_spec(package)
        if spec is None:
            raise ModuleNotFoundError(f"No module named '{package}'", name=package)
        empty = module_from_spec(spec)
        empty.__dict__["__version__"] = version(package)
        sys.modules[package] = empty
    return import_module(name)
