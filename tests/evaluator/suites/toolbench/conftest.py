"""Data of the tool benchmarks for the tests of this folder."""

from pathlib import Path

import pytest

from tests.evaluator.toolbench_data import need_controlllm


@pytest.fixture(scope="session")
def controlllm_folder() -> Path:
    """The folder with the released files; tests that need it are skipped where there is none."""
    return need_controlllm()
