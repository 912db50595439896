"""Counting the steps of results when they arrive."""

from collections.abc import Iterable
from itertools import chain

from django.db import connection

from evaluator.core.records import ResultRecord, StepRun
from leaderboard.operations.models import ToolUsage

_LONGEST_NAME = 120


def count_steps(records: Iterable[ResultRecord]) -> None:
    """Add the steps of records to the sums of their tools, in the caller's transaction.

    Before: the caller has just inserted these results, and does little more before it commits: everybody else who
    delivers steps of the same tools waits until then.
    After: each step is counted once, or not at all if the transaction is rolled back.
    """
    sums: dict[str, tuple[int, int, float]] = {}
    for step in _steps(records):
        # Names come from workers.
        tool = step.tool.replace("\x00", "")[:_LONGEST_NAME]
        steps, cached, seconds = sums.get(tool, (0, 0, 0.0))
        sums[tool] = (steps + 1, cached + step.cached, seconds + step.seconds)
    if not sums:
        return
    # In one order for all, or two deliveries could wait for each other.
    rows = [(tool, *sums[tool]) for tool in sorted(sums)]
    table = ToolUsage._meta.db_table
    values = ", ".join(["(%s, %s, %s, %s)"] * len(rows))
    sql = (
        f"INSERT INTO {table} AS known (tool, steps, cached, seconds) VALUES {values} "  # noqa: S608 - our own names
        "ON CONFLICT (tool) DO UPDATE SET steps = known.steps + EXCLUDED.steps, "
        "cached = known.cached + EXCLUDED.cached, seconds = known.seconds + EXCLUDED.seconds"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, list(chain.from_iterable(rows)))


def _steps(records: Iterable[ResultRecord]) -> Iterable[StepRun]:
    return (step for record in records for sample in record.samples for step in sample.steps)
