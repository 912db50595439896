"""Launchers start and stop workers.

The Kubernetes launcher is in `launchers.kubernetes`, so that its client is only imported if needed.
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
