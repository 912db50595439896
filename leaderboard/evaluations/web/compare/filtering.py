"""Filtering the tasks of a comparison: by who is best, and by the suite's facets."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from evaluator.core.suites.base import Column
from leaderboard.evaluations.cause_counts import WHY, ordered, place_of_cause, words_of_cause
from leaderboard.evaluations.results.filters import Facet, Filter, chosen_of, index, select
from leaderboard.evaluations.results.task_filters import place_of, words_of
from leaderboard.evaluations.web.compare.comparing import NOBODY, TaskDifference
from leaderboard.evaluations.web.compare.services import LETTERS, Comparison


class Filtered(NamedTuple):
    """The tasks that filters leave, in their order."""

    tasks: tuple[TaskDifference, ...]
    filters: tuple[Filter, ...]
    is_filtered: bool


def filtered(
    *, tasks: Sequence[TaskDifference], comparison: Comparison, metric: Column, parameters: Mapping[str, str]
) -> Filtered:
    """Apply the filters that a query string asks for."""
    facets = [_winner_facet(comparison=comparison, metric=metric)]
    for facet in comparison.facets:
        values = _facet_values(name=facet.name, comparison=comparison)
        facets.append(Facet(facet.name, facet.label, values, words_of(facet), sort_key=place_of(facet)))
    facets.append(Facet("why", WHY, _causes(comparison), words_of_cause, sort_key=place_of_cause))
    # Indexed in the suite's order, which is that of the values.
    indexed = index(rows=sorted(tasks, key=lambda task: task.index), facets=facets)
    chosen = chosen_of(parameters=parameters, facets=facets)
    found = select(indexed=indexed, chosen=chosen)
    left = {task.index for task in found.rows}
    return Filtered(tuple(task for task in tasks if task.index in left), found.filters, bool(chosen))


def _facet_values(*, name: str, comparison: Comparison) -> Callable[[TaskDifference], tuple[str, ...]]:
    return lambda task: comparison.tasks[task.index].facets.get(name, ())


def _causes(comparison: Comparison) -> Callable[[TaskDifference], tuple[str, ...]]:
    """The causes that a task has in any of the evaluations."""
    return lambda task: ordered(code for causes in comparison.causes for code in causes[task.index] or ())


def _winner_facet(*, comparison: Comparison, metric: Column) -> Facet[TaskDifference]:
    words = _winners(evaluations=len(comparison.scores), metric=metric)
    return Facet(
        "winner", "Best", lambda task: (_winner(task),), lambda value: words.get(value, value), known=tuple(words)
    )


def _winner(task: TaskDifference) -> str:
    """The letter of the single best; `equal` or `several` without one."""
    if task.winner != NOBODY:
        return LETTERS[int(task.winner)]
    return "several" if task.spread else "equal"


def _winners(*, evaluations: int, metric: Column) -> dict[str, str]:
    """The values of the filter by who is best, in words."""
    if not metric.ordered:
        return {"several": "They differ", "equal": "Equal"}
    if evaluations == 2:
        return {**{letter: f"{letter} is better" for letter in LETTERS[:2]}, "equal": "Equal"}
    alone = {letter: f"{letter} alone" for letter in LETTERS[:evaluations]}
    return {**alone, "several": "Several share it", "equal": "All equal"}
