"""Which launcher this installation starts its workers with."""

import os
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from gpu_jobs.launchers.base import Launcher, NoLauncher
from gpu_jobs.launchers.local import Limits, LocalLauncher, default_worker_memory
from gpu_jobs.launchers.pools import Needs
from gpu_jobs.worker_secrets import proxies_in
from leaderboard.evaluations.models import Evaluation
from leaderboard.queue.pools.scope import needs_of

if TYPE_CHECKING:
    from gpu_jobs.launchers.kubernetes.client import ClusterClient
    from gpu_jobs.launchers.kubernetes.launcher import KubernetesLauncher
    from gpu_jobs.launchers.kubernetes.settings import KubernetesSettings


def launcher() -> Launcher:
    """The launcher that the settings name."""
    make: Callable[[], Launcher] = import_string(settings.LAUNCHER)
    return make()


def local_launcher() -> LocalLauncher:
    """Workers as processes on this machine. Their store is their own and never served: what the public may read comes
    to the server through the protocol alone, which knows hidden data."""
    from leaderboard.queue.workers.launches import LocalEnrolments

    return LocalLauncher(
        folder=settings.DATA_DIR / "workers",
        api_url=settings.API_URL,
        store=settings.DATA_DIR / "workers" / "store",
        workers=settings.LOCAL_WORKERS,
        environment=os.environ,
        enrolments=LocalEnrolments(),
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
    """Workers as pods of the pools that the Helm chart installs.

    Raises:
        ImproperlyConfigured: a setting is wrong, or there are no credentials for a cluster.
    """
    from gpu_jobs.launchers.kubernetes.launcher import KubernetesLauncher
    from leaderboard.queue.workers.launches import PoolEnrolments

    chosen, client = connected_cluster()
    return KubernetesLauncher(client=client, settings=chosen, enrolments=PoolEnrolments(), needs=needs_by_id)


def connected_cluster() -> "tuple[KubernetesSettings, ClusterClient]":
    """The settings of the cluster and a client for it.

    Raises:
        ImproperlyConfigured: a setting is wrong, or there are no credentials for a cluster.
    """
    # Only those who use it load the client.
    from gpu_jobs.launchers.kubernetes.client import ClusterClient, ClusterError, connect
    from gpu_jobs.launchers.kubernetes.settings import SettingsError, settings_from

    try:
        chosen = settings_from(os.environ)
        return chosen, ClusterClient(api=connect(chosen), namespace=chosen.namespace)
    except (SettingsError, ClusterError) as error:
        raise ImproperlyConfigured(str(error)) from error


def needs_by_id(evaluation_id: str) -> Needs:
    """What an evaluation needs of its pool."""
    return needs_of(Evaluation.objects.select_related("suite", "submission__planner").get(pk=evaluation_id))
