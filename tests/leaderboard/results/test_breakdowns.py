"""Mean scores by kind of task, without a database."""

import pytest

from leaderboard.results.breakdowns import score_breakdowns
from leaderboard.results.task_filters import TaskRow


def make_row(score: float | None, *, outcome: str = "scored", **fields: object) -> TaskRow:
    values = {
        "key": "0", "position": 0, "text": "", "structure": "linear", "metric": "ViT", "base": "restoration",
        "degradations": (), "reason": "", "reason_text": "", "seconds": None, "plan_summary": "",
    }  # fmt: skip
    return TaskRow(**{**values, **fields}, score=score, outcome=outcome)  # type: ignore[arg-type]


def test_a_task_counts_in_each_of_its_groups_and_a_planners_fault_as_0():
    rows = [
        make_row(0.8, degradations=("noise", "blur"), steps="2"),
        make_row(0.0, outcome="planner_fault", degradations=("noise",), steps="10"),
        make_row(None, outcome="not_run", degradations=("blur",), steps="2"),
    ]
    found = {part.facet: {row.value: row for row in part.rows} for part in score_breakdowns(rows)}
    assert set(found) == {"degradation", "steps"}, "what all tasks share is left out"
    noise, blur = found["degradation"]["noise"], found["degradation"]["blur"]
    assert (noise.interval.mean, noise.interval.count, noise.faults) == (pytest.approx(0.4), 2, 1)
    assert (blur.interval.mean, blur.interval.count, blur.faults) == (pytest.approx(0.8), 1, 0)
    assert list(found["steps"]) == ["2", "10"], "by number, not by letter"
    assert found["steps"]["2"].words == "2 steps"


def test_nothing_scored_has_no_breakdown():
    assert score_breakdowns([]) == ()
    assert score_breakdowns([make_row(None, outcome="infra_fault")]) == ()


def test_properties_come_in_one_order_and_modality_is_one_of_them():
    rows = [
        make_row(0.5, structure="linear", modality="image → text", language="en", group="a", level="easy"),
        make_row(0.7, structure="nonlinear", modality="image → image", language="de", group="b", level="hard"),
    ]
    found = score_breakdowns(rows)
    assert [part.facet for part in found] == ["structure", "modality", "language", "level", "group"]
    assert [row.words for row in found[1].rows] == ["image → text", "image → image"]
