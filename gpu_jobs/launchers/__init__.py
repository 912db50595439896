"""Launchers: they see that workers run."""

from gpu_jobs.launchers.base import Launcher, LaunchError, Liveness, NoLauncher
from gpu_jobs.launchers.local import LocalLauncher

__all__ = ["LaunchError", "Launcher", "Liveness", "LocalLauncher", "NoLauncher"]
