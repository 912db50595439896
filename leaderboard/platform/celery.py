"""The Celery app, and the decorator for tasks.

Messages carry only ids and may be lost or duplicated: the database is authoritative, and the sweep starts whatever a
lost message would have started.
"""

import inspect
import logging
import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from celery import Celery, Task, signals
from celery import shared_task as _shared_task  # noqa: TID251 - the one place where it may be used
from celery.states import FAILURE
from django.conf import settings
from django.db import close_old_connections, transaction
from kombu.exceptions import OperationalError
from kombu.transport import TRANSPORT_ALIASES

from evaluator.core.private_files import private_folder
from gpu_jobs.logs.lines import named, present_ids
from gpu_jobs.tracing.options import name_service
from gpu_jobs.tracing.spans import failed, flush, ids_for_logs, traceparent
from leaderboard.platform.hooks import Hook
from leaderboard.platform.liveness import show_signs_of_life
from leaderboard.platform.tracing.evaluations import HEADER as TRACE_HEADER
from leaderboard.platform.tracing.evaluations import task_span

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "leaderboard.platform.settings")

logger = logging.getLogger(__name__)
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
SENT_HEADER = "planarena_sent"
"""Message header with the time of sending, in seconds since 1970 by the sender's clock."""
REQUEST_HEADER = "planarena_request"
"""Message header with the id of the request that sent the message, or empty."""
_scopes: dict[str, ExitStack] = {}
"""Scopes of running tasks, by task id."""
task_succeeded: Hook[str] = Hook()
"""Called in the queue's process with the name of a successful task."""

TRANSPORT_ALIASES["filesystem"] = "leaderboard.platform.file_broker:Transport"

app = Celery("planarena")
# Without the namespace, Celery silently ignores every new-style name.
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.autodiscover_tasks(
    [
        "leaderboard.boards.signing",
        "leaderboard.operations.backups",
        "leaderboard.operations.leaving",
        "leaderboard.operations.monitoring",
        "leaderboard.platform.uploads",
    ]
)


@signals.task_prerun.connect
@signals.task_postrun.connect
def _give_connections_back(**_: Any) -> None:
    """As at the end of a request: the connection returns to the pool, which checks it before reuse."""
    close_old_connections()


@signals.before_task_publish.connect
def _note_when_and_for_whom(headers: dict[str, Any], **_: Any) -> None:
    headers[SENT_HEADER] = time.time()
    headers[REQUEST_HEADER] = present_ids().get("request", "")
    if sender := traceparent():
        headers[TRACE_HEADER] = sender


@signals.setup_logging.connect
def _keep_logging(loglevel: int | str | None, **_: Any) -> None:
    """Keep Celery from replacing the handlers of Django's settings. The requested level applies to Celery's logger."""
    logging.getLogger("celery").setLevel(loglevel or logging.NOTSET)


@signals.task_success.connect
def _tell_of_success(sender: Any, **_: Any) -> None:
    task_succeeded.call(sender.name)


@signals.task_prerun.connect
def _name_lines(task_id: str, task: Any, args: Any, kwargs: Any, **_: Any) -> None:
    """Add the task's ids to its log lines."""
    arguments = inspect.signature(task.run).bind_partial(*args, **kwargs).arguments
    ids = {"task": task.__name__, "request": getattr(task.request, REQUEST_HEADER, "")}
    ids |= {"evaluation": arguments.get("evaluation_id"), "worker": arguments.get("worker")}
    named_ids = {name: str(value) for name, value in ids.items() if value}
    scope = _scopes[task_id] = ExitStack()
    sent_by = getattr(task.request, TRACE_HEADER, "") or ""
    scope.enter_context(task_span(name=task.__name__, sent_by=sent_by, ids=named_ids))
    scope.enter_context(named(**named_ids, **ids_for_logs()))


@signals.task_postrun.connect
def _end_names(task_id: str, state: str | None, **_: Any) -> None:
    if state == FAILURE:
        failed(FAILURE)
    if (scope := _scopes.pop(task_id, None)) is not None:
        scope.close()


@signals.worker_init.connect
def _name_service(**_: Any) -> None:
    name_service("planarena-queue")


@signals.worker_process_shutdown.connect
def _export_spans(**_: Any) -> None:
    """Celery's child processes exit without running `atexit` functions."""
    flush()


show_signs_of_life(app)

for _folder in ("data_folder_in", "control_folder"):
    if _path := settings.CELERY_BROKER_TRANSPORT_OPTIONS.get(_folder):
        private_folder(Path(_path))


def task(function: Callable[Parameters, Result]) -> "Task[Parameters, Result]":
    """Define a task that is acknowledged after it has run, and runs again if its worker process died. Tasks must
    therefore be idempotent; their docstrings state pre- and post-conditions."""
    options: dict[str, Any] = {"acks_late": True, "reject_on_worker_lost": True, "ignore_result": True}
    defined: Task[Parameters, Result] = _shared_task(**options)(function)
    return defined


def send_on_commit(name: str, *args: str) -> None:
    """Send the message of the task `name` once the current transaction is committed.

    If the broker is down, Celery's `delay_on_commit` would raise in a request whose changes are committed. Here the
    message is lost, which only delays the work until the next sweep.
    """

    # Not a partial: Django fails to log an error in one, and raises instead.
    def send() -> None:
        try:
            app.send_task(name, args=args, retry=False)
        except (OperationalError, OSError) as error:
            logger.warning("no message for %s%s, which only delays it: the broker is down (%s)", name, args, error)

    transaction.on_commit(send, robust=True)
