"""Going from task to task: in the suite's order, or through what the reader has filtered and sorted."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation
from leaderboard.pages.presenters import gather
from leaderboard.results.indicators import mark_columns
from leaderboard.results.task_filters import FACETS, select
from leaderboard.results.task_rows import facts_of, sample_of


class Walk(NamedTuple):
    """Where a task stands among the others."""

    previous: str | None
    next: str | None
    query: str
    """The filters as a query string with its `?`, to be kept on the way; nothing where there are none."""
    place: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which nothing calls
    """Of the filtered tasks; 0 where nothing is filtered."""


def kept_query(parameters: Mapping[str, str], *, suite: Suite) -> str:
    """What of a query string says which tasks are shown, and in which order."""
    known = (*(facet.name for facet in FACETS), *(one.key for one in mark_columns(suite.columns)), "q", "sort")
    kept = {name: parameters[name] for name in known if parameters.get(name)}
    return f"?{urlencode(kept)}" if kept else ""


def walk(*, evaluation: Evaluation, key: str, parameters: Mapping[str, str]) -> Walk:
    """The neighbours of a task. A task that the filters leave out has those of the suite's order."""
    query = kept_query(parameters, suite=evaluation.suite)
    if query:
        chosen = [row.key for row in select(rows=gather(evaluation).index, parameters=parameters).rows]
        if key in chosen:
            previous, following = neighbours(chosen, key)
            return Walk(previous, following, query, chosen.index(key) + 1, len(chosen))
    sample = None if evaluation.verifies_id is None else sample_of(evaluation.pk)
    keys = [one.row.key for one in facts_of(evaluation.suite) if sample is None or one.row.key in sample]
    return Walk(*neighbours(keys, key), query="", place=0, count=0)


def neighbours(keys: Sequence[str], key: str) -> tuple[str | None, str | None]:
    """The keys before and behind one of them."""
    place = keys.index(key)
    return keys[place - 1] if place else None, keys[place + 1] if place + 1 < len(keys) else None
