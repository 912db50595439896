"""Terminal output of the demo: a progress bar for each evaluation, then the board."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Count, Q, QuerySet
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from evaluator.core.records import Outcome
from evaluator.core.signatures.statements import BoardSummary
from evaluator.scoring.board_sentences import plain, remarks, sentences
from evaluator.scoring.metrics.digits import rounded
from evaluator.scoring.metrics.statistics import TOO_FEW, ends_of
from evaluator.scoring.metrics.undecided import ranged
from leaderboard.boards.ranking import ranked_rows
from leaderboard.boards.services import latest_snapshot
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.evaluations.states import FINAL

SUITE = "openagi"
"""The suite whose plans the demo executes."""

POLL_SECONDS = 0.3
STALL_SECONDS = 180.0
"""Longer than a batch of any expert of the miniature world, and than any lease."""
MOST_COLUMNS = 4
"""Maximum number of columns of a board in the terminal."""
_NO_INTERVAL = "[—]"
_ENDED = FINAL | {EvaluationState.ON_HOLD}


@dataclass(slots=True)
class StallWatch:
    """Detects when the state stops changing, and when it changes again."""

    seconds: float
    stalled: bool = False
    _seen: object = None
    _since: float = 0.0

    def look(self, *, at: float, state: object) -> bool:
        """Compare the state at a time (of a monotonic clock, in seconds), and return whether `stalled` has changed."""
        before = self.stalled
        if state != self._seen:
            self._seen, self._since, self.stalled = state, at, False
        elif at - self._since > self.seconds:
            self.stalled = True
        return self.stalled != before


def follow(
    *,
    evaluations: Sequence[Evaluation],
    console: Console,
    on_tick: Callable[[], None],
    end_when_stalled: bool,
    stall_seconds: float = STALL_SECONDS,
    note: Callable[[str], None] = lambda _: None,
) -> str | None:
    """Show progress bars until every evaluation has ended, and call `note` with a summary in one line.

    If nothing changes for `stall_seconds`, it prints a message, and another one when something changes, or returns if
    `end_when_stalled` is set.

    Returns:
        None if all are published, else a sentence with the first one that is not, and why.
    """
    ids = [evaluation.pk for evaluation in evaluations]
    watch = StallWatch(seconds=stall_seconds)
    with _bars(console) as progress:
        bars: dict[object, TaskID] = {}
        while True:
            on_tick()
            rows = list(_rows(ids))
            for row in rows:
                if row.pk not in bars:
                    total = row.tasks_total - row.tasks_not_run
                    title = f"{row.suite.slug} {row.submission.planner.name}"
                    bars[row.pk] = progress.add_task(title, total=total, state="")
                progress.update(bars[row.pk], completed=row.done, state=_state(row))  # type: ignore[attr-defined]  # annotated by `_rows`
            note(_line(rows))
            if all(row.state in _ENDED for row in rows):
                return _unpublished(rows)
            state = [(row.state, row.done) for row in rows]  # type: ignore[attr-defined]  # annotated by `_rows`
            changed = watch.look(at=time.monotonic(), state=state)
            if watch.stalled and end_when_stalled:
                return _unpublished(rows, why=f"nothing moved for {stall_seconds:g} seconds: ")
            if changed:
                _say_stall(console=console, stalled=watch.stalled, seconds=stall_seconds)
            time.sleep(POLL_SECONDS)


def _line(rows: Sequence[Evaluation]) -> str:
    """A summary such as `demo: 3 of 14 evaluations ended; openagi gold: 34/185 tasks, Running`."""
    ended = sum(row.state in _ENDED for row in rows)
    current = next((row for row in rows if row.state not in _ENDED), None)
    if current is None:
        return f"demo: all {ended} evaluations ended"
    tasks = f"{current.done}/{current.tasks_total - current.tasks_not_run} tasks"  # type: ignore[attr-defined]  # annotated by `_rows`
    title = f"{current.suite.slug} {current.submission.planner.name}"
    return f"demo: {ended} of {len(rows)} evaluations ended; {title}: {tasks}, {_state(current)}"


def _say_stall(*, console: Console, stalled: bool, seconds: float) -> None:
    if stalled:
        text = (
            f"The demo's own planners have not moved for {seconds:g} seconds. The site stays up and keeps trying; "
            f"the logs are in {settings.DATA_DIR / 'logs'} and {settings.DATA_DIR / 'workers'}."
        )
        console.print(text, style="yellow", markup=False, highlight=False, soft_wrap=True)
    else:
        console.print("The demo's own planners move again.", style="green")


def _state(row: Evaluation) -> str:
    """The state, with its reason while the evaluation waits."""
    waits = row.state in {EvaluationState.QUEUED, EvaluationState.LAUNCHING, EvaluationState.ON_HOLD}
    return f"{row.get_state_display()}: {row.reason_text}" if waits else str(row.get_state_display())


def _unpublished(rows: Sequence[Evaluation], *, why: str = "") -> str | None:
    for row in rows:
        if row.state != EvaluationState.COMPLETED:
            name = row.submission.planner.name
            return f"{name} was not published: {why}{row.get_state_display()}. {row.reason_text}"
    return None


def _rows(ids: Sequence[UUID]) -> QuerySet[Evaluation]:
    done = Count("results", filter=~Q(results__outcome=Outcome.NOT_RUN))
    rows = Evaluation.runs.filter(pk__in=ids).select_related("submission__planner", "suite").annotate(done=done)
    return rows.order_by("created")


def _bars(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description:<23}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[state]}"),
        console=console,
    )


def print_board(*, console: Console, url: str, suite: str = SUITE) -> None:
    """Print the published board of the suite with this slug as a table."""
    snapshot = latest_snapshot(suite=Suite.objects.get(slug=suite, current=True))
    if snapshot is None:
        console.print(f"Nothing is published yet on {suite}.")
        return
    if not console.is_terminal:
        # Files and CI logs need no line breaks.
        console = Console(width=120, file=console.file)
    every = snapshot.suite.shown_columns
    columns = ([column for column in every if column.is_default] or every)[:MOST_COLUMNS]
    table = Table(
        "rank",
        Column("planner", no_wrap=True),
        *(column.label for column in columns),
        title=f"Board of {snapshot.suite.title}",
    )
    shown = []
    for row in snapshot.content["rows"]:
        cells = [_cell(ranged(metrics=row["metrics"], column=column)) for column in columns]
        table.add_row(str(row["rank"] or "\N{EM DASH}"), row["planner"], *cells)
        shown += cells
    summary = BoardSummary.model_validate(snapshot.content["summary"])
    rows = ranked_rows(rows=snapshot.content["rows"], column=snapshot.suite.ranking_column)
    said = sentences(summary=summary, rows=rows)
    said += remarks(summary=summary, rows=rows, columns=snapshot.suite.columns)
    console.print(*(plain(sentence, rows=rows) for sentence in said), markup=False)
    console.print(table)
    if any(cell.endswith(_NO_INTERVAL) for cell in shown):
        console.print(f"{_NO_INTERVAL}: {TOO_FEW}", markup=False, highlight=False)
    coverage = snapshot.content["coverage"]
    console.print(f"{coverage['run']} of {coverage['total']} tasks run. {url}/boards/{suite}/")


def _cell(metric: dict[str, Any] | None) -> str:
    if metric is None:
        return "not measured"
    has_interval = ends_of(low=metric["low"], high=metric["high"]) is not None
    return str(rounded(metric)) if has_interval else f"{rounded(metric)} {_NO_INTERVAL}"
