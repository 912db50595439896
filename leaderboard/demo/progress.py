"""What the demo shows in the terminal: a bar for each evaluation, then the board."""

import time
from collections.abc import Callable, Sequence

from django.db.models import Count, Q
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from evaluator.metrics.statistics import ends_of
from evaluator.records import Outcome
from leaderboard.boards.services import latest_snapshot
from leaderboard.catalog.models import Suite
from leaderboard.demo.seed import SUITE
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.evaluations.transitions import FINAL

POLL_SECONDS = 0.3
STUCK_SECONDS = 180.0
"""Longer than any expert of the miniature world needs for a batch, and than every lease."""
_ENDED = FINAL | {EvaluationState.ON_HOLD}


def follow(*, evaluations: Sequence[Evaluation], console: Console, on_tick: Callable[[], None]) -> str | None:
    """Show progress until every evaluation has ended.

    Returns:
        None if all are published, else a sentence that says which is not, and why.
    """
    ids = [evaluation.pk for evaluation in evaluations]
    seen: object = None
    changed = time.monotonic()
    with _bars(console) as progress:
        bars: dict[object, TaskID] = {}
        while True:
            on_tick()
            rows = list(_rows(ids))
            for row in rows:
                if row.pk not in bars:
                    bars[row.pk] = progress.add_task(row.submission.planner.name, total=_runnable(row), state="")
                progress.update(bars[row.pk], completed=row.done, state=_state(row))
            if all(row.state in _ENDED for row in rows):
                break
            now = [(row.state, row.done) for row in rows]
            if now != seen:
                seen, changed = now, time.monotonic()
            elif time.monotonic() - changed > STUCK_SECONDS:
                return _unpublished(rows, f"nothing moved for {STUCK_SECONDS:.0f} seconds: ")
            time.sleep(POLL_SECONDS)
    return _unpublished(rows, "")


def _runnable(row: Evaluation) -> int:
    return row.tasks_total - row.tasks_not_run


def _state(row: Evaluation) -> str:
    """The state, with its reason while something is waited for."""
    waits = row.state in {EvaluationState.QUEUED, EvaluationState.LAUNCHING, EvaluationState.ON_HOLD}
    return f"{row.get_state_display()}: {row.reason_text}" if waits else str(row.get_state_display())


def _unpublished(rows: Sequence[Evaluation], why: str) -> str | None:
    for row in rows:
        if row.state != EvaluationState.COMPLETED:
            name = row.submission.planner.name
            return f"{name} was not published: {why}{row.get_state_display()}. {row.reason_text}"
    return None


def _rows(ids: Sequence[object]) -> Sequence[Evaluation]:
    done = Count("results", filter=~Q(results__outcome=Outcome.NOT_RUN))
    found = Evaluation.objects.filter(pk__in=ids).select_related("submission__planner").annotate(done=done)
    return found.order_by("created")


def _bars(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description:<14}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[state]}"),
        console=console,
    )


def print_board(*, console: Console, url: str) -> None:
    """Print the published board as a table."""
    snapshot = latest_snapshot(suite=Suite.objects.get(slug=SUITE, current=True))
    if snapshot is None:
        console.print("Nothing is published yet.")
        return
    if not console.is_terminal:
        # Into a file or a CI log nothing has to fold.
        console = Console(width=120)
    columns = snapshot.suite.metrics
    table = Table("rank", "planner", *(column["label"] for column in columns), title=f"Board of {snapshot.suite.title}")
    for row in snapshot.content["rows"]:
        cells = [_cell(row["metrics"].get(column["key"])) for column in columns]
        table.add_row(str(row["rank"]), row["planner"], *cells)
    console.print(table)
    coverage = snapshot.content["coverage"]
    console.print(
        f"{coverage['run']} of {coverage['total']} tasks run; 95 % intervals over tasks. {url}/boards/{SUITE}/"
    )


def _cell(metric: dict[str, float] | None) -> str:
    if metric is None:
        return "not measured"
    ends = ends_of(low=metric["low"], high=metric["high"], count=int(metric["tasks"]))
    return f"{metric['mean']:.4f} [—]" if ends is None else f"{metric['mean']:.4f} [{ends[0]:.3f}, {ends[1]:.3f}]"
