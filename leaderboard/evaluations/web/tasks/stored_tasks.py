"""The task page of a stored result: its record and artefacts are read from the site's store."""

from collections.abc import Callable

from leaderboard.catalog.models import Task
from leaderboard.evaluations.models import TaskResult
from leaderboard.evaluations.results.objects import object_url, read_record, server_store
from leaderboard.evaluations.web.tasks.artefacts_shown import Reading
from leaderboard.evaluations.web.tasks.task_presenters import TaskPage, task_page
from leaderboard.evaluations.withheld import Withheld


def url_on(split: str) -> Callable[[str], str]:
    """The function that gives the URLs of artefacts of evaluations on this split."""
    return lambda digest: object_url(digest=digest, split=split)


def stored_reading(*, split: str) -> Reading:
    """Reads artefacts of evaluations on this split."""
    return Reading(store=server_store(split=split), url_of=url_on(split))


def stored_task_page(
    *, task: Task, result: TaskResult | None, split: str, withheld: Withheld, samples: str | None = None,
    has_present_rules: bool = False,
) -> TaskPage:  # fmt: skip
    """The page of a task with its stored result, if any (`task_page`)."""
    digest = result.record_digest if result else ""
    return task_page(
        task=task,
        result=result,
        record=read_record(digest=digest, store=server_store(split=split)) if digest else None,
        record_url=url_on(split)(digest) if digest else "",
        reading=stored_reading(split=split),
        split=split,
        withheld=withheld,
        samples=samples,
        has_present_rules=has_present_rules,
    )
