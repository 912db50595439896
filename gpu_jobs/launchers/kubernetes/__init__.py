"""Workers on Kubernetes: pools of pods that all evaluations share, installed by the Helm chart."""

from gpu_jobs.launchers.kubernetes.client import ClusterClient, ClusterError, Follower, api_client, connect
from gpu_jobs.launchers.kubernetes.launcher import KubernetesLauncher
from gpu_jobs.launchers.kubernetes.reasons import MEANINGS, Assessment, Reason, State
from gpu_jobs.launchers.kubernetes.settings import KubernetesSettings, SettingsError, settings_from

__all__ = [
    "MEANINGS",
    "Assessment",
    "ClusterClient",
    "ClusterError",
    "Follower",
    "KubernetesLauncher",
    "KubernetesSettings",
    "Reason",
    "SettingsError",
    "State",
    "api_client",
    "connect",
    "settings_from",
]
