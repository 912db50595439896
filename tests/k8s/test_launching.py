"""The chart's pools in a cluster that enforces what a real one does, with the site's launcher beside them."""

import base64
import collections

import pytest

from gpu_jobs.launchers.kubernetes.launcher import KubernetesLauncher
from gpu_jobs.launchers.kubernetes.settings import settings_from
from gpu_jobs.launchers.pools import Needs
from tests.fakes.enrolments import FakeEnrolments
from tests.fakes.kubernetes.api import FakeKubernetesApi, merge_patch
from tests.fakes.kubernetes.cluster import FakeCluster, FakeKeda
from tests.k8s.chart import JOBS, PRODUCTION, VARIANTS, merged, named, of_kind, render

EVALUATION = "0b9a3c52-51a7-4c66-9a77-4a8d6e4b1c11"
PROMETHEUS = "http://prometheus-operated.monitoring.svc:9090"
JUDGED, EXECUTED = Needs(executed=False), Needs(executed=True)
KINDS = {kind: f"{kind.lower()}s" for kind in ("Deployment", "Secret", "ScaledObject")}


class Installation:
    """What `helm upgrade --install` leaves in a cluster, and the site's controller."""

    def __init__(self, api, values):
        self.api, self.cluster, self.numbers, self.asked = api, FakeCluster(api), {}, []
        self.requests = 0
        FakeKeda(self.cluster, fetch=self._fetch)
        self.upgrade(values)

    def upgrade(self, values):
        manifests = render(values)
        for item in manifests:
            if item["kind"] in KINDS and item["metadata"]["namespace"] == JOBS:
                kind, name = KINDS[item["kind"]], item["metadata"]["name"]
                # What a manifest does not name stays, as a server-side apply leaves it.
                self.api.put(kind, merge_patch(self.api.get(kind, name) or {"spec": {"replicas": 1}}, item))
        (role,) = of_kind(manifests, "Role")
        self.api.rules = role["rules"]
        self.settings = settings_from(named(manifests, "ConfigMap", "planarena-settings")["data"])

    def _fetch(self, url):
        self.asked.append(url)
        if url == PROMETHEUS:
            return collections.defaultdict(lambda: self.requests)
        pool = url.removeprefix("http://planarena-web.planarena.svc:8000/metrics/pools/")
        return {"workers": 0, "models": 0} | self.numbers.get(pool, {})

    def launcher(self, needs):
        return KubernetesLauncher(
            client=self.api.client(), settings=self.settings, enrolments=FakeEnrolments(), needs=lambda _: needs,
            clock=lambda: self.cluster.now.timestamp(),
        )  # fmt: skip


@pytest.fixture
def api():
    """A server that enforces the role of the chart."""
    with FakeKubernetesApi().serving() as served:
        yield served


@pytest.fixture
def installed(api):
    return Installation(api, VARIANTS["production"])


def running(installed, prefix):
    return [name for name in installed.cluster.running() if name.startswith(prefix)]


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_launcher_reads_its_settings_and_may_do_all_that_it_does(api, variant):
    installed = Installation(api, VARIANTS[variant])
    assert [pool.name for pool in installed.settings.pools]
    assert installed.settings.namespace == JOBS
    installed.cluster.later(10)
    for pool in installed.settings.pools:
        needs = EXECUTED if "executed" in pool.takes else JUDGED
        launcher = installed.launcher(needs)
        launcher.ensure(evaluation_id=EVALUATION)
        launcher.tend(busy=[])
        for pod in installed.cluster.running():
            launcher.alive(handle=pod)
    assert api.requests, "it asked the server"


def test_a_pool_has_no_pods_until_it_is_wanted_and_none_afterwards(installed):
    installed.cluster.later(400, ticks=4)
    assert running(installed, ("planarena-pool-", "planarena-models-")) == []
    installed.numbers = {"gpu": {"workers": 3, "models": 2}}
    installed.cluster.later(30, ticks=2)
    assert len(running(installed, "planarena-pool-gpu-")) == 3
    assert len(running(installed, "planarena-models-gpu-")) == 2
    installed.numbers = {"gpu": {"workers": 99}}
    installed.cluster.later(30, ticks=2)
    assert len(running(installed, "planarena-pool-gpu-")) == 4, "the most that the values allow"
    installed.numbers = {}
    installed.cluster.later(1200, ticks=8)
    assert running(installed, ("planarena-pool-", "planarena-models-")) == []


def test_workers_find_their_token_in_the_secret_of_the_chart_and_upgrades_leave_it(installed):
    installed.numbers = {"cpu": {"workers": 1}}
    installed.cluster.later(15)
    assert installed.launcher(JUDGED).ensure(evaluation_id=EVALUATION) == "planarena-pool-cpu"
    token = installed.api.get("secrets", "planarena-pool-cpu")["data"]["token"]
    assert base64.b64decode(token)
    installed.upgrade(merged(PRODUCTION, {"settings": {"PLANARENA_LOG_LEVEL": "DEBUG"}}))
    assert installed.api.get("secrets", "planarena-pool-cpu")["data"]["token"] == token


def test_pods_with_several_gpus_are_scaled_by_workers_and_not_by_pods(api):
    """`most` is 8 workers, two in a pod."""
    installed = Installation(api, VARIANTS["example several-gpus"])
    for wanted, pods in ((1, 1), (3, 2), (8, 4), (99, 4)):
        installed.numbers = {"gpu": {"workers": wanted}}
        installed.cluster.later(60, ticks=4)
        assert len(running(installed, "planarena-pool-gpu-")) == pods


def test_a_language_model_has_a_pod_before_its_first_request_and_more_for_many(api):
    installed = Installation(api, VARIANTS["example vllm"])
    for requests, pods in ((0, 1), (64, 1), (65, 2), (1000, 4)):
        installed.requests = requests
        installed.cluster.later(60, ticks=4)
        assert len(running(installed, "planarena-llm-llama-")) == pods
    # No launcher of workers takes its pods for a pool's.
    launcher = installed.launcher(JUDGED)
    assert launcher.alive(handle=running(installed, "planarena-llm-llama-")[0]).alive is None
