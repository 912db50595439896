"""`manage.py watch_kubernetes`: reconcile a worker's evaluations as soon as its pod changes in the cluster.

Without it the results are the same, up to one sweep later.
"""

import logging
import signal
import threading
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, close_old_connections

from leaderboard.evaluations.models import Attempt, AttemptState
from leaderboard.platform.liveness import alive_file
from leaderboard.queue.launching import connected_cluster
from leaderboard.queue.stopping import enqueue_reconcile

logger = logging.getLogger(__name__)


class Command(BaseCommand):
    """Watches the pods of worker pools until it is stopped."""

    help = "Watch the pods of worker pools, and reconcile their evaluations at once."

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        from gpu_jobs.launchers.kubernetes.client import Follower

        try:
            _, client = connected_cluster()
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from error
        stopped = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopped.set())
        follower = Follower(client=client, on_change=reconcile_soon, stopped=stopped)
        # The thread ends with the process; a watch may take a minute to notice the stop.
        pods = threading.Thread(target=follower.follow, kwargs={"beat": alive_file()}, daemon=True)
        pods.start()
        while pods.is_alive() and not stopped.wait(1.0):
            pass
        if not stopped.is_set():
            raise CommandError("The watch has ended with an error; see the log.")


def reconcile_soon(worker: str) -> None:
    """Request a reconcile of the evaluations whose tasks a worker holds. If the database is down, the sweep does
    it later."""
    live = Attempt.objects.filter(worker=worker, state=AttemptState.LIVE)
    try:
        for evaluation in live.values_list("shard__evaluation", flat=True):
            enqueue_reconcile(evaluation)
    except DatabaseError as error:
        logger.warning("%s: %s", worker, error)
        # The thread goes on, and would keep the broken connection.
        close_old_connections()
