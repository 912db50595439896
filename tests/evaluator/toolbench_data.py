"""Where tests find ControlLLM's released files, which are no part of this repository."""

from pathlib import Path

import pytest

from evaluator.suites.toolbench import source

_CHECKOUT = Path(__file__).resolve().parents[2]
BESIDE = _CHECKOUT.parent / "shared" / "data"
"""Test data beside the checkout, where there are any."""


def find_controlllm() -> Path | None:
    """The folder with the released files: beside the checkout, else fetched."""
    beside = BESIDE / "controlllm"
    return beside if (beside / "tool100.json").is_file() else source.fetched_folder()


def need_controlllm() -> Path:
    """The same, or the running test is skipped with the reason."""
    folder = find_controlllm()
    if folder is None:
        pytest.skip(f"ControlLLM's files: {source.problem_of_fetched()}")
    return folder
