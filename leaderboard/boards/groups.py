"""Scores of a board's best planners by properties of the tasks. The arithmetic is pure; `best_by_group` reads."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from leaderboard.boards.contents import BoardContent
from leaderboard.boards.models import Snapshot
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.models import TaskResult
from leaderboard.site.lru_cache import SharedCache

MOST_PLANNERS = 5
SEVERAL_DOMAINS = "several_domains"
"""Stands for the many groups that name their domains one by one, such as `image_QA,count_object`."""
FACETS = {
    "base": "Base task",
    "degradations": "Degradation",
    "language": "Language",
    "structure": "Structure",
    "level": "Level",
    "group": "Group",
}
_LANGUAGES = {"en": "English", "de": "German"}
WIDTH, ROW_HEIGHT, TOP, LEFT, RIGHT = 640, 26, 30, 230, 16


class GroupTask(NamedTuple):
    """One task and the groups it is in."""

    pk: int
    groups: Mapping[str, Sequence[str]]
    """Values by facet; a task with two degradations is in two groups."""


class Series(NamedTuple):
    """One planner of the plot."""

    number: int
    """From 1; chooses shape and colour."""
    planner: str
    owner: str
    evaluation: str


class Mark(NamedTuple):
    """One planner's mean in one group."""

    number: int
    x: str
    y: str
    words: str


class GroupRow(NamedTuple):
    """One group."""

    label: str
    y: str
    tasks: int
    marks: tuple[Mark, ...]
    values: tuple[str, ...]
    """The means of all planners, for the table; a dash where no task of the group was scored."""
    means: tuple[float | None, ...] = ()
    """The same as numbers."""


class GroupPlot(NamedTuple):
    """All groups of one facet."""

    key: str
    label: str
    height: int
    bottom: int
    rows: tuple[GroupRow, ...]
    ticks: tuple[tuple[str, str], ...]


class Groups(NamedTuple):
    """Everything of a board."""

    series: tuple[Series, ...]
    plots: tuple[GroupPlot, ...]


_groups: SharedCache[tuple[int, str], Groups] = SharedCache(maxsize=16)


def best_by_group(*, suite: Suite, snapshot: Snapshot, content: BoardContent) -> Groups:
    """The groups of a snapshot's best planners: computed once per process, since published results never change."""
    key = (snapshot.pk, snapshot.digest)
    return _groups.get_or_make(key, lambda: _best_by_group(suite=suite, content=content))


def _best_by_group(*, suite: Suite, content: BoardContent) -> Groups:
    series = tuple(
        Series(number, str(row["planner"]), str(row["owner"]), str(row["evaluation"]))
        for number, row in enumerate((row for row in content.rows if row["rank"] is not None), start=1)
        if number <= MOST_PLANNERS
    )
    results = TaskResult.objects.filter(evaluation__in=[one.evaluation for one in series], score__isnull=False)
    scores: dict[str, dict[int, float]] = defaultdict(dict)
    for evaluation, task, score in results.values_list("evaluation_id", "task_id", "score"):
        scores[str(evaluation)][task] = score  # type: ignore[assignment]  # the query excludes null
    tasks = Task.objects.filter(suite=suite).order_by("position").values_list("pk", "structure", "attributes")
    return groups(series=series, tasks=[group_task(*values) for values in tasks], scores=scores)


def group_task(pk: int, structure: str, attributes: Mapping[str, Any]) -> GroupTask:
    """The groups of a task, from what was registered of it."""
    group = str(attributes.get("group") or "")
    values = {
        "base": _words(attributes.get("base")),
        "degradations": [_label(name) for name in attributes.get("degradations") or ()],
        "language": [_LANGUAGES.get(language, language) for language in [attributes.get("language")] if language],
        "structure": _words(structure),
        "level": _words(attributes.get("level")),
        "group": _words(SEVERAL_DOMAINS if "," in group else group),
    }
    return GroupTask(pk, {facet: found for facet, found in values.items() if found})


def groups(
    *, series: Sequence[Series], tasks: Iterable[GroupTask], scores: Mapping[str, Mapping[int, float]]
) -> Groups:
    """Means over the tasks of each group that have a score, a planner's faults among them; groups without any are left
    out, and so is a facet with less than two groups."""
    members: dict[str, dict[str, list[int]]] = {facet: defaultdict(list) for facet in FACETS}
    for task in tasks:
        for facet, values in task.groups.items():
            for value in values:
                members[facet][value].append(task.pk)
    plots = []
    for facet, label in FACETS.items():
        rows = _rows(groups=members[facet], series=series, scores=scores)
        if len(rows) > 1:
            bottom = TOP + ROW_HEIGHT * len(rows)
            plots.append(GroupPlot(facet, label, bottom + 8, bottom, rows, _ticks()))
    return Groups(series=tuple(series), plots=tuple(plots))


def _rows(
    *, groups: Mapping[str, Sequence[int]], series: Sequence[Series], scores: Mapping[str, Mapping[int, float]]
) -> tuple[GroupRow, ...]:
    rows: list[GroupRow] = []
    for label, tasks in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        found = [
            [scores[one.evaluation][task] for task in tasks if task in scores.get(one.evaluation, {})] for one in series
        ]
        if not any(found):
            continue
        y = TOP + ROW_HEIGHT * (len(rows) + 0.5)
        means = [sum(values) / len(values) if values else None for values in found]
        rows.append(
            GroupRow(
                label=label,
                y=f"{y:.1f}",
                tasks=max(len(values) for values in found),
                marks=tuple(
                    Mark(one.number, f"{_place(mean):.1f}", f"{y:.1f}", f"{one.planner}: {mean:.3f} ({label})")
                    for one, mean in zip(series, means, strict=True)
                    if mean is not None
                ),
                values=tuple("—" if mean is None else f"{mean:.3f}" for mean in means),
                means=tuple(means),
            )
        )
    return tuple(rows)


def _ticks() -> tuple[tuple[str, str], ...]:
    return tuple((f"{_place(tenth / 10):.1f}", f"{tenth / 10:.1f}") for tenth in range(0, 11, 2))


def _place(value: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * min(max(value, 0.0), 1.0)


def _words(name: object) -> list[str]:
    return [_label(name)] if name else []


def _label(name: object) -> str:
    if name in {"qa", "vqa"}:
        return str(name).upper()
    words = str(name).replace("_", " ")
    return words[:1].upper() + words[1:]
