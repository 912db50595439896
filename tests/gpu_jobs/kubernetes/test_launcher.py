"""The launcher: it says why no worker of a pool runs, hands out tokens, and starts nothing."""

import pytest

from gpu_jobs.launchers.base import LaunchError, Liveness, PoolsWorkers, TendsPools, name_of_part
from gpu_jobs.launchers.pools import Needs
from tests.fakes.enrolments import FakeEnrolments
from tests.fakes.kubernetes.api import Fault
from tests.fakes.kubernetes.cluster import COST, starts
from tests.gpu_jobs.kubernetes.making import EVALUATION, GPU, IMAGE, install, make_launcher, token_in


@pytest.fixture
def launcher(api, cluster):
    install(api)
    install(api, pool="cpu", replicas=0)
    cluster.tick()
    return make_launcher(api, cluster)


def ensured(launcher) -> str:
    return launcher.ensure(evaluation_id=EVALUATION)


def why_not(launcher) -> str:
    with pytest.raises(LaunchError) as waits:
        ensured(launcher)
    return str(waits.value)


def test_all_evaluations_that_a_pool_takes_have_its_handle_and_cost_as_many_calls_as_one(api, cluster, launcher):
    objects = len(api.objects)
    assert ensured(launcher) == GPU
    asked = len(api.requests)
    for number in range(100):
        assert launcher.ensure(evaluation_id=str(number)) == GPU
        assert launcher.alive(handle=GPU).alive is True
    assert len(api.requests) == asked
    assert make_launcher(api, cluster).ensure(evaluation_id=EVALUATION) == GPU
    assert len(api.objects) == objects, "nothing is created"
    assert isinstance(launcher, PoolsWorkers)
    assert isinstance(launcher, TendsPools)


def test_an_evaluation_that_no_pool_takes_waits_with_a_reason_and_without_a_call(api, cluster):
    launcher = make_launcher(api, cluster, needs=Needs(executed=True, endpoint=True))
    said = why_not(launcher)
    assert said.startswith(
        "No worker pool of this installation runs planners behind HTTP on suites whose plans are exec"
    )
    assert api.requests == []


def test_pods_are_known_by_the_names_under_which_they_take_leases_from_their_first_moment(api, cluster, launcher):
    (pod,) = cluster.running()
    assert launcher.alive(handle=pod) == Liveness(alive=True)
    cluster.scale(GPU, 2)
    cluster.tick()
    (young,) = set(cluster.running()) - {pod}
    assert launcher.alive(handle=young).alive is True, "it is younger than the last look"
    api.remove("pods", pod)
    cluster.later(10)
    assert launcher.alive(handle=pod) == Liveness(alive=False, reason="it was deleted in the cluster", disrupted=True)


def test_the_processes_of_a_pod_with_several_gpus_are_known_by_their_pod(api, cluster, launcher):
    (pod,) = cluster.running()
    assert launcher.alive(handle=name_of_part(pod, 1)) == Liveness(alive=True)
    launcher.tend(busy=[name_of_part(pod, 1)])
    (found,) = cluster.pods()
    assert found["metadata"]["annotations"][COST] == "100"
    launcher.stop_one(handle=name_of_part(pod, 0))
    assert cluster.running() == []
    cluster.later(10)
    assert launcher.alive(handle=name_of_part(pod, 1)).alive is False


@pytest.mark.parametrize(
    "handle", ["", "local-1234", "ada-workstation-1", "planarena-pool-other", "planarena-pool-other-5d8f7c9b6d-00001"]
)
def test_of_workers_that_others_started_nothing_is_known(api, launcher, handle):
    api.requests.clear()
    assert launcher.alive(handle=handle) == Liveness(alive=None)
    launcher.stop_one(handle=handle)
    assert api.requests == []


def test_while_the_cluster_is_silent_nothing_is_known_and_nothing_is_taken_for_dead(api, cluster):
    install(api)
    cluster.tick()
    launcher = make_launcher(api, cluster, client={"patience_seconds": 0.1})
    pod = cluster.running()[0]
    api.faults.extend([Fault(status=503)] * 1000)
    assert launcher.alive(handle=GPU).alive is None
    assert launcher.alive(handle=pod).alive is None
    launcher.tend(busy=[pod])
    assert why_not(launcher) == "The cluster could not be asked for a worker."
    with pytest.raises(LaunchError, match="could not be stopped"):
        launcher.stop_one(handle=pod)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault(status=403, message="no permission"), r"refuses access to the workers \(403\): no permission"),
        (Fault(status=422, message="bad selector"), r"refuses access to the workers \(422\): bad selector"),
        (Fault(status=500, message="etcd leader changed"), "could not be asked for a worker"),
        (Fault(drop="before"), "could not be asked for a worker"),
    ],
)
def test_a_refusal_reads_unlike_an_outage_and_neither_ends_anything(api, cluster, fault, said):
    install(api)
    cluster.tick()
    launcher = make_launcher(api, cluster, client={"patience_seconds": 0.05})
    launcher.tend(busy=[])
    cluster.later(10)
    api.faults.append(fault)
    with pytest.raises(LaunchError, match=said):
        ensured(launcher)
    cluster.later(10)
    assert ensured(launcher) == GPU


def test_what_everybody_reads_of_the_cluster_s_words_holds_no_secret_address_or_image_and_is_short(
    api, cluster, monkeypatch
):
    monkeypatch.setenv("PLANARENA_WORKER_TOKEN", "a-token-of-the-operator")
    install(api)
    launcher = make_launcher(api, cluster)
    ensured(launcher)
    words = (
        f"denied:\n{IMAGE} is not signed; a-token-of-the-operator; https://policy.corp:8443/check; "
        "10.96.0.1:443; hook.kyverno.svc:443; registry.corp/x@sha256:" + "0" * 64 + " <script> " + "x" * 5000
    )
    failure = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": words}
    api.put("deployments", {**api.get("deployments", GPU), "status": {"conditions": [failure]}})
    cluster.now = cluster.now.replace(hour=1)
    told = why_not(launcher)
    for hidden in ("registry", "a-token-of", "policy.corp", "10.96", "kyverno", "\n"):
        assert hidden not in told
    assert "the worker's image is not signed" in told
    assert len(told) < 400


class TestTokens:
    def test_a_pool_gets_a_token_of_its_own_and_keeps_it_while_it_is_fresh(self, api, cluster):
        install(api)
        install(api, pool="cpu")
        enrolments = FakeEnrolments()
        make_launcher(api, cluster, enrolments=enrolments).tend(busy=[])
        first, other = token_in(api), token_in(api, "cpu")
        assert {first: "gpu", other: "cpu"} == enrolments.minted
        make_launcher(api, cluster, enrolments=enrolments).tend(busy=[])
        assert token_in(api) == first
        assert len(enrolments.minted) == 2

    def test_a_token_is_renewed_in_time_and_put_back_when_the_secret_was_made_again(self, api, cluster):
        install(api)
        enrolments = FakeEnrolments()
        launcher = make_launcher(api, cluster, enrolments=enrolments)
        ensured(launcher)
        first = token_in(api)
        enrolments.stale.add(first)
        ensured(launcher)
        assert token_in(api) == first, "it is looked at once a minute"
        cluster.later(61)
        ensured(launcher)
        second = token_in(api)
        assert second not in {"", first}
        install(api)
        assert token_in(api) == ""
        cluster.later(61)
        ensured(launcher)
        assert token_in(api) not in {"", first, second}
        assert enrolments.withdrawn == []

    @pytest.mark.parametrize("fault", [Fault(drop="before"), Fault(drop="after"), Fault(status=500), Fault(status=422)])
    def test_a_process_that_dies_while_it_writes_leaves_work_for_the_next(self, api, cluster, fault):
        install(api)
        enrolments = FakeEnrolments()
        dying = make_launcher(api, cluster, enrolments=enrolments, client={"patience_seconds": 0.0})
        # It asks for the Secrets of both pools, of which one is installed.
        api.faults.extend([Fault(method="GET"), Fault(method="GET"), fault])
        dying.tend(busy=[])
        assert enrolments.withdrawn == ["token-1"]
        enrolments.minted.pop("token-1")
        ensured(make_launcher(api, cluster, enrolments=enrolments))
        assert token_in(api) in enrolments.minted

    def test_the_role_permits_the_secrets_of_pools_and_no_other(self, api, launcher):
        install(api, pool="somebodys")
        with pytest.raises(Exception, match="403"):
            launcher._client.secret("planarena-pool-somebodys")


def test_busy_pods_are_taken_last(api, cluster, launcher):
    cluster.scale(GPU, 3)
    cluster.tick()
    first, second, third = cluster.running()
    launcher.tend(busy=[first, third, "somebody's worker"])
    costs = {pod["metadata"]["name"]: pod["metadata"]["annotations"].get(COST) for pod in cluster.pods()}
    assert costs == {first: "100", second: None, third: "100"}
    for busy in ([first, third], [third]):
        launcher.tend(busy=busy)
        cluster.scale(GPU, len(busy))
        cluster.later(10, ticks=2)
        assert cluster.running() == busy


def test_a_pod_that_hangs_is_deleted_alone_and_its_pool_replaces_it(cluster, launcher):
    cluster.scale(GPU, 2)
    cluster.tick()
    hangs, other = cluster.running()
    launcher.stop_one(handle=hangs)
    assert cluster.running() == [other]
    cluster.tick()
    assert len(cluster.running()) == 2
    launcher.stop_one(handle=hangs)
    launcher.stop(handle=GPU)
    launcher.stop_if_over(handle=other)
    assert len(cluster.running()) == 2
    cluster.fate = starts
