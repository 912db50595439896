"""The previous and next task of a task page."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from leaderboard.catalog.models import Suite
from leaderboard.evaluations.results.figures import mark_columns
from leaderboard.evaluations.results.task_rows import kept_query


class Walk(NamedTuple):
    """The neighbours of a task."""

    previous: str | None
    next: str | None
    query: str
    """The filters as a query string with its `?`; empty without filters."""
    place: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which nothing calls
    """Number of filtered tasks; 0 without filters."""


def query_of(*, suite: Suite, parameters: Mapping[str, str]) -> str:
    """The part of a query string that selects and sorts tasks."""
    marks = [column.key for column in mark_columns(suite.columns)]
    return kept_query(parameters=parameters, suite=suite.facets, marks=marks)


def walk_over(*, chosen: Sequence[str], keys: Sequence[str], key: str, query: str) -> Walk:
    """The neighbours of a task in the filtered order, or in the suite's order if the filters exclude it.

    Args:
        chosen: keys of the tasks that the query selects; empty without one.
        keys: of all tasks of the evaluation.
        key: of the task.
        query: the filters as a query string with its `?`.
    """
    if query and key in chosen:
        return Walk(*neighbours(chosen, key), query, chosen.index(key) + 1, len(chosen))
    return Walk(*neighbours(keys, key), query="", place=0, count=0)


def neighbours(keys: Sequence[str], key: str) -> tuple[str | None, str | None]:
    """The keys before and after one of them."""
    place = keys.index(key)
    return keys[place - 1] if place else None, keys[place + 1] if place + 1 < len(keys) else None
