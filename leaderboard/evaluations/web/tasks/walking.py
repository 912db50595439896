"""Links to the previous and next task: in the suite's order, or in the reader's selection."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.results.indicators import mark_columns
from leaderboard.evaluations.results.task_filters import kept_query, select
from leaderboard.evaluations.results.task_rows import facts_of, sample_of
from leaderboard.evaluations.submitted import is_submitted
from leaderboard.evaluations.web.presenters import gather


class Walk(NamedTuple):
    """The neighbours of a task."""

    previous: str | None
    next: str | None
    query: str
    """The filters as a query string with its `?`, to be kept on the way; nothing where there are none."""
    place: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which nothing calls
    """Number of filtered tasks; 0 without filters."""


def query_of(*, suite: Suite, parameters: Mapping[str, str]) -> str:
    """The part of a query string that selects and sorts tasks."""
    marks = [column.key for column in mark_columns(suite.columns)]
    return kept_query(parameters=parameters, suite=suite.facets, marks=marks)


def walk(*, evaluation: Evaluation, key: str, parameters: Mapping[str, str]) -> Walk:
    """The neighbours of a task. A task that the filters leave out has those of the suite's order."""
    query = query_of(suite=evaluation.suite, parameters=parameters)
    if query:
        chosen = [row.key for row in select(tasks=gather(evaluation).tasks, parameters=parameters).rows]
        if key in chosen:
            previous, following = neighbours(chosen, key)
            return Walk(previous, following, query, chosen.index(key) + 1, len(chosen))
    sample = None if is_submitted(evaluation) else sample_of(evaluation.pk)
    keys = [row.key for row in facts_of(evaluation.suite) if sample is None or row.key in sample]
    return Walk(*neighbours(keys, key), query="", place=0, count=0)


def neighbours(keys: Sequence[str], key: str) -> tuple[str | None, str | None]:
    """The keys before and after one of them."""
    place = keys.index(key)
    return keys[place - 1] if place else None, keys[place + 1] if place + 1 < len(keys) else None
