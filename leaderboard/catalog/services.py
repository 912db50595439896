"""Registering suites of the `evaluator` package in the database."""

from collections.abc import Iterator
from dataclasses import asdict
from enum import StrEnum
from typing import Any

from django.db import transaction

from evaluator.core.plans.model import plan_to_json
from evaluator.core.suites.base import Suite as LibrarySuite
from leaderboard.catalog.models import Suite, Task


class Registered(StrEnum):
    """What registering a suite did."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"


def register_suite(suite: LibrarySuite) -> Registered:
    """Make a suite of the library the current one of its slug. Registering it again changes nothing.

    Before: nothing.
    After: a row with the suite's digest is current and has all its tasks; rows of other digests stay, not current.
    """
    texts = _texts(suite)
    with transaction.atomic():
        # Locks the versions that there are, so that two processes that register at once wait for each other.
        versions = list(Suite.objects.select_for_update().filter(slug=suite.slug).order_by("pk"))
        found = next((row for row in versions if row.digest == suite.digest), None)
        if found is not None and found.current and all(getattr(found, name) == value for name, value in texts.items()):
            return Registered.UNCHANGED
        Suite.objects.filter(slug=suite.slug, current=True).update(current=False)
        if found is not None:
            Suite.objects.filter(pk=found.pk).update(current=True, **texts)
            return Registered.UPDATED
        row = suite_row(suite)
        row.save()
        Task.objects.bulk_create(task_rows(suite, row=row))
        return Registered.CREATED


def suite_row(suite: LibrarySuite) -> Suite:
    """An unsaved row of a suite."""
    return Suite(slug=suite.slug, version=suite.version, digest=suite.digest, current=True, **_texts(suite))


def task_rows(suite: LibrarySuite, *, row: Suite) -> Iterator[Task]:
    """Unsaved rows of a suite's tasks, in order.

    Args:
        suite: of the library.
        row: of the suite.
    """
    for position, task in enumerate(suite.tasks):
        yield Task(
            suite=row,
            key=task.key,
            position=position,
            text=task.text,
            structure=task.structure,
            metric=task.metric,
            attributes=task.attributes,
            gold=None if task.gold is None else plan_to_json(task.gold),
        )


def _texts(suite: LibrarySuite) -> dict[str, Any]:
    """The columns of a suite that a later release may change without another digest."""
    return {
        "title": suite.title,
        "description": suite.description,
        "conditions": {**asdict(suite.conditions), "splits": list(suite.conditions.splits)},
        "panels": [panel.value for panel in suite.panels],
        "task_facets": suite.facets.to_json(),
        "scoring": suite.scoring,
        "idle_tools": list(suite.idle_tools),
        "metrics": [column.to_json() for column in suite.metrics],
    }


def primary_metric(suite: Suite) -> dict[str, Any]:
    """The column that the board is ranked by: the one marked primary, else the first."""
    return next((metric for metric in suite.metrics if metric.get("primary")), suite.metrics[0])
