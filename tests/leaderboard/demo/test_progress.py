"""What the demo's terminal shows while its planners are evaluated."""

import io
import sys
from collections.abc import Callable, Iterator
from itertools import count
from threading import Event

import pytest
from django.core.management import CommandError, call_command
from rich.console import Console

from evaluator.cli import progress_lines
from evaluator.metrics.statistics import TOO_FEW
from leaderboard.demo.management.commands import demo
from leaderboard.demo.processes import DemoError
from leaderboard.demo.progress import StallWatch, follow, print_board
from leaderboard.evaluations.models import Evaluation, EvaluationState
from tests.leaderboard.factories import make_evaluation, make_suite
from tests.leaderboard.site.api.test_reading import finish

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


def test_one_line_says_what_the_bars_show():
    first, second = make_evaluation(state="running"), make_evaluation()
    lines = []

    def tick() -> None:
        if lines:
            Evaluation.objects.filter(state="running").update(state="failed")
        if len(lines) > 1:
            Evaluation.objects.update(state="failed")

    console = Console(file=io.StringIO(), width=200)
    follow(evaluations=[first, second], console=console, on_tick=tick, end_when_stalled=True, note=lines.append)
    titles = [f"{one.suite.slug} {one.submission.planner.name}" for one in (first, second)]
    assert lines == [
        f"demo: 0 of 2 evaluations ended; {titles[0]}: 0/{first.tasks_total} tasks, Running",
        f"demo: 1 of 2 evaluations ended; {titles[1]}: 0/{second.tasks_total} tasks, Queued: {second.reason_text}",
        "demo: all 2 evaluations ended",
    ]


def test_without_a_terminal_the_demo_prints_lines(monkeypatch, settings, tmp_path):
    """From its first second on: also while it prepares the database, and until its evaluations have ended."""
    printed, output = Event(), io.StringIO()

    class Stream(io.StringIO):
        def write(self, text):
            if "\n" in text:
                printed.set()
            return output.write(text)

    def slow():
        printed.clear()
        assert printed.wait(60)
        raise DemoError("enough seen")

    monkeypatch.setattr(progress_lines, "LINE_SECONDS", 0.01)
    monkeypatch.setattr(demo, "prepare_database", slow)
    monkeypatch.setattr(sys, "stderr", Stream())
    settings.DATA_DIR, settings.DEMO = tmp_path, True
    with pytest.raises(CommandError, match="enough seen"):
        call_command("demo", once=True)
    assert "demo: preparing the database and the site\n" in output.getvalue()


def test_a_stall_begins_after_its_time_and_ends_with_the_next_change():
    watch = StallWatch(seconds=180)
    looks = [(0, "a"), (180, "a"), (181, "a"), (200, "a"), (201, "b"), (381, "b"), (382, "b")]
    seen = [(watch.look(at=at, state=state), watch.stalled) for at, state in looks]
    assert seen == [
        (False, False), (False, False), (True, True), (False, True), (True, False), (False, False), (True, True),
    ]  # fmt: skip


@pytest.mark.parametrize(("tasks", "explained"), [(9, True), (10, False)])
def test_a_board_without_intervals_says_why(settings, tmp_path, tasks, explained):
    settings.STORE_DIR, settings.TASKS_PER_SHARD = tmp_path / "store", tasks
    finish(make_evaluation(suite=make_suite(slug="openagi", runnable=tasks), state="launching"))
    output = io.StringIO()
    print_board(console=Console(file=output, width=200, force_terminal=True, no_color=True), url="http://site")
    assert (f"[—]: {TOO_FEW}" in output.getvalue()) is explained
    assert output.getvalue().count("[—]") == (2 if explained else 0), "the cell and its explanation"
