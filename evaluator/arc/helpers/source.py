"""The library's text, for a process that cannot import this package."""

from functools import cache
from importlib.resources import files


@cache
def library() -> str:
    """Python source that defines every name in `NAMES`. It imports only `copy`, and has names of its own besides."""
    return files(__package__).joinpath("functions.py").read_text(encoding="utf-8")
