"""What an evaluation's owner reads while the cluster does this or that; nothing of it ever ends the evaluation."""

import pytest

from gpu_jobs.launchers.base import LaunchError
from tests.fakes.kubernetes.cluster import FakeKeda, exits, starts, unschedulable, waits
from tests.gpu_jobs.kubernetes.making import EVALUATION, GPU, install, make_launcher, scaled_object

MINUTE, HOUR = 60, 3600


def drive(api, cluster, *, seconds, step=15, launcher=None):
    """What is said while the sweep asks for the evaluation again and again: sentences, and GPU while a worker runs or
    starts."""
    launcher = launcher or make_launcher(api, cluster)
    said = []
    for _ in range(max(1, seconds // step)):
        cluster.later(step)
        try:
            said.append(launcher.ensure(evaluation_id=EVALUATION))
        except LaunchError as error:
            said.append(str(error))
    return said


@pytest.mark.parametrize(
    ("fate", "sentence"),
    [
        (waits("ErrImagePull"), "image cannot be pulled"),
        (unschedulable, "No machine of the cluster has room for the worker at present."),
        (exits(137, reason="OOMKilled"), "more memory than it may use"),
        (exits(12), "does not match the site"),
    ],
)
def test_what_does_not_heal_is_said_for_days_and_goes_on_once_it_is_corrected(api, cluster, fate, sentence):
    install(api)
    cluster.fate = fate
    said = drive(api, cluster, seconds=72 * HOUR, step=12 * HOUR)
    assert all(sentence in one for one in said)
    cluster.fate = starts
    assert drive(api, cluster, seconds=30)[-1] == GPU
    assert len(cluster.running()) == 1


class TestScaling:
    def test_a_pool_is_starting_until_its_scaler_had_time(self, api, cluster):
        def fetch(url):
            assert url.endswith("/metrics/pools/gpu")
            if not answers:
                raise OSError("the site answered 401")
            return answers[-1]

        install(api, replicas=0)
        api.put("scaledobjects", scaled_object())
        answers = []
        FakeKeda(cluster, fetch=fetch)
        launcher = make_launcher(api, cluster)
        said = drive(api, cluster, seconds=2 * MINUTE, launcher=launcher)
        assert set(said) == {GPU}
        said = drive(api, cluster, seconds=2 * MINUTE, launcher=launcher)
        assert said[-1] == (
            "The worker pool has not been scaled up, although evaluations wait for it; the operator has to check its "
            "scaler. The cluster says: error fetching metrics: the site answered 401."
        )
        answers.append({"workers": 1})
        assert drive(api, cluster, seconds=30, launcher=launcher)[-1] == GPU
        assert len(cluster.running()) == 1

    @pytest.mark.parametrize("how", ["without KEDA", "without a ScaledObject", "paused", "not permitted"])
    def test_a_pool_that_nobody_scales_says_so(self, api, cluster, how):
        install(api, replicas=0)
        said = {"without a ScaledObject": "has no ScaledObject", "paused": "ScaledObject is paused"}
        if how == "without KEDA":
            api.operators.discard("scaledobjects")
        elif how == "not permitted":
            api.rules = [rule for rule in api.rules if rule["resources"] != ["scaledobjects"]]
        elif how == "paused":
            scaled = scaled_object()
            scaled["metadata"]["annotations"] = {"autoscaling.keda.sh/paused": "true"}
            api.put("scaledobjects", scaled)
        last = drive(api, cluster, seconds=5 * MINUTE)[-1]
        assert "has not been scaled up" in last
        assert ("The cluster says" in last) == (how in said)
        assert said.get(how, "") in last


class TestKueue:
    @pytest.fixture
    def held(self, api, cluster):
        install(api, queue="team-a")
        cluster.admits = lambda _: False
        return cluster

    @pytest.mark.parametrize(
        ("conditions", "sentence"),
        [
            ([("QuotaReserved", "False", "Inadmissible")], "the queue is missing or stopped"),
            ([("QuotaReserved", "False", "Pending"), ("Evicted", "True", "Preempted")], "preempted by others"),
            ([("QuotaReserved", "False", "Pending"), ("Preempted", "True", "InClusterQueue")], "preempted by others"),
            ([], "waits in the cluster's queue"),
        ],
    )
    def test_what_the_workload_says_is_said(self, api, held, conditions, sentence):
        held.tick()
        (workload,) = api.all("workloads")
        found = [{"type": kind, "status": holds, "reason": why} for kind, holds, why in conditions]
        api.put("workloads", {**workload, "status": {"conditions": found}})
        assert sentence in drive(api, held, seconds=15)[0]

    def test_a_preempted_pod_s_tasks_go_to_another_and_its_owner_reads_why(self, api, held):
        held.admits = lambda _: True
        held.later(15, ticks=2)
        (pod,) = held.pods()
        held.update(pod, conditions=[{"type": "TerminationTarget", "reason": "StoppedByKueue", "message": "Preempted"}])
        liveness = make_launcher(api, held).alive(handle=pod["metadata"]["name"])
        assert (liveness.alive, liveness.reason, liveness.disrupted) == (
            False, "it was preempted by others in the queue", True,
        )  # fmt: skip
