"""Workers on Kubernetes: one work-queue Job per evaluation, its pods pulling shards by lease."""

from gpu_jobs.launchers.kubernetes.client import ClusterClient, api_client, connect
from gpu_jobs.launchers.kubernetes.job import EvaluationFacts, build_job
from gpu_jobs.launchers.kubernetes.launcher import KubernetesLauncher
from gpu_jobs.launchers.kubernetes.reasons import MEANINGS, Assessment, Reason, State
from gpu_jobs.launchers.kubernetes.responses import ClusterError
from gpu_jobs.launchers.kubernetes.settings import KubernetesSettings, Overrides, SettingsError, settings_from
from gpu_jobs.launchers.kubernetes.watching import Follower

__all__ = [
    "MEANINGS",
    "Assessment",
    "ClusterClient",
    "ClusterError",
    "EvaluationFacts",
    "Follower",
    "KubernetesLauncher",
    "KubernetesSettings",
    "Overrides",
    "Reason",
    "SettingsError",
    "State",
    "api_client",
    "build_job",
    "connect",
    "settings_from",
]
