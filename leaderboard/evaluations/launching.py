"""Which launcher this installation starts its workers with."""

import os
from collections.abc import Callable

from django.conf import settings
from django.utils.module_loading import import_string

from gpu_jobs.launchers import Launcher, LocalLauncher, NoLauncher

_NOT_FOR_WORKERS = ("PLANARENA_SECRET_KEY", "DATABASE_URL", "BROKER_URL", "EMAIL_HOST_PASSWORD")


def launcher() -> Launcher:
    """The launcher that the settings name."""
    make: Callable[[], Launcher] = import_string(settings.LAUNCHER)
    return make()


def local_launcher() -> LocalLauncher:
    """Workers as processes on this machine. Their store is their own and never served: what the public may read comes
    to the server through the protocol alone, which knows hidden data."""
    environment = {name: value for name, value in os.environ.items() if name not in _NOT_FOR_WORKERS}
    environment["PLANARENA_WORKER_TOKEN"] = settings.WORKER_TOKEN
    return LocalLauncher(
        folder=settings.DATA_DIR / "workers",
        api_url=settings.API_URL,
        store=settings.DATA_DIR / "workers" / "store",
        workers=settings.LOCAL_WORKERS,
        environment=environment,
        home=settings.BASE_DIR,
    )


def no_launcher() -> NoLauncher:
    """Nothing is started: the operator runs workers."""
    return NoLauncher()
