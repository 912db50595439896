"""The ablation of search strategies: the order of the paper's Table 5, on gold decompositions."""

from dataclasses import replace

import pytest

from evaluator.controlllm.benchmarks import measure_search
from evaluator.controlllm.toolbench.released.files import read_tool100
from evaluator.controlllm.toolbench.suite import tool_suite, toolmini_suite
from tests.evaluator.toolbench_data import need_controlllm
from tests.rings import usual


@pytest.fixture(scope="module")
def tool100_reports():
    """The ablation on Tool100, with prior knowledge and without."""
    folder = need_controlllm()
    suite = tool_suite(slug="tool100", title="", description="", raw=read_tool100(folder / "tool100.json"))
    return {knows: measure_search(suite=suite, gold=True, prior_knowledge=knows) for knows in (True, False)}


def se(report):
    return {name: found.indicators["SE"] for name, found in report.figures.items()}


def in_order(figures) -> bool:
    return figures["greedy"] <= figures["adaptive"] <= figures["exhaustive"] == max(figures.values()) and figures[
        "greedy"
    ] == min(figures.values())


@pytest.mark.parametrize("prior_knowledge", usual([True, False], of=[True]))
def test_on_toolmini_greedy_is_the_lowest_and_exhaustive_the_highest(prior_knowledge, full):
    suite = toolmini_suite()
    suite = replace(suite, tasks=suite.tasks[:: 1 if full else 6])
    report = measure_search(suite=suite, gold=True, prior_knowledge=prior_knowledge)
    found = se(report)
    assert in_order(found)
    assert found["greedy"] < found["exhaustive"]
    assert report.left_out == ()
    assert {one.tasks for one in report.figures.values()} == {len(suite.tasks)}


@pytest.mark.full
@pytest.mark.parametrize("prior_knowledge", [True, False])
def test_on_tool100_greedy_is_the_lowest_and_exhaustive_the_highest(tool100_reports, prior_knowledge):
    found = se(tool100_reports[prior_knowledge])
    assert in_order(found)
    assert found["greedy"] < found["exhaustive"]


@pytest.mark.full
def test_on_tool100_the_exhaustive_search_solves_nearly_nine_of_ten(tool100_reports):
    """It was 0.95 before last steps that change a right result counted as guesses. Measured: 0.890."""
    assert tool100_reports[True].figures["exhaustive"].tasks == 127
    assert se(tool100_reports[True])["exhaustive"] >= 0.88


@pytest.mark.full
def test_own_decompositions_solve_less_than_gold_ones():
    own = se(measure_search(suite=toolmini_suite(), gold=False, strategies=["adaptive"]))
    assert 0.5 < own["adaptive"] < 1.0
