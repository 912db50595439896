"""The settings of the launcher, from the environment."""

import pytest

from gpu_jobs.launchers.kubernetes.settings import KubernetesSettings, SettingsError, settings_from
from gpu_jobs.launchers.pools import pools_from
from tests.gpu_jobs.kubernetes.making import POOLS

NEEDED = {"PLANARENA_KUBERNETES_POOLS": POOLS}


def test_pools_are_enough():
    assert settings_from(NEEDED) == KubernetesSettings(pools=pools_from(POOLS))
    assert settings_from({**NEEDED, "PLANARENA_KUBERNETES_CONTEXT": " ", "OTHER": "x"}).context == ""


def test_every_setting_is_read():
    found = settings_from(
        {
            **NEEDED,
            "PLANARENA_KUBERNETES_NAMESPACE": "jobs",
            "PLANARENA_KUBERNETES_CONTEXT": "staging",
            "PLANARENA_KUBERNETES_SCALE_PATIENCE_SECONDS": "30",
        }
    )
    assert (found.namespace, found.context, found.scale_patience_seconds) == ("jobs", "staging", 30)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("POOLS", "", "PLANARENA_KUBERNETES_POOLS is not set"),
        ("POOLS", "[]", "PLANARENA_KUBERNETES_POOLS is not set"),
        ("POOLS", "gpu", "PLANARENA_KUBERNETES_POOLS is not a list of pools: Invalid JSON"),
        ("NAMESPACE", "Jobs!", "PLANARENA_KUBERNETES_NAMESPACE is 'Jobs!': it must be a name that Kubernetes accepts"),
        ("SCALE_PATIENCE_SECONDS", "0", "SCALE_PATIENCE_SECONDS is '0': it must be a whole number of at least 1"),
        ("SCALE_PATIENCE_SECONDS", "soon", "it must be a whole number"),
        (
            "IMAGE",
            "registry.example/w",
            "PLANARENA_KUBERNETES_IMAGE is not a setting; known are, .*: POOLS, NAMESPACE, ",
        ),
        ("PARALLELISM", "2", "PLANARENA_KUBERNETES_PARALLELISM is not a setting.*values of the Helm chart"),
    ],
)
def test_a_wrong_value_is_named_with_what_would_be_right(name, value, said):
    with pytest.raises(SettingsError, match=said):
        settings_from({**NEEDED, f"PLANARENA_KUBERNETES_{name}": value})
