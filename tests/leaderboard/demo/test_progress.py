"""What the demo's terminal shows while its planners are evaluated."""

import io
from itertools import count

import pytest
from rich.console import Console

from leaderboard.demo.progress import StallWatch, follow
from leaderboard.evaluations.models import Evaluation, EvaluationState
from tests.leaderboard.factories import make_evaluation

pytestmark = pytest.mark.django_db

STALLED = "have not moved for 0.2 seconds"
MOVES = "move again"


def test_a_stall_begins_after_its_time_and_ends_with_the_next_change():
    watch = StallWatch(seconds=180)
    looks = [(0, "a"), (180, "a"), (181, "a"), (200, "a"), (201, "b"), (381, "b"), (382, "b")]
    seen = [(watch.look(at=at, state=state), watch.stalled) for at, state in looks]
    assert seen == [
        (False, False), (False, False), (True, True), (False, True), (True, False), (False, False), (True, True),
    ]  # fmt: skip


@pytest.mark.parametrize("end_when_stalled", [True, False])
def test_planners_that_do_not_move_are_told_once_or_end_a_demo_that_only_prints_the_board(end_when_stalled):
    evaluation, output, looks = make_evaluation(), io.StringIO(), count()

    def tick() -> None:
        assert next(ticks) < 1000, f"still following: {output.getvalue()}"
        # A few looks more than the warning needs, so that a second warning would be there.
        moved = STALLED in output.getvalue() and next(looks) > 4
        state = (
            EvaluationState.FAILED if MOVES in output.getvalue() else EvaluationState.LAUNCHING if moved else "queued"
        )
        Evaluation.objects.filter(pk=evaluation.pk).exclude(state=state).update(state=state)

    ticks = count()
    problem = follow(
        evaluations=[evaluation], console=Console(file=output, width=200), on_tick=tick,
        end_when_stalled=end_when_stalled, stall_seconds=0.2,
    )  # fmt: skip
    assert problem is not None
    told = "nothing moved for 0.2 seconds: Queued" if end_when_stalled else "Failed"
    assert f"was not published: {told}" in problem
    times = 0 if end_when_stalled else 1
    assert (output.getvalue().count(STALLED), output.getvalue().count(MOVES)) == (times, times)
