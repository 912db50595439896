"""Launchers start and stop workers.

The one for Kubernetes is in `launchers.kubernetes`: only those who use it should load its client.
"""

from gpu_jobs.launchers.base import (
    FindsOrphans,
    Launcher,
    LaunchError,
    LaunchGivenUpError,
    Liveness,
    NoLauncher,
    PoolsWorkers,
)
from gpu_jobs.launchers.local import Limits, LocalLauncher

__all__ = [
    "FindsOrphans",
    "LaunchError",
    "LaunchGivenUpError",
    "Launcher",
    "Limits",
    "Liveness",
    "LocalLauncher",
    "NoLauncher",
    "PoolsWorkers",
]
