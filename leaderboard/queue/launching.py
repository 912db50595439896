"""The configured launcher of workers, and the enrolment tokens that it issues."""

import os
from collections.abc import Callable
from datetime import timedelta
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
from leaderboard.queue.pools import needs_of
from leaderboard.queue.workers.tokens import is_fresh_pool_token, mint_launch_token, withdraw_launch_token

if TYPE_CHECKING:
    from gpu_jobs.launchers.kubernetes.client import ClusterClient
    from gpu_jobs.launchers.kubernetes.launcher import KubernetesLauncher
    from gpu_jobs.launchers.kubernetes.settings import KubernetesSettings


def launcher() -> Launcher:
    """The launcher that the settings name."""
    make: Callable[[], Launcher] = import_string(settings.LAUNCHER)
    return make()


def local_launcher() -> LocalLauncher:
    """Workers as processes on this machine. Their store is private and never served: public data reaches the server
    only through the protocol, which protects hidden data."""
    memory = settings.LOCAL_WORKER_MEMORY
    if memory is None:
        memory = default_worker_memory(workers=settings.LOCAL_WORKERS + settings.LOCAL_RUN_WORKERS)
    return LocalLauncher(
        folder=settings.DATA_DIR / "workers",
        api_url=settings.API_URL,
        store=settings.DATA_DIR / "workers" / "store",
        workers=settings.LOCAL_WORKERS,
        run_workers=settings.LOCAL_RUN_WORKERS,
        environment=os.environ,
        enrolments=LocalEnrolments(),
        secrets=proxies_in(os.environ),
        home=settings.BASE_DIR,
        limits=Limits(memory_bytes=int(memory), seconds=settings.LOCAL_WORKER_SECONDS),
    )


def no_launcher() -> NoLauncher:
    """Starts nothing: the operator runs the workers."""
    return NoLauncher()


@cache  # one connection to the cluster per process
def kubernetes_launcher() -> "KubernetesLauncher":
    """Workers as pods of the pools that the Helm chart installs.

    Raises:
        ImproperlyConfigured: a setting is wrong, or there are no credentials for a cluster.
    """
    from gpu_jobs.launchers.kubernetes.launcher import KubernetesLauncher

    cluster, client = connected_cluster()
    return KubernetesLauncher(client=client, settings=cluster, enrolments=PoolEnrolments(), needs=needs_by_id)


def connected_cluster() -> "tuple[KubernetesSettings, ClusterClient]":
    """The settings of the cluster and a client for it.

    Raises:
        ImproperlyConfigured: a setting is wrong, or there are no credentials for a cluster.
    """
    # Imported here: only Kubernetes installations need the client.
    from gpu_jobs.launchers.kubernetes.client import ClusterClient, ClusterError, connect
    from gpu_jobs.launchers.kubernetes.settings import SettingsError, settings_from

    try:
        cluster = settings_from(os.environ)
        return cluster, ClusterClient(api=connect(cluster), namespace=cluster.namespace)
    except (SettingsError, ClusterError) as error:
        raise ImproperlyConfigured(str(error)) from error


def needs_by_id(evaluation_id: str) -> Needs:
    """What an evaluation requires of its pool."""
    return needs_of(Evaluation.runs.select_related("suite", "submission__planner").get(pk=evaluation_id))


LOCAL_VALID = timedelta(hours=24)
"""A local worker ends by then, and the launcher starts another one if work remains."""
POOL_VALID = timedelta(days=7)
"""A pool's token is renewed after half of this time. Workers open a session with it every hour."""


class LocalEnrolments:
    """Tokens of local processes, which take all evaluations for operators' workers."""

    def mint(self, *, name: str) -> str:
        """See `Enrolments.mint`."""
        return mint_launch_token(name=name, valid=LOCAL_VALID)

    def withdraw(self, token: str) -> None:
        """See `Enrolments.withdraw`."""
        withdraw_launch_token(token)


class PoolEnrolments:
    """Tokens of worker pools on Kubernetes, restricted to what the pool takes."""

    def is_fresh(self, *, pool: str, token: str) -> bool:
        """See `PoolEnrolments.is_fresh`."""
        return is_fresh_pool_token(pool=pool, token=token, remaining=POOL_VALID / 2)

    def mint(self, *, pool: str) -> str:
        """See `PoolEnrolments.mint`."""
        return mint_launch_token(name=f"pool {pool}", valid=POOL_VALID, pool=pool)

    def withdraw(self, token: str) -> None:
        """See `PoolEnrolments.withdraw`."""
        withdraw_launch_token(token)
