"""What the demo's terminal shows while its planners are evaluated."""

import io
from collections.abc import Callable, Iterator
from itertools import count

import pytest
from rich.console import Console

from leaderboard.demo.progress import StallWatch, follow
from leaderboard.evaluations.models import Evaluation, EvaluationState
from tests.leaderboard.factories import make_evaluation

pytestmark = pytest.mark.django_db

STALLED = "have not moved for 0.2 seconds"
MOVES = "move again"


def following(
    evaluation: Evaluation, *, changes: Callable[[str], EvaluationState | None], end_when_stalled: bool = False
) -> tuple[str | None, str]:
    """Follow an evaluation whose state `changes` decides from the output so far. Returns the problem and the output."""
    output = io.StringIO()
    ticks = count()

    def tick() -> None:
        assert next(ticks) < 100, f"still following: {output.getvalue()}"
        state = changes(output.getvalue())
        if state is not None:
            Evaluation.objects.filter(pk=evaluation.pk).exclude(state=state).update(state=state)

    problem = follow(
        evaluations=[evaluation], console=Console(file=output, width=200), on_tick=tick,
        end_when_stalled=end_when_stalled, stall_seconds=0.2,
    )  # fmt: skip
    return problem, output.getvalue()


def test_planners_that_do_not_move_are_told_once_and_end_nothing():
    looks: Iterator[int] = count()

    def changes(output: str) -> EvaluationState | None:
        if MOVES in output:
            return EvaluationState.FAILED
        # A few looks more than the warning needs, so that a second warning would be there.
        if STALLED in output and next(looks) > 4:
            return EvaluationState.LAUNCHING
        return None

    problem, output = following(make_evaluation(), changes=changes)
    assert problem is not None
    assert "was not published: Failed" in problem
    assert (output.count(STALLED), output.count(MOVES)) == (1, 1)


def test_a_demo_that_only_prints_the_board_ends_with_what_does_not_move():
    evaluation = make_evaluation()
    problem, output = following(evaluation, changes=lambda _: None, end_when_stalled=True)
    name = evaluation.submission.planner.name
    assert problem is not None
    assert problem.startswith(f"{name} was not published: nothing moved for 0.2 seconds: Queued")
    assert STALLED not in output


def test_a_stall_begins_after_its_time_and_ends_with_the_next_change():
    watch = StallWatch(seconds=180)
    looks = [(0, "a"), (180, "a"), (181, "a"), (200, "a"), (201, "b"), (381, "b"), (382, "b")]
    seen = [(watch.look(at=at, state=state), watch.stalled) for at, state in looks]
    assert seen == [
        (False, False), (False, False), (True, True), (False, True), (True, False), (False, False), (True, True),
    ]  # fmt: skip
