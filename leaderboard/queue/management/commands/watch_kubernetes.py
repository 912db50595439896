"""`manage.py watch_kubernetes`: reconcile an evaluation as soon as something of it changes in the cluster.

Without it everything comes out the same, up to one sweep later.
"""

import signal
import threading
from typing import Any
from uuid import UUID

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError

from leaderboard.queue.launching import connected_cluster
from leaderboard.queue.queueing import enqueue_reconcile
from leaderboard.site.health import alive_file


class Command(BaseCommand):
    """Watches Jobs and pods until it is told to stop."""

    help = "Watch the Jobs and pods of evaluations, and have what changes reconciled at once."

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        from gpu_jobs.launchers.kubernetes import Follower

        try:
            chosen, client = connected_cluster()
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from error
        stopped = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopped.set())
        follower = Follower(client=client, instance=chosen.instance, on_change=reconcile_soon, stopped=stopped)
        jobs = threading.Thread(target=follower.follow, kwargs={"kind": "jobs"}, daemon=True)
        jobs.start()
        # Both threads end with the process; a watch may take a minute to notice that it should.
        pods = threading.Thread(target=follower.follow, kwargs={"kind": "pods", "beat": alive_file()}, daemon=True)
        pods.start()
        while jobs.is_alive() and pods.is_alive() and not stopped.wait(1.0):
            pass
        if not stopped.is_set():
            raise CommandError("A watch has ended with an error; see the log.")


def reconcile_soon(evaluation_id: str) -> None:
    """Ask for a reconcile; ids that are none, on somebody else's Jobs, are passed over."""
    try:
        enqueue_reconcile(UUID(evaluation_id))
    except ValueError:
        return
