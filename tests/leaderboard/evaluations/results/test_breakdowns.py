"""Scores and indicators by kind of task, without a database."""

import pytest

from evaluator.controlllm.toolbench.suite import COLUMNS
from evaluator.controlllm.toolbench.suite import FACETS as TOOLBENCH
from evaluator.core.suites.facets import MODALITY, STRUCTURE, Facet, Facets
from evaluator.openagi.suite import FACETS as OPENAGI
from leaderboard.evaluations.results.breakdowns import score_breakdowns, share_breakdowns
from leaderboard.evaluations.results.figures import marks
from leaderboard.evaluations.results.task_rows import TaskRow

GOOD = {"SE": 1.0, "IR": 0.0, "NR": 1.0, "HR": 0.0, "CR": 1.0}
WORST = {"SE": 0.0, "IR": 1.0, "NR": 0.0, "HR": 1.0, "CR": 0.0}


def make_row(score: float | None = None, *, outcome: str = "scored", indicators=None, **facets: str) -> TaskRow:
    """A task; each facet is given by its values, separated by spaces."""
    return TaskRow(
        key="0", position=0, text="", structure="linear", metric="ViT", score=score, outcome=outcome,
        marks=marks(COLUMNS, outcome=outcome, indicators=indicators) if indicators else (),
        facets={name: tuple(values.split()) for name, values in facets.items()},
    )  # fmt: skip


def test_a_task_counts_in_each_of_its_groups_and_a_planners_fault_as_0():
    rows = [
        make_row(0.8, base="restoration", degradation="noise blur", steps="2"),
        make_row(0.0, outcome="planner_fault", base="restoration", degradation="noise", steps="10"),
        make_row(None, outcome="not_run", base="restoration", degradation="blur", steps="2"),
    ]
    found = {part.facet: {row.value: row for row in part.rows} for part in score_breakdowns(rows=rows, suite=OPENAGI)}
    assert set(found) == {"degradation", "steps"}, "what all tasks share is left out"
    noise, blur = found["degradation"]["noise"], found["degradation"]["blur"]
    assert (noise.interval.mean, noise.interval.count, noise.faults) == (pytest.approx(0.4), 2, 1)
    assert (blur.interval.mean, blur.interval.count, blur.faults) == (pytest.approx(0.8), 1, 0)
    assert list(found["steps"]) == ["2", "10"], "by number, not by letter"
    assert found["steps"]["2"].words == "2 steps"
    for nothing in ([], [make_row(None, outcome="infra_fault")]):
        assert score_breakdowns(rows=nothing, suite=OPENAGI) == ()


def test_tables_come_in_the_order_that_the_suite_declares():
    colour = Facet(name="colour", label="Colour", attribute="colour", heading="By colour", words={"r": "Red"})
    suite = Facets(filters=(STRUCTURE, colour, MODALITY), breakdowns=("modality", "colour"))
    rows = [
        make_row(0.5, structure="linear", modality="image→text", colour="r"),
        make_row(0.7, structure="nonlinear", modality="image→image", colour="dark_blue"),
    ]
    modality, by_colour = score_breakdowns(rows=rows, suite=suite)
    assert [row.words for row in modality.rows] == ["image→text", "image→image"]
    assert (by_colour.label, [row.words for row in by_colour.rows]) == ("By colour", ["Red", "Dark blue"])


def test_shares_come_in_the_order_of_their_facet_with_wilsons_interval():
    pairs = [make_row(indicators=values, level="easy") for values in (GOOD, WORST)] * 5
    rows = [make_row(indicators=WORST, level="hard"), *pairs, make_row(indicators=GOOD), make_row(level="easy")]
    (found,) = share_breakdowns(rows=rows, suite=TOOLBENCH)
    assert (found.facet, found.label) == ("level", "Difficulty")
    assert [(row.value, row.count) for row in found.rows] == [("easy", 10), ("hard", 1)]
    solved = found.rows[0].shares[0]
    # Wilson's interval of 5 of 10, computed by hand: 0.5 -+ 0.26341.
    assert (solved.name, solved.interval.mean) == ("SE", 0.5)
    assert solved.interval.ends == pytest.approx((0.2366, 0.7634), abs=5e-4)
    assert found.rows[1].shares[0].bar == {"mean": 0.0, "low": None, "high": None, "tasks": 1}
    rows = [make_row(indicators=GOOD, level="easy", structure="linear", active="yes")]
    assert [part.facet for part in share_breakdowns(rows=rows, suite=TOOLBENCH)] == ["level"], "which stands alone"


def test_groups_and_shares_have_names_for_people():
    kind = Facet(name="kind", label="Kind", words={"r": "Red"})
    names = Facet(name="helper", label="Helper", verbatim=True)
    suite = Facets(filters=(kind, names), breakdowns=("kind", "helper"))
    rows = [
        make_row(indicators=GOOD, kind="r", helper="get_objects"),
        make_row(indicators=GOOD, kind="dark_blue", helper="crop_grid"),
    ]
    by_kind, by_helper = share_breakdowns(rows=rows, suite=suite)
    assert [row.words for row in by_kind.rows] == ["Dark blue", "Red"]
    assert [row.words for row in by_helper.rows] == ["crop_grid", "get_objects"]
    assert by_kind.rows[0].shares[0].label == next(column.label for column in COLUMNS if column.key == "SE")
