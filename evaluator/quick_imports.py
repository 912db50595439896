"""Imports of modules that load thousands of others, such as those of `transformers`."""

import gc
from importlib import import_module
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
