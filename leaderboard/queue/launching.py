"""Which launcher this installation starts its workers with."""

import os
from collections.abc import Callable
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from gpu_jobs.launchers import Launcher, Limits, LocalLauncher, NoLauncher
from gpu_jobs.launchers.machine import default_worker_memory
from gpu_jobs.worker_secrets import proxies_in
from leaderboard.evaluations.models import Evaluation, ShardState
from leaderboard.planners.kinds import kind_of

if TYPE_CHECKING:
    from gpu_jobs.launchers.kubernetes import ClusterClient, EvaluationFacts, KubernetesLauncher, KubernetesSettings


_CLOCKS_DIFFER = timedelta(hours=1)


def launcher() -> Launcher:
    """The launcher that the settings name."""
    make: Callable[[], Launcher] = import_string(settings.LAUNCHER)
    return make()


def local_launcher() -> LocalLauncher:
    """Workers as processes on this machine. Their store is their own and never served: what the public may read comes
    to the server through the protocol alone, which knows hidden data."""
    from leaderboard.queue.workers.launches import PoolEnrolments

    return LocalLauncher(
        folder=settings.DATA_DIR / "workers",
        api_url=settings.API_URL,
        store=settings.DATA_DIR / "workers" / "store",
        workers=settings.LOCAL_WORKERS,
        environment=os.environ,
        enrolments=PoolEnrolments(),
        secrets=proxies_in(os.environ),
        home=settings.BASE_DIR,
        limits=Limits(memory_bytes=_worker_memory(), seconds=settings.LOCAL_WORKER_SECONDS),
    )


def _worker_memory() -> int:
    if settings.LOCAL_WORKER_MEMORY is not None:
        return int(settings.LOCAL_WORKER_MEMORY)
    return default_worker_memory(workers=settings.LOCAL_WORKERS)


def no_launcher() -> NoLauncher:
    """Nothing is started: the operator runs workers."""
    return NoLauncher()


@cache  # one connection to the cluster per process
def kubernetes_launcher() -> "KubernetesLauncher":
    """Workers as pods of one Job per evaluation.

    Raises:
        ImproperlyConfigured: a setting is wrong, or there are no credentials for a cluster.
    """
    from gpu_jobs.launchers.kubernetes import KubernetesLauncher
    from leaderboard.queue.workers.launches import EvaluationEnrolments

    chosen, client = connected_cluster()
    # Longer than a Job may run, and extended while it waits to run.
    valid = timedelta(seconds=chosen.active_deadline_seconds) + _CLOCKS_DIFFER
    return KubernetesLauncher(
        client=client, settings=chosen, enrolments=EvaluationEnrolments(valid=valid), facts=evaluation_facts
    )


def connected_cluster() -> "tuple[KubernetesSettings, ClusterClient]":
    """The settings of the cluster and a client for it.

    Raises:
        ImproperlyConfigured: a setting is wrong, or there are no credentials for a cluster.
    """
    # Only those who use it load the client.
    from gpu_jobs.launchers.kubernetes import ClusterClient, ClusterError, SettingsError, connect, settings_from

    try:
        chosen = settings_from(environment=os.environ, api_url=settings.API_URL)
        return chosen, ClusterClient(api=connect(chosen), namespace=chosen.namespace)
    except (SettingsError, ClusterError) as error:
        raise ImproperlyConfigured(str(error)) from error


def evaluation_facts(evaluation_id: str) -> "EvaluationFacts":
    """What the Job of an evaluation depends on."""
    from gpu_jobs.launchers.kubernetes import EvaluationFacts

    evaluation = Evaluation.objects.select_related("suite", "submission__planner").get(pk=evaluation_id)
    kind = kind_of(evaluation.submission.planner)
    return EvaluationFacts(
        evaluation_id=evaluation_id,
        open_shards=evaluation.shards.exclude(state=ShardState.DONE).count(),
        calls_endpoint=kind.needs_network,
        needs_gpu=kind.needs_gpu or evaluation.suite.runs_experts,
        loads_model=kind.loads_model,
        executes_plans=evaluation.suite.runs_experts,
    )
