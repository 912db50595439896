"""`kubectl apply -k`, again and again: what is there already must be allowed to become what is applied."""

import pytest

from tests.fakes.kubernetes_admission import refusal_of_create, refusal_of_update
from tests.k8s.kustomize import build, containers_of, identity, pod_of

VARIANTS = {
    "dev": ("overlays/dev",),
    "production": ("overlays/production",),
    "production with Kueue": ("overlays/production", "components/kueue"),
}


class Cluster:
    """What was applied so far."""

    def __init__(self):
        self.objects = {}

    def apply(self, manifests):
        """Apply these, and return what is refused."""
        refusals = []
        for item in manifests:
            before = self.objects.get(identity(item))
            refused = refusal_of_create(item) if before is None else refusal_of_update(before=before, after=item)
            if refused is None:
                self.objects[identity(item)] = item
            else:
                refusals.append(refused.message)
        return refusals


def release(variant, *, number, **settings):
    """The manifests of a release whose images have this number."""
    manifests = build(*VARIANTS[variant], settings=settings, hashes=True)
    for container in (container for item in manifests for container in containers_of(item)):
        container["image"] = f"{container['image']}-{number}"
    return manifests


@pytest.mark.parametrize("variant", VARIANTS)
def test_changed_settings_and_new_releases_are_applied_over_what_is_there(variant):
    cluster = Cluster()
    assert cluster.apply(release(variant, number=1)) == []
    assert cluster.apply(release(variant, number=1)) == []
    assert cluster.apply(release(variant, number=1, PLANARENA_LOG_LEVEL="DEBUG")) == []
    assert cluster.apply(release(variant, number=2, PLANARENA_LOG_LEVEL="DEBUG")) == []


def test_changed_settings_change_every_pod_that_reads_them():
    def templates(**settings):
        manifests = release("production", number=1, **settings)
        site = [item for item in manifests if item["metadata"].get("namespace") == "planarena"]
        return {identity(item): pod_of(item) for item in site if pod_of(item) is not None}

    before, after = templates(), templates(PLANARENA_LOG_LEVEL="DEBUG")
    assert before.keys() == after.keys()
    assert all(before[key] != after[key] for key in before)


@pytest.mark.parametrize("variant", VARIANTS)
def test_one_pod_at_a_time_runs_the_migrations_and_all_others_wait_for_them(variant):
    migrating, waiting = [], []
    for item in release(variant, number=1):
        commands = [" ".join(container.get("command", [])) for container in containers_of(item)]
        migrating += [item for command in commands if "manage.py migrate --no-input" in command]
        waiting += [item["metadata"]["name"] for command in commands if "manage.py migrate --check" in command]
    (one,) = migrating
    assert one["spec"]["replicas"] == 1
    assert one["spec"]["strategy"] == {"type": "Recreate"}
    assert sorted(waiting) == ["planarena-queue", "planarena-watch", "planarena-web"]
