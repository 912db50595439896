"""A worker of a site that is served over HTTP; nothing of it is fake."""

from django.conf import settings

from evaluator.execution.engine.store import MemoryStore
from gpu_jobs.client import ApiClient
from gpu_jobs.exits import Exit
from gpu_jobs.runner import EvaluatorRunner
from gpu_jobs.worker import Worker
from leaderboard.queue.reconcile import sweep


def work_through(url: str, *, runner: EvaluatorRunner | None = None, secrets: list[str] | None = None) -> None:
    """Let a worker of the operator's work until it finds nothing more to do."""
    sweep()
    client = ApiClient(url=url, token=settings.WORKER_TOKEN, patience_seconds=5)
    runner = runner or EvaluatorRunner(store=MemoryStore(), device="cpu")
    assert Worker(client=client, runner=runner, name="w", idle_seconds=0.0, secrets=secrets or []).run() == Exit.IDLE
    # The second settles what the first has completed.
    sweep()
    sweep()
