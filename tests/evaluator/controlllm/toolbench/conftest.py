"""Data of the tool benchmarks for the tests of this folder."""

from pathlib import Path

import pytest

from evaluator.controlllm.toolbench.released.files import TOOL2K, TOOL100, read_tool2k, read_tool100
from evaluator.controlllm.toolbench.released.source import gold_file
from evaluator.controlllm.toolbench.suite import tool_suite
from evaluator.core.suites.registry import suite_of
from tests.evaluator.toolbench_data import find_controlllm, need_controlllm


@pytest.fixture(scope="session")
def controlllm_folder() -> Path:
    """The folder with the released files; tests that need it are skipped where there is none."""
    return need_controlllm()


@pytest.fixture(scope="package")
def suites():
    """toolmini always; the released suites where their files are to be had."""
    folder = find_controlllm()
    if folder is None:
        return {"toolmini": suite_of("toolmini")}
    tool100 = read_tool100(folder / TOOL100)
    tool2k = read_tool2k(folder / TOOL2K, gold_file(folder))
    return {
        "tool100": tool_suite(slug="tool100", title="", description="", raw=tool100),
        "tool2k": tool_suite(slug="tool2k", title="", description="", raw=tool2k),
        "toolmini": suite_of("toolmini"),
    }
