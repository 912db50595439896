"""Filters of the API's lists of evaluations and results, from their query strings."""

import re
from collections.abc import Callable, Set
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from evaluator.core.records import Outcome, Reason
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.acting import acted_on_by
from leaderboard.evaluations.cause_counts import NOT_FOUND, RAN, VALUES
from leaderboard.evaluations.gold import withheld_from
from leaderboard.evaluations.models import Evaluation, EvaluationState, Submission, TaskResult
from leaderboard.evaluations.results.filters import Parameter, one_of, read, whole_number
from leaderboard.evaluations.results.task_filters import TaskRow
from leaderboard.evaluations.results.task_rows import facts_of
from leaderboard.evaluations.visibility import Reader

_DIGITS = re.compile(r"[0-9a-f]{4,32}")


def suite_slugs() -> QuerySet[Suite, str]:
    """Slugs of all suites that there are."""
    return Suite.objects.order_by("slug").values_list("slug", flat=True).distinct()


def _is_yes(text: str) -> bool:
    return text.lower() in {"1", "true"}


def beginning_of_id(text: str) -> str:
    """At least four hexadecimal digits of an id, with or without its hyphens."""
    digits = text.lower().replace("-", "")
    if not _DIGITS.fullmatch(digits):
        raise ValueError(f"{text!r} is not the beginning of an id: 4 to 32 hexadecimal digits.")
    return digits


def _begins(field: str, *, digits: str) -> Q:
    """Whether an id begins so, as a range, which an index answers."""
    first, last = (UUID(hex=digits.ljust(32, filler)) for filler in "0f")
    return Q(**{f"{field}__gte": first, f"{field}__lte": last})


_EVALUATIONS = (
    Parameter("id", beginning_of_id),
    Parameter("suite", one_of(suite_slugs)),
    Parameter("state", one_of(EvaluationState.values)),
    Parameter("planner", whole_number),
    Parameter("mine", _is_yes),
)


def filter_evaluations(found: QuerySet[Evaluation], *, parameters: Any, reader: Reader) -> QuerySet[Evaluation]:
    """The evaluations that a query string asks for: `suite`, `state`, `planner`, `id` as the beginning of an
    evaluation's or a submission's id, and with `mine=1` those that the reader may act on.

    Raises:
        FieldErrors: a parameter has a value that it cannot have.
    """
    values = read(parameters=parameters, declared=_EVALUATIONS).checked()
    columns = {"suite": "suite__slug", "state": "state", "planner": "submission__planner"}
    found = found.filter(**{column: values[name] for name, column in columns.items() if values[name] != ""})
    if digits := values["id"]:
        found = found.filter(_begins("pk", digits=digits) | _begins("submission", digits=digits))
    if values["mine"]:
        mine = Submission.objects.filter(acted_on_by(reader)) if reader.pk else ()
        found = found.filter(submission__in=mine)
    return found


def filter_results(
    found: QuerySet[TaskResult], *, evaluation: Evaluation, parameters: Any, reader: Reader
) -> QuerySet[TaskResult]:
    """The results of an evaluation that a query string asks for: by outcome, reason, cause, words and whether they
    are undecided, and by each facet of the suite that does not follow from gold plans.

    Raises:
        FieldErrors: a parameter has a value that no task has, or is a facet of other suites only.
    """
    tasks = facts_of(evaluation.suite)
    getters: dict[str, Callable[[TaskRow], tuple[str, ...]]] = {"metric": lambda row: (row.metric,)}
    for facet in evaluation.suite.facets.filters:
        if not facet.tells_gold:
            getters[facet.name] = _raw(facet.name)
    for name in sorted(_facets_of_others(names=parameters.keys() - getters.keys())):
        getters[name] = lambda _: ()
    declared = (
        Parameter("outcome", one_of([known.value for known in Outcome])),
        Parameter("reason", one_of([known.value for known in Reason])),
        Parameter("why", one_of(VALUES)),
        Parameter("q", lambda text: text.replace("\0", "").strip()),
        Parameter("undecided", _is_yes),
        *(Parameter(name, one_of(_known(get=get, tasks=tasks))) for name, get in getters.items()),
    )
    values = read(parameters=parameters, declared=declared).checked()
    found = found.filter(**{name: values[name] for name in ("outcome", "reason") if values[name]})
    if cause := values["why"]:
        found = (
            found.filter(causes__isnull=True, outcome__in=RAN)
            if cause == NOT_FOUND
            else found.filter(causes__contains=[{"cause": cause}])
        )
    if chosen := {name: values[name] for name in getters if values[name]}:
        rows = [row.pk for row in tasks if all(value in getters[name](row) for name, value in chosen.items())]
        found = found.filter(task__in=rows)
    if values["undecided"]:
        key = evaluation.suite.ranking_column.undecided
        found = found.filter(**{f"indicators__{key}__gt": 0}) if key else found.none()
    if text := values["q"]:
        in_request, in_plan = Q(task__text__icontains=text), Q(plan_summary__icontains=text)
        # A reader who may not see a plan may not search in it.
        withheld = withheld_from(reader=reader, evaluation=evaluation)
        found = found.filter(in_request if withheld.plan else in_request | in_plan)
    return found


_COMMON = frozenset({"outcome", "reason", "why", "q", "undecided", "fields", "cursor", "page_size", "format"})
"""Parameters of the list that are no facets of suites."""


def _facets_of_others(*, names: Set[str]) -> Set[str]:
    """The names that are facets of some suite: a query if there are any that may be."""
    asked = names - _COMMON
    return asked & facet_names() if asked else frozenset()


def facet_names() -> Set[str]:
    """The facets of some suite by which results can be listed."""
    suites = Suite.objects.only("task_facets")
    return {facet.name for suite in suites for facet in suite.facets.filters if not facet.tells_gold}


def _raw(name: str) -> Callable[[TaskRow], tuple[str, ...]]:
    return lambda row: row.attributes.get(name, ())


def _known(*, get: Callable[[TaskRow], tuple[str, ...]], tasks: tuple[TaskRow, ...]) -> Callable[[], list[str]]:
    return lambda: sorted({value for row in tasks for value in get(row) if value})
