"""Where tests find ControlLLM's released files, which are no part of this repository."""

from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

from evaluator.controlllm.toolbench.released import source
from evaluator.network.downloads import download_released

_CHECKOUT = Path(__file__).resolve().parents[2]
BESIDE = _CHECKOUT.parent / "shared" / "data"
"""Test data beside the checkout, where there are any."""


_FETCHED = _CHECKOUT / ".data" / "suites" / "controlllm"
"""Where `planarena suites fetch` puts them by default. Tests have a data folder of their own, which is empty."""


@cache
def find_controlllm() -> Path | None:
    """The folder with the released files: beside the checkout, else fetched, now if need be; None if neither works."""
    beside = BESIDE / "controlllm"
    if (beside / "tool100.json").is_file():
        return beside
    if source.problem_of(_FETCHED) is not None:
        with suppress(source.FetchError):
            source.fetch(download=download_released, target=_FETCHED)
    return _FETCHED if source.problem_of(_FETCHED) is None else None


def need_controlllm() -> Path:
    """The same, or the running test is skipped with the reason."""
    folder = find_controlllm()
    if folder is None:
        pytest.skip(f"ControlLLM's files: {source.problem_of(_FETCHED)}")
    return folder
