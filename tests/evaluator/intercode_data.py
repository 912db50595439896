"""Where tests find InterCode's released files, which are no part of this repository."""

from functools import cache
from pathlib import Path

import pytest

from evaluator.suites.lumos.sql.source import RELEASE

_CHECKOUT = Path(__file__).resolve().parents[2]
_BESIDE = _CHECKOUT.parent / "shared" / "data" / "intercode_sql"
_FETCHED = _CHECKOUT / ".data" / "suites" / RELEASE.name
"""Where `planarena suites fetch` puts them by default. Tests have a data folder of their own, which is empty."""


@cache
def find_intercode() -> Path | None:
    """The folder with the released files: beside the checkout, else fetched; None if neither has them."""
    if all((_BESIDE / file.name).is_file() for file in RELEASE.files):
        return _BESIDE
    return _FETCHED if RELEASE.problem_of(_FETCHED) is None else None


def need_intercode() -> Path:
    """The same, or the running test is skipped with the reason."""
    folder = find_intercode()
    if folder is None:
        pytest.skip(f"InterCode's files: {RELEASE.problem_of(_FETCHED)}")
    return folder
