"""Launchers start and stop workers.

The one for Kubernetes is in `launchers.kubernetes`: only those who use it should load its client.
"""

from gpu_jobs.launchers.base import (
    Launcher,
    LaunchError,
    Liveness,
    NoLauncher,
    PoolsWorkers,
    TendsPools,
)
from gpu_jobs.launchers.local import Limits, LocalLauncher

__all__ = [
    "LaunchError",
    "Launcher",
    "Limits",
    "Liveness",
    "LocalLauncher",
    "NoLauncher",
    "PoolsWorkers",
    "TendsPools",
]
