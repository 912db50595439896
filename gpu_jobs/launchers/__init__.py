"""Launchers: they see that workers run.

The one for Kubernetes is in `launchers.kubernetes`: only those who use it should load its client.
"""

from gpu_jobs.launchers.base import FindsOrphans, Launcher, LaunchError, LaunchGivenUpError, Liveness, NoLauncher
from gpu_jobs.launchers.local import LocalLauncher

__all__ = [
    "FindsOrphans",
    "LaunchError",
    "LaunchGivenUpError",
    "Launcher",
    "Liveness",
    "LocalLauncher",
    "NoLauncher",
]
