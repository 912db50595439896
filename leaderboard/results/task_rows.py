"""Reading the tasks of an evaluation: what a suite says of them once per process, and the results of each evaluation.

A suite's row never changes, a final state stays final, and no result comes after it (`ARCHITECTURE.md`, "The queue"),
so that both are kept in memory: the facts by suite, and what was gathered of evaluations that have ended.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import QuerySet

from evaluator.suites.base import Column
from evaluator.suites.registry import suite_of
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.gold import Withheld, withheld_from
from leaderboard.evaluations.models import Evaluation, Shard, TaskResult
from leaderboard.results.failures import cause_key
from leaderboard.results.indicators import mark_columns, marks
from leaderboard.results.task_filters import PENDING, TaskRow
from leaderboard.site.lru_cache import SharedCache

SEVERAL_DOMAINS = "several_domains"
"""Stands for the many groups that name their domains one by one, such as `image_QA,count_object`."""
NOTHING_GIVEN = "words only"
_ARROW = " → "
_CUT = "…"
_SUITES_KEPT = 8


class Facts(NamedTuple):
    """What a suite says of one of its tasks, by the names of `TaskRow`."""

    pk: int
    row: TaskRow
    """Without a result."""


class Result(NamedTuple):
    """The columns of `TaskResult` that a row takes."""

    outcome: str
    reason: str
    reason_text: str
    score: float | None
    indicators: Mapping[str, float]
    seconds: float
    plan_summary: str
    updated: datetime


_facts: SharedCache[tuple[int, str], tuple[Facts, ...]] = SharedCache(maxsize=_SUITES_KEPT)


def task_rows(evaluation: Evaluation) -> list[TaskRow]:
    """Every task of the suite, or of a verification's sample, with its result in this evaluation, if there is one."""
    rows = TaskResult.objects.filter(evaluation=evaluation.pk).values_list("task", *Result._fields)
    # Made once for all readers, so that not even operators get here what others may not see.
    withheld = withheld_from(reader=None, evaluation=evaluation)
    results = {task: _open_result(Result(*values), withheld=withheld) for task, *values in rows}
    facts = facts_of(evaluation.suite)
    if withheld.gold:
        closed: dict[str, Any] = {"steps": "", "flags": (), "plan_is_withheld": withheld.plan}
        facts = tuple(one._replace(row=one.row._replace(**closed)) for one in facts)
    if evaluation.verifies_id is not None:
        sampled = sample_of(evaluation.pk)
        facts = tuple(one for one in facts if one.row.key in sampled)
    columns = mark_columns(evaluation.suite.columns)
    return [_row(facts=one, result=results.get(one.pk), columns=columns) for one in facts]


def _open_result(result: Result, *, withheld: Withheld) -> Result:
    return result._replace(plan_summary="", reason_text="") if withheld.plan else result


def facts_of(suite: Suite) -> tuple[Facts, ...]:
    """The tasks of a suite in their order, read from the database once per process."""
    return _facts.get_or_make((suite.pk, suite.digest), lambda: _read(suite))


def sample_of(evaluation_id: UUID) -> frozenset[str]:
    """The keys of the tasks that an evaluation's shards hold."""
    shards = Shard.objects.filter(evaluation=evaluation_id).values_list("task_keys", flat=True)
    return frozenset(key for keys in shards for key in keys)


def tasks_of(evaluation: Evaluation) -> QuerySet[Task]:
    """The tasks that an evaluation is about: a verification runs a sample of the suite's."""
    tasks = Task.objects.filter(suite=evaluation.suite_id)
    return tasks if evaluation.verifies_id is None else tasks.filter(key__in=sample_of(evaluation.pk))


def tools_of(plan_summary: str) -> tuple[str, ...]:
    """The tools of a plan's summary, each once; what was cut off its end is left out."""
    names = [name for name in plan_summary.split(_ARROW) if name and not name.endswith(_CUT)]
    return tuple(dict.fromkeys(names))


@lru_cache(maxsize=_SUITES_KEPT)
def modalities(*, slug: str, digest: str) -> Mapping[str, str]:
    """For each task what its request gives and, where that is one thing, what it expects: `image, text → text`.

    Empty where this release does not know the suite, or knows it otherwise.
    """
    try:
        suite = suite_of(slug)
    except LookupError:
        return {}
    if suite.digest != digest:
        return {}
    found = {}
    for task in suite.tasks:
        given = ", ".join(sorted({str(kind) for kind in task.resources.values()})) or NOTHING_GIVEN
        found[task.key] = given if task.expects is None else f"{given}{_ARROW}{task.expects}"
    return found


def forget_rows() -> None:
    """Empty the memory of this process, for tests that change what never changes."""
    _facts.clear()


def _read(suite: Suite) -> tuple[Facts, ...]:
    columns = "pk", "key", "position", "text", "structure", "metric", "attributes"
    tasks = Task.objects.filter(suite=suite.pk).order_by("position").values(*columns)
    known = modalities(slug=suite.slug, digest=suite.digest)
    return tuple(_facts_of(task=task, modality=known.get(task["key"], "")) for task in tasks)


def _facts_of(*, task: Mapping[str, Any], modality: str) -> Facts:
    attributes = task["attributes"]
    row = TaskRow(
        key=task["key"],
        position=task["position"],
        text=task["text"],
        structure=task["structure"],
        metric=task["metric"],
        base=str(attributes.get("base") or ""),
        degradations=tuple(attributes.get("degradations") or ()),
        language=str(attributes.get("language") or ""),
        steps=str(attributes.get("gold_steps") or ""),
        modality=modality,
        group=_group(str(attributes.get("group") or "")),
        level=str(attributes.get("level") or ""),
        flags=tuple(attributes.get("flags") or ()),
        active=attributes.get("active"),
        outcome=PENDING,
        reason="",
        reason_text="",
        score=None,
        seconds=None,
        plan_summary="",
    )
    return Facts(pk=task["pk"], row=row)


def _row(*, facts: Facts, result: Result | None, columns: Sequence[Column]) -> TaskRow:
    if result is None:
        return facts.row
    return facts.row._replace(
        outcome=result.outcome,
        reason=result.reason,
        reason_text=result.reason_text,
        score=result.score,
        seconds=result.seconds,
        plan_summary=result.plan_summary,
        tools=tools_of(result.plan_summary),
        ended=result.updated,
        cause=cause_key(outcome=result.outcome, reason=result.reason, text=result.reason_text),
        marks=marks(columns, outcome=result.outcome, indicators=result.indicators),
    )


def _group(name: str) -> str:
    return SEVERAL_DOMAINS if "," in name else name
