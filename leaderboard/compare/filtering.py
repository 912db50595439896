"""Filtering the tasks of a comparison: filters combine, and each value knows how many tasks it would leave."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evaluator.suites.base import Column
from leaderboard.compare.comparing import NOBODY, TaskDifference
from leaderboard.compare.services import LETTERS, Comparison
from leaderboard.compare.words import words_of
from leaderboard.pages.presenters import LEVELS

FACETS: Mapping[str, str] = {
    "base": "Base task",
    "structure": "Structure",
    "degradation": "Degradation",
    "language": "Language",
    "steps": "Gold plan",
    "level": "Level",
    "group": "Group",
}


class Choice(NamedTuple):
    """One value to filter by."""

    value: str
    words: str
    count: int  # type: ignore[assignment]  # hides tuple.count, which nothing calls
    chosen: bool


class Filter(NamedTuple):
    """Values to filter by."""

    name: str
    label: str
    choices: tuple[Choice, ...]


def failing_filters(task: TaskDifference, *, comparison: Comparison, chosen: Mapping[str, str]) -> tuple[str, ...]:
    """Names of the filters that the task does not pass."""
    if not chosen:
        return ()
    facets = comparison.tasks[task.index].facets
    return tuple(
        name
        for name, value in chosen.items()
        if value not in ((_winner(task),) if name == "winner" else facets.get(name, ()))
    )


def _winner(task: TaskDifference) -> str:
    """The letter of who is best alone; `equal` or `several` where nobody is."""
    if task.winner != NOBODY:
        return LETTERS[int(task.winner)]
    return "several" if task.spread else "equal"


def filters_of(
    *,
    comparison: Comparison,
    tasks: Sequence[TaskDifference],
    failing: Sequence[tuple[str, ...]],
    facets: Sequence[str],
    chosen: Mapping[str, str],
    metric: Column,
) -> tuple[Filter, ...]:
    """Each value with the number of tasks that it would leave under all other filters."""

    def left_by_others(name: str) -> list[TaskDifference]:
        return [task for task, names in zip(tasks, failing, strict=True) if not names or names == (name,)]

    winners = _winners(evaluations=len(comparison.scores), metric=metric)
    counted = Counter(_winner(task) for task in left_by_others("winner"))
    picked = chosen.get("winner", "")
    found = [Filter("winner", "Best", tuple(Choice(one, winners[one], counted[one], one == picked) for one in winners))]
    for facet in facets:
        values = _values(facet=facet, comparison=comparison, tasks=tasks)
        picked = chosen.get(facet, "")
        counted = Counter(
            value for task in left_by_others(facet) for value in comparison.tasks[task.index].facets.get(facet, ())
        )
        choices = tuple(
            Choice(value, words_of(facet=facet, value=value), counted[value], value == picked)
            for value in dict.fromkeys([*values, *([picked] if picked else [])])
        )
        if len(choices) > 1 or picked:
            found.append(Filter(name=facet, label=FACETS[facet], choices=choices))
    return tuple(found)


def _values(*, facet: str, comparison: Comparison, tasks: Sequence[TaskDifference]) -> list[str]:
    """The values of a facet among these tasks, in the order in which the groups are shown."""
    places = sorted(task.index for task in tasks)
    found = list(dict.fromkeys(value for place in places for value in comparison.tasks[place].facets.get(facet, ())))
    return sorted(found, key=lambda value: place_of(facet=facet, value=value))


def place_of(*, facet: str, value: str) -> int:
    """Levels and numbers of steps have an order of their own; all others keep the suite's."""
    if facet == "level":
        return LEVELS.index(value) if value in LEVELS else len(LEVELS)
    return int(value) if facet == "steps" else 0


def _winners(*, evaluations: int, metric: Column) -> dict[str, str]:
    """The values of the filter by who is best, in words."""
    if not metric.ordered:
        return {"several": "They differ", "equal": "Equal"}
    if evaluations == 2:
        return {**{letter: f"{letter} is better" for letter in LETTERS[:2]}, "equal": "Equal"}
    alone = {letter: f"{letter} alone" for letter in LETTERS[:evaluations]}
    return {**alone, "several": "Several share it", "equal": "All equal"}
