"""What goes wrong in clusters: each ends in the right state, with a sentence, in time, and with nothing left behind.

`drive` does what the reconciler does: it asks for a worker while there is work and none runs.
"""

from dataclasses import dataclass, field

import pytest

from gpu_jobs.__main__ import parser
from gpu_jobs.client import ApiClient
from gpu_jobs.launchers import LaunchError, LaunchGivenUpError
from gpu_jobs.launchers.kubernetes import Reason, State
from gpu_jobs.worker import Worker
from tests.fakes.api import FakeApi
from tests.fakes.kubernetes_api import Fault
from tests.fakes.kubernetes_cluster import disrupted, exits, starts, unschedulable, waits
from tests.fakes.runner import FakeRunner
from tests.gpu_jobs.kubernetes.making import EVALUATION, make_launcher

MINUTE, HOUR = 60, 3600


@dataclass
class Seen:
    """What the reconciler saw."""

    sentences: list[str] = field(default_factory=list)
    given_up: str = ""
    given_up_after: float = 0.0
    runs: bool = False


def drive(api, cluster, *, seconds, step=30, handle="", until_running=False, **settings):
    """Reconcile every `step` seconds, each time as a process that has just started: the control plane is restarted at
    each step, and nothing but the handle in the database survives."""
    seen = Seen()
    begun = cluster.now
    while (cluster.now - begun).total_seconds() < seconds:
        launcher = make_launcher(api, cluster, **settings)
        if not (handle and launcher.alive(handle=handle).alive):
            try:
                handle = launcher.ensure(evaluation_id=EVALUATION)
            except LaunchGivenUpError as error:
                seen.given_up = str(error)
                seen.given_up_after = (cluster.now - begun).total_seconds()
                break
            except LaunchError as error:
                if str(error) not in seen.sentences[-1:]:
                    seen.sentences.append(str(error))
        cluster.later(step)
        seen.runs = launcher.alive(handle=handle).alive is True if handle else False
        if seen.runs and until_running:
            break
    return seen


def assert_nothing_runs(api):
    assert [pod for pod in api.all("pods") if pod["status"]["phase"] in {"Pending", "Running"}] == []
    assert [job for job in api.all("jobs") if not job["status"].get("conditions")] == []


def status(api, cluster):
    return make_launcher(api, cluster).status(evaluation_id=EVALUATION)


@pytest.mark.sampled(of=2)
@pytest.mark.parametrize(
    ("fate", "reason", "sentence", "within"),
    [
        (waits("ErrImagePull"), Reason.IMAGE_NOT_PULLED, "image cannot be pulled", 45 * MINUTE),
        (waits("ImagePullBackOff"), Reason.IMAGE_NOT_PULLED, "image cannot be pulled", 45 * MINUTE),
        (waits("CreateContainerConfigError"), Reason.CONTAINER_NOT_CREATED, "a secret, is missing", 45 * MINUTE),
        (exits(137, reason="OOMKilled"), Reason.OUT_OF_MEMORY, "more memory than it may use", 15 * MINUTE),
        (exits(20), Reason.UNREACHABLE, "could not reach the site", 15 * MINUTE),
    ],
)
def test_what_does_not_heal_is_said_retried_and_given_up_in_time(api, cluster, fate, reason, sentence, within):
    cluster.fate = fate
    seen = drive(api, cluster, seconds=within, step=within // 40, ttl_seconds=24 * HOUR)
    assert sentence in seen.sentences[0]
    assert sentence in seen.given_up
    assert "ended 3 times" in seen.given_up
    assert status(api, cluster).reason is reason
    assert status(api, cluster).state is State.FAILED
    assert_nothing_runs(api)
    cluster.later(25 * HOUR)
    assert api.all("jobs") == []


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (2, "does not fit the site"),
        (10, "does not fit the site"),
        (11, "does not fit the site"),
        (13, "submission unusable"),
        (19, "submission unusable"),
    ],
)
def test_what_would_fail_again_fails_at_once(api, cluster, code, sentence):
    cluster.fate = exits(code)
    seen = drive(api, cluster, seconds=10 * MINUTE)
    assert sentence in seen.given_up
    assert seen.given_up_after <= 60
    assert len(api.all("jobs")) == 1
    assert_nothing_runs(api)


@pytest.mark.parametrize(
    ("why", "reason"),
    [
        ("PreemptionByScheduler", "it made way for work of higher priority"),
        ("DeletionByTaintManager", "its machine was lost"),
        ("EvictionByEvictionAPI", "it was evicted from its machine"),
        ("TerminationByKubelet", "it was evicted from its machine"),
    ],
)
def test_disruptions_cost_a_pod_and_never_the_job(api, cluster, why, reason):
    # Far more often than pods may fail by their own fault.
    cluster.fate = disrupted(why, times=12)
    seen = drive(api, cluster, seconds=30 * MINUTE, until_running=True)
    assert seen.runs
    assert not seen.given_up
    assert len(api.all("jobs")) == 1
    lost = next(pod["metadata"]["name"] for pod in api.all("pods") if pod["status"]["phase"] == "Failed")
    liveness = make_launcher(api, cluster).alive(handle=lost)
    assert (liveness.alive, liveness.reason) == (False, reason)


def test_a_node_that_is_lost_while_its_pod_still_says_running(api, cluster):
    drive(api, cluster, seconds=60)
    pod = api.all("pods")[0]
    cluster.update(pod, conditions=[{"type": "DisruptionTarget", "reason": "DeletionByTaintManager"}])
    liveness = make_launcher(api, cluster).alive(handle=pod["metadata"]["name"])
    assert (liveness.alive, liveness.reason) == (False, "its machine was lost")


def test_a_full_cluster_that_gets_room_goes_on_with_the_same_job(api, cluster):
    cluster.fate = unschedulable
    seen = drive(api, cluster, seconds=2 * HOUR, step=300)
    assert seen.sentences == ["No machine of the cluster has room for the worker at present."]
    cluster.fate = starts
    assert drive(api, cluster, seconds=60).runs
    assert len(api.all("jobs")) == 1


def test_a_cluster_that_is_full_for_days_never_ends_the_launch(api, cluster):
    cluster.fate = unschedulable
    patience = {"ttl_seconds": 24 * HOUR, "schedule_patience_seconds": 6 * HOUR}
    seen = drive(api, cluster, seconds=72 * HOUR, step=HOUR // 2, **patience)
    assert not seen.given_up
    assert set(seen.sentences) == {"No machine of the cluster has room for the worker at present."}
    cluster.fate = starts
    assert drive(api, cluster, seconds=HOUR, **patience).runs


def test_an_image_that_is_corrected_in_time_goes_on_with_the_same_job(api, cluster):
    cluster.fate = waits("ImagePullBackOff")
    drive(api, cluster, seconds=5 * MINUTE)
    cluster.fate = starts
    assert drive(api, cluster, seconds=60).runs
    assert len(api.all("jobs")) == 1


def test_the_deadline_ends_the_job_and_the_rest_gets_another(api, cluster):
    seen = drive(api, cluster, seconds=90 * MINUTE, step=300, active_deadline_seconds=HOUR)
    assert seen.sentences == ["The workers took longer than an evaluation may."]
    assert seen.runs
    assert [job["metadata"]["labels"]["planarena.io/generation"] for job in api.all("jobs")] == ["1", "2"]


def test_a_job_deleted_by_hand_is_replaced(api, cluster):
    drive(api, cluster, seconds=60)
    name = api.all("jobs")[0]["metadata"]["name"]
    api.remove("jobs", name)
    assert make_launcher(api, cluster).alive(handle=name).reason == "it was deleted in the cluster"
    assert drive(api, cluster, seconds=60, handle=name).runs
    assert len(api.all("jobs")) == 1


def test_a_job_that_is_still_being_deleted_is_not_adopted(api, cluster):
    drive(api, cluster, seconds=60)
    job = api.all("jobs")[0]
    job["metadata"]["deletionTimestamp"] = cluster.stamp
    api.put("jobs", job)
    handle = make_launcher(api, cluster).ensure(evaluation_id=EVALUATION)
    assert handle.endswith("-g2")


def idling_worker(api: FakeApi):
    """What the container of a pod does: the real worker with the pod's own command. `None` while it goes on waiting."""

    class StillWaiting(BaseException):
        """It has asked many times, and would go on."""

    def run(pod) -> int | None:
        options = parser().parse_args(pod["spec"]["containers"][0]["command"][3:])
        waits = []

        def sleep(seconds):
            waits.append(seconds)
            if len(waits) == 20:
                raise StillWaiting

        client = ApiClient(url="http://site", token="operator", transport=api.transport)
        idle = None if options.idle_seconds is None else 0.0
        worker = Worker(
            client=client, runner=FakeRunner(), name="w", evaluation=options.evaluation, idle_seconds=idle, sleep=sleep
        )  # fmt: skip
        try:
            return worker.run()
        except StillWaiting:
            return None

    return run


def test_a_pod_that_crashes_while_its_siblings_have_nothing_to_do_is_replaced(api, cluster):
    site = FakeApi()
    site.work_left = True
    run = idling_worker(site)
    crashing = []

    def fate(cluster, pod):
        if not crashing:
            crashing.append(pod["metadata"]["name"])
        if pod["metadata"]["name"] == crashing[0]:
            return exits(1)(cluster, pod) if cluster.now.minute >= 2 else starts(cluster, pod)
        code = run(pod)
        return starts(cluster, pod) if code is None else exits(code)(cluster, pod)

    cluster.fate = fate
    drive(api, cluster, seconds=5 * MINUTE)
    phases = [pod["status"]["phase"] for pod in api.all("pods")]
    assert phases.count("Failed") == 1
    assert phases.count("Running") == 2
    assert len(api.all("jobs")) == 1
    site.work_left = False
    drive(api, cluster, seconds=30)
    assert status(api, cluster).state is State.SUCCEEDED


def test_an_evaluation_with_one_shard_left_gets_its_job_through_kueue(api, cluster):
    launcher = make_launcher(api, cluster, queue="team-a", suspend=True, parallelism=1)
    assert launcher.ensure(evaluation_id=EVALUATION).endswith("-g1")


def test_workers_that_found_nothing_more_are_started_again_for_what_came_back(api, cluster):
    """Another worker's lost shard, or a resume: the work queue has ended, the evaluation has not."""
    cluster.fate = exits(0)
    drive(api, cluster, seconds=60)
    assert status(api, cluster).state is State.SUCCEEDED
    cluster.fate = starts
    assert drive(api, cluster, seconds=60).runs


@pytest.mark.parametrize(
    ("conditions", "reason"),
    [
        ([("QuotaReserved", "False", "Pending")], Reason.QUEUED_FOR_QUOTA),
        ([("QuotaReserved", "False", "Inadmissible")], Reason.INADMISSIBLE),
        ([("QuotaReserved", "False", "Pending"), ("Evicted", "True", "Preempted")], Reason.QUOTA_PREEMPTED),
        ([], Reason.QUEUED_FOR_QUOTA),
    ],
)
def test_kueue_holds_a_job_for_as_long_as_it_likes_and_says_why(api, cluster, conditions, reason):
    queued = {"queue": "team-a", "suspend": True}
    make_launcher(api, cluster, **queued).ensure(evaluation_id=EVALUATION)
    job = api.all("jobs")[0]
    api.put("workloads", {
        "metadata": {"name": "w", "labels": {"kueue.x-k8s.io/job-uid": job["metadata"]["uid"]}},
        "status": {"conditions": [{"type": kind, "status": holds, "reason": why} for kind, holds, why in conditions]},
    })  # fmt: skip
    seen = drive(api, cluster, seconds=20 * HOUR, step=4 * HOUR, **queued)
    assert not seen.given_up
    assert status(api, cluster).reason is reason
    assert seen.sentences == [status(api, cluster).sentence]
    assert api.all("pods") == []
    admitted = api.all("jobs")[0]
    admitted["spec"]["suspend"] = False
    api.put("jobs", admitted)
    assert drive(api, cluster, seconds=2 * MINUTE, **queued).runs
    assert len(api.all("jobs")) == 1


def test_pods_that_the_cluster_refuses_are_said_in_its_words_and_given_up_in_time(api, cluster):
    cluster.refuses_pods = "error looking up service account planarena-jobs/planarena-worker"
    seen = drive(api, cluster, seconds=HOUR, step=120)
    assert "a quota or an admission rule may forbid it" in seen.sentences[0]
    assert "error looking up service account planarena-jobs/planarena-worker." in seen.sentences[0]
    assert "error looking up service account planarena-jobs/planarena-worker." in seen.given_up
    assert "ended 3 times" in seen.given_up
    assert_nothing_runs(api)


def test_pods_that_a_quota_forbids_wait_for_it_however_long_that_takes(api, cluster):
    cluster.refuses_pods = "exceeded quota: planarena-jobs, requested: pods=1, used: pods=200, limited: pods=200"
    seen = drive(api, cluster, seconds=10 * HOUR, step=HOUR // 4)
    assert not seen.given_up
    assert "quota for workers is used up" in seen.sentences[0]
    assert "used: pods=200" in seen.sentences[0]
    assert status(api, cluster).reason is Reason.QUOTA_EXCEEDED
    cluster.refuses_pods = ""
    assert drive(api, cluster, seconds=60).runs
    assert len(api.all("jobs")) == 1


def test_without_the_right_to_read_events_a_job_without_pods_is_still_told(api, cluster):
    cluster.refuses_pods = "exceeded quota: planarena-jobs"
    drive(api, cluster, seconds=60)
    api.faults.extend([Fault(), Fault(), Fault(status=403, part="/events")])
    with pytest.raises(LaunchError, match=r"admission rule may forbid it\.$"):
        make_launcher(api, cluster).ensure(evaluation_id=EVALUATION)
    assert not api.faults


def test_a_failed_job_is_not_followed_by_another_at_once(api, cluster):
    cluster.fate = exits(99)
    drive(api, cluster, seconds=20, step=5)
    assert len(api.all("jobs")) == 1
    seen = drive(api, cluster, seconds=300, step=15)
    assert len(api.all("jobs")) == 3
    assert seen.given_up_after >= 90
