"""The baseline that a board draws in."""

import pytest

from leaderboard.boards.baselines import baseline_of
from leaderboard.boards.drawing.picture import Line, Text
from leaderboard.boards.drawing.scatter import FRAME
from leaderboard.boards.plots import over_time
from leaderboard.pages.templatetags.planarena import interval
from tests.leaderboard.boards.rows import METRICS, row

LATER = "2026-11-21T10:00:00+00:00"


def majority(overall=0.3, **changes):
    return row("majority", overall=overall, **{"strategy": "majority", **changes})


def test_the_latest_majority_planner_is_the_baseline():
    rows = [row(), majority(0.2), majority(0.4, finished=LATER, evaluation="last")]
    found = baseline_of(rows=rows, metric="overall")
    assert found is not None
    assert (found.evaluation, found.planner, found.value) == ("last", "majority", 0.4)


@pytest.mark.parametrize("other", [row("majority"), majority(kind="endpoint"), majority(None)])
def test_a_planner_of_that_name_alone_is_none(other):
    assert baseline_of(rows=[other, row()], metric="overall") is None


def test_bars_and_plots_have_a_line_for_it():
    rows = [row(overall=0.5), majority(0.3)]
    found = baseline_of(rows=rows, metric="overall")
    plot = over_time(rows=rows, metric=METRICS[0], baseline=found)
    assert plot is not None
    shapes = [item for item in plot.picture.items if isinstance(item, Line | Text)]
    [line] = [one for one in shapes if one.role == "baseline"]
    [text] = [one for one in shapes if isinstance(one, Text) and one.text.startswith("baseline")]
    assert text.text == "baseline majority 0.300"
    assert FRAME.top < line.points[0][1] < FRAME.bottom
    without = over_time(rows=rows, metric=METRICS[0])
    assert without is not None
    assert "baseline" not in {item.role for item in without.picture.items if isinstance(item, Line)}
    assert 'class="baseline"' in interval({"mean": 0.5}, (0.0, 1.0), 0.3)
    assert "baseline" not in interval({"mean": 0.5})
