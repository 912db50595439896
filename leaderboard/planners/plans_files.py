"""Plans files, stored by task, since workers get only the plans of their tasks."""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import OuterRef, QuerySet, Subquery
from django.utils import timezone

from evaluator.core import canonical_json
from evaluator.core.plans_file import MAX_BYTES, PlansFileError, plans_of, read_plans
from evaluator.core.plans_file import PlansFile as FileContent
from evaluator.core.storable import keepable_text, unkeepable
from evaluator.interop.imports.run import VERSION, ImportDocument, RunError, import_in
from gpu_jobs.contract import GivenPlan
from leaderboard.catalog.models import Task
from leaderboard.people.models import User
from leaderboard.planners.models import FilePlan, Planner, PlansFile
from leaderboard.platform.problems import FieldErrors

LONGEST_KEY = 200
_DIGEST = re.compile("[0-9a-f]{64}")
_UNUSED_FOR = timedelta(days=1)
"""How long a file is kept that was never submitted."""


class Content(NamedTuple):
    """A parsed file."""

    plans: FileContent
    imported: ImportDocument | None = None
    """The imported run that it is; None: a plans file."""

    def digest(self) -> str:
        """Digest of the plans, and of usage, model and settings of an imported run."""
        if self.imported is None:
            return self.plans.digest()
        usage = {task: dict(counts) for task, counts in self.imported.usage.items()}
        return canonical_json.digest({"plans": self.plans.digest(), "source": self.source(), "usage": usage})

    def source(self) -> dict[str, Any]:
        """`PlansFile.source`."""
        if self.imported is None:
            return {}
        known = ("format", "producer", "model", "run", "created", "sha256")
        said = {name: keepable_text(str(self.imported.source.get(name, ""))[:LONGEST_KEY]) for name in known}
        return {"suite": self.imported.suite, **said}


def content_of(value: Any) -> Content:
    """Read a file from its parsed JSON, a plans file or a document of `planarena import`.

    Raises:
        PlansFileError: it is neither.
    """
    if not isinstance(value, Mapping) or value.get("version") != VERSION:
        return Content(plans_of(value))
    try:
        document = ImportDocument.of(value)
    except RunError as error:
        raise PlansFileError(str(error)) from error
    if unkeepable(dict(document.source)):
        raise PlansFileError('The document has a "source" with characters that cannot be stored.')
    return Content(FileContent(plans=document.plans), document)


def read(data: bytes, *, field: str = "plans_file") -> Content:
    """Read a file.

    Raises:
        FieldErrors: it is invalid; every problem is a sentence of `field`.
    """
    try:
        document = import_in(data) if len(data) <= MAX_BYTES else None
        content = Content(read_plans(data)) if document is None else content_of(json.loads(data))
    except PlansFileError as error:
        raise FieldErrors({field: list(error.problems)}) from error
    except RunError as error:
        raise FieldErrors({field: [str(error)]}) from error
    check_keys(content.plans, field=field)
    return content


def check_keys(content: FileContent, *, field: str) -> None:
    """Refuse keys that cannot be tasks of any suite.

    Raises:
        FieldErrors: a key is empty or too long.
    """
    if wrong := [key for key in content.plans if not 1 <= len(key) <= LONGEST_KEY]:
        raise FieldErrors(
            {field: [f"A key of the file has {len(wrong[0])} characters; tasks have 1 to {LONGEST_KEY}."]}
        )


def check_tasks(content: FileContent, *, suite: str, field: str = "plans_file") -> list[str]:
    """The suite's tasks that the file leaves out.

    Raises:
        FieldErrors: it has plans for tasks that the suite does not have.
    """
    tasks = frozenset(tasks_of(suite))
    try:
        content.check(tasks=tasks, suite=suite)
    except PlansFileError as error:
        raise FieldErrors({field: list(error.problems)}) from error
    return content.missing(tasks)


def keep(*, owner: User, content: Content) -> PlansFile:
    """Store a file, or return an equal stored one. Deletes old files that were never submitted."""
    digest = content.digest()
    with transaction.atomic():
        _unused(owner).filter(created__lt=timezone.now() - _UNUSED_FOR).exclude(digest=digest).delete()
        # Waits for a concurrent upload of an equal file.
        PlansFile.objects.bulk_create(
            [PlansFile(owner=owner, digest=digest, count=len(content.plans.plans), source=content.source())],
            ignore_conflicts=True,
        )
        file = PlansFile.objects.select_for_update().get(owner=owner, digest=digest)
        usage = {} if content.imported is None else content.imported.usage
        if not file.plans.exists():
            FilePlan.objects.bulk_create(
                FilePlan(
                    file=file,
                    task=task,
                    plan=json.dumps(given.plan, ensure_ascii=False),
                    alternatives=json.dumps(given.alternatives, ensure_ascii=False),
                    usage=dict(usage.get(task, {})),
                )
                for task, given in content.plans.plans.items()
            )
    return file


def find(*, owner: User, digest: str) -> PlansFile | None:
    """The owner's file with this digest; None if there is none or the digest is invalid."""
    if not _DIGEST.fullmatch(digest):
        return None
    return PlansFile.objects.filter(owner=owner, digest=digest).first()


def strange_tasks(*, file: PlansFile, suite: str) -> list[str]:
    """The file's keys that are no task of the suite, at most five."""
    known = Task.objects.filter(suite__slug=suite, suite__current=True).values("key")
    return list(file.plans.exclude(task__in=known).order_by("task").values_list("task", flat=True)[:5])


def tasks_of(suite: str) -> QuerySet[Task, str]:
    """Keys of the current suite's tasks."""
    return Task.objects.filter(suite__slug=suite, suite__current=True).values_list("key", flat=True)


def plans_for(*, planner: Planner, tasks: Sequence[str]) -> dict[str, GivenPlan]:
    """The plans of these tasks for a lease; tasks without a plan are omitted."""
    rows = FilePlan.objects.filter(file__owner=planner.owner_id, file__digest=planner.plans_digest, task__in=tasks)
    return {
        row.task: GivenPlan(
            plan=json.loads(row.plan), alternatives=tuple(json.loads(row.alternatives)), usage=row.usage
        )
        for row in rows
    }


def tasks_with_plan(*, planner: Planner) -> frozenset[str]:
    """Keys of the tasks that the planner's file has a plan for."""
    rows = FilePlan.objects.filter(file__owner=planner.owner_id, file__digest=planner.plans_digest)
    return frozenset(rows.values_list("task", flat=True))


def _unused(owner: User) -> QuerySet[PlansFile]:
    used = Planner.objects.filter(owner=OuterRef("owner"), plans_digest=OuterRef("digest")).values("pk")[:1]
    return PlansFile.objects.filter(owner=owner).annotate(used=Subquery(used)).filter(used=None)
