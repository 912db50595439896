"""The launcher: one Job per evaluation whatever happens, and no Job that nobody wants."""

import threading
from contextlib import suppress

import pytest

from gpu_jobs.launchers import FindsOrphans, LaunchError, LaunchGivenUpError, Liveness
from gpu_jobs.launchers.kubernetes import Follower, Overrides, Reason, State
from tests.fakes.enrolments import FakeEnrolments
from tests.fakes.kubernetes_api import Fault
from tests.fakes.kubernetes_cluster import starts, unschedulable
from tests.gpu_jobs.kubernetes.making import EVALUATION, IMAGE, OTHER, make_launcher

JOB = f"planarena-{EVALUATION}-g1"


@pytest.fixture
def launcher(api, cluster):
    return make_launcher(api, cluster)


def names_of(api, kind="jobs"):
    return [item["metadata"]["name"] for item in api.all(kind)]


def test_one_job_per_evaluation_whoever_asks(api, cluster, launcher):
    assert launcher.ensure(evaluation_id=EVALUATION) == JOB
    cluster.tick()
    assert launcher.ensure(evaluation_id=EVALUATION) == JOB
    assert make_launcher(api, cluster).ensure(evaluation_id=EVALUATION) == JOB
    assert launcher.ensure(evaluation_id=OTHER) == JOB.replace(EVALUATION, OTHER)
    assert len(names_of(api)) == 2
    assert isinstance(launcher, FindsOrphans)


def test_many_at_once_make_one_job(api, cluster):
    handles = []
    ask = [
        threading.Thread(target=lambda: handles.append(make_launcher(api, cluster).ensure(evaluation_id=EVALUATION)))
        for _ in range(6)
    ]
    for thread in ask:
        thread.start()
    for thread in ask:
        thread.join()
    assert handles == [JOB] * 6
    assert names_of(api) == [JOB]


def test_a_stranger_of_the_same_name_is_not_adopted(api, launcher):
    launcher.ensure(evaluation_id=EVALUATION)
    stranger = api.get("jobs", JOB)
    stranger["metadata"]["labels"] = {"app": "somebody's"}
    api.put("jobs", stranger)
    with pytest.raises(LaunchGivenUpError, match="Something else in the cluster has the name"):
        launcher.ensure(evaluation_id=EVALUATION)


def test_pods_are_known_by_the_names_under_which_they_take_leases(api, cluster, launcher):
    handle = launcher.ensure(evaluation_id=EVALUATION)
    assert launcher.alive(handle=handle).alive is None
    cluster.tick()
    pod = names_of(api, "pods")[0]
    assert launcher.alive(handle=handle).alive is True
    assert launcher.alive(handle=pod).alive is True
    api.remove("pods", pod)
    assert launcher.alive(handle=pod) == Liveness(alive=False, reason="it was deleted in the cluster", disrupted=True)


@pytest.mark.parametrize("handle", ["", "local-1234", "ada-workstation-1", f"other-{EVALUATION}-g1", "planarena-x-g1"])
def test_of_workers_that_others_started_nothing_is_known(api, launcher, handle):
    assert launcher.alive(handle=handle) == Liveness(alive=None)
    launcher.stop(handle=handle)
    assert api.requests == []


def test_while_the_cluster_is_silent_nothing_is_known_and_nothing_is_taken_for_dead(api, cluster):
    launcher = make_launcher(api, cluster, client={"patience_seconds": 0.1})
    handle = launcher.ensure(evaluation_id=EVALUATION)
    api.faults.extend([Fault(status=503)] * 1000)
    assert launcher.alive(handle=handle).alive is None
    for call in (
        lambda: launcher.ensure(evaluation_id=EVALUATION),
        lambda: launcher.stop(handle=handle),
        lambda: launcher.status(evaluation_id=EVALUATION),
        lambda: launcher.stop_orphans(wanted=lambda ids: ids),
    ):
        with pytest.raises(LaunchError, match="could not be"):
            call()


INVALID = 'Job.batch "x" is invalid: spec.template.spec.containers[0].resources.requests: Invalid value: "32Gi"'
DENIED = 'admission webhook "vjob.kb.io" denied the request: metadata.annotations[...]: should be between 0 and 0'
RBAC = 'jobs.batch is forbidden: User "system:serviceaccount:planarena:planarena-controller" cannot create resource'


@pytest.mark.parametrize(
    ("status", "words"), [(422, INVALID), (403, DENIED), (403, RBAC), (404, 'namespaces "planarena-jobs" not found')]
)
def test_a_job_that_the_cluster_refuses_is_given_up_with_its_words(api, launcher, status, words):
    api.faults.extend([Fault(), Fault(method="POST", status=status, message=words)])
    with pytest.raises(LaunchGivenUpError) as given_up:
        launcher.ensure(evaluation_id=EVALUATION)
    assert str(given_up.value) == f"The cluster refuses the worker ({status}): {words}."
    assert names_of(api) == []


@pytest.mark.parametrize("status", [401, 403])
def test_a_cluster_that_refuses_to_tell_about_the_jobs_says_so_and_ends_nothing(api, cluster, launcher, status):
    launcher.ensure(evaluation_id=EVALUATION)
    cluster.tick()
    api.faults.append(Fault(status=status, message="jobs.batch is forbidden"))
    with pytest.raises(LaunchError, match=rf"refuses to tell about the workers \({status}\): jobs.batch is forbidden"):
        launcher.ensure(evaluation_id=EVALUATION)
    assert launcher.ensure(evaluation_id=EVALUATION) == JOB


def test_a_quota_for_jobs_that_is_used_up_is_waited_for(api, launcher):
    words = f'jobs.batch "{JOB}" is forbidden: exceeded quota: planarena-jobs, used: count/jobs.batch=1000'
    api.faults.extend([Fault(), Fault(method="POST", status=403, message=words)])
    with pytest.raises(LaunchError, match=r"quota for workers is used up.*count/jobs\.batch=1000") as waits:
        launcher.ensure(evaluation_id=EVALUATION)
    assert not isinstance(waits.value, LaunchGivenUpError)
    assert launcher.ensure(evaluation_id=EVALUATION) == JOB


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=500, message='Internal error occurred: failed calling webhook "mjob.kb.io": no endpoints'),
        Fault(status=503),
        Fault(status=429, message="too many requests"),
        Fault(status=401, message="Unauthorized"),
        Fault(drop="before"),
    ],
)
def test_an_outage_is_never_taken_for_a_refusal(api, cluster, fault):
    launcher = make_launcher(api, cluster, client={"patience_seconds": 0.05})
    api.faults.extend([Fault(), fault])
    with pytest.raises(LaunchError) as away:
        launcher.ensure(evaluation_id=EVALUATION)
    assert not isinstance(away.value, LaunchGivenUpError)
    assert launcher.ensure(evaluation_id=EVALUATION) == JOB


def test_what_everybody_reads_of_the_cluster_s_words_holds_no_secret_address_or_image_and_is_short(
    api, cluster, monkeypatch
):
    monkeypatch.setenv("PLANARENA_WORKER_TOKEN", "a-token-of-the-operator")
    launcher = make_launcher(api, cluster, overrides=Overrides(env={"AWS_SECRET": "key-of-the-bucket"}))
    words = (
        f"denied:\n{IMAGE} is not signed; key-of-the-bucket; a-token-of-the-operator; https://policy.corp:8443/check; "
        "10.96.0.1:443; hook.kyverno.svc:443; registry.corp/x@sha256:" + "0" * 64 + " <script> " + "x" * 5000
    )
    api.faults.extend([Fault(), Fault(method="POST", status=403, message=words)])
    with pytest.raises(LaunchGivenUpError) as given_up:
        launcher.ensure(evaluation_id=EVALUATION)
    told = str(given_up.value)
    for hidden in ("registry", "key-of-the-bucket", "a-token-of", "policy.corp", "10.96", "kyverno", "\n"):
        assert hidden not in told
    assert "the worker's image is not signed" in told
    assert len(told) < 400


def test_a_job_gets_a_token_of_its_own_in_a_secret_that_goes_with_it(api, cluster):
    enrolments = FakeEnrolments()
    launcher = make_launcher(api, cluster, enrolments=enrolments)
    for evaluation in (EVALUATION, OTHER):
        launcher.ensure(evaluation_id=evaluation)
    minted = {evaluation: token for token, (evaluation, _) in enrolments.minted.items()}
    assert {item["metadata"]["name"]: item["stringData"]["token"] for item in api.all("secrets")} == {
        JOB: minted[EVALUATION], JOB.replace(EVALUATION, OTHER): minted[OTHER],
    }  # fmt: skip
    launcher.stop(handle=JOB)
    assert names_of(api, "secrets") == [JOB.replace(EVALUATION, OTHER)]


def test_a_cluster_that_refuses_the_secret_is_given_up_and_the_token_withdrawn(api, cluster):
    enrolments = FakeEnrolments()
    launcher = make_launcher(api, cluster, enrolments=enrolments)
    api.faults.extend([Fault(), Fault(), Fault(method="POST", part="secrets", status=403, message="secrets forbidden")])
    with pytest.raises(LaunchGivenUpError, match="secrets forbidden"):
        launcher.ensure(evaluation_id=EVALUATION)
    assert enrolments.withdrawn == list(enrolments.minted)


def test_the_token_of_a_job_that_waits_is_extended_and_no_other_one_is_minted(api, cluster):
    cluster.fate = unschedulable
    enrolments = FakeEnrolments()
    launcher = make_launcher(api, cluster, enrolments=enrolments)
    launcher.ensure(evaluation_id=EVALUATION)
    cluster.tick()
    for _ in range(3):
        with pytest.raises(LaunchError):
            launcher.ensure(evaluation_id=EVALUATION)
    assert enrolments.extended == [EVALUATION] * 3
    assert len(enrolments.minted) == 1


def test_stopping_deletes_the_job_with_its_pods_once_and_for_all(api, cluster, launcher):
    handle = launcher.ensure(evaluation_id=EVALUATION)
    launcher.ensure(evaluation_id=OTHER)
    cluster.tick()
    launcher.stop(handle=handle)
    launcher.stop(handle=handle)
    assert names_of(api) == [JOB.replace(EVALUATION, OTHER)]
    assert all(OTHER in name for name in names_of(api, "pods"))
    deleted = Liveness(alive=False, reason="it was deleted in the cluster", disrupted=True)
    assert launcher.alive(handle=handle) == deleted


def test_orphans_are_stopped_and_nothing_else(api, cluster, launcher):
    launcher.ensure(evaluation_id=EVALUATION)
    launcher.ensure(evaluation_id=OTHER)
    foreign = make_launcher(api, cluster, instance="staging")
    foreign.ensure(evaluation_id=EVALUATION)
    asked = []

    def wanted(ids):
        asked.append(set(ids))
        return {OTHER}

    assert launcher.stop_orphans(wanted=wanted) == [JOB]
    assert asked == [{EVALUATION, OTHER}]
    assert launcher.stop_orphans(wanted=wanted) == []
    assert names_of(api) == [JOB.replace(EVALUATION, OTHER), f"staging-{EVALUATION}-g1"]


def test_an_evaluation_that_begins_during_the_search_for_orphans_keeps_its_job(api, cluster, launcher):
    launcher.ensure(evaluation_id=OTHER)

    def wanted(ids):
        launcher.ensure(evaluation_id=EVALUATION)
        return {OTHER}

    assert launcher.stop_orphans(wanted=wanted) == []
    assert len(names_of(api)) == 2


def test_something_that_is_no_id_never_reaches_the_cluster(api, launcher):
    with pytest.raises(LaunchGivenUpError, match="is no evaluation's id"):
        launcher.ensure(evaluation_id="a,b=c")
    assert api.requests == []


CRASH_POINTS = [Fault(drop=when) for when in ("before", "after")] + [Fault(status=500), Fault(delay=1.5)]


@pytest.mark.parametrize("fault", CRASH_POINTS)
@pytest.mark.parametrize("call", range(6))
def test_a_process_that_dies_at_any_call_leaves_one_job_that_the_next_adopts(api, cluster, call, fault):
    """The dying process gets no second try of a call: whatever the server did stays, and nobody knows of it.

    Its calls are: list, create the Job, create its Secret; then, once the cluster has acted, list and list
    of pods, twice.
    """
    dying = make_launcher(api, cluster, client={"patience_seconds": 0.0})
    api.faults.extend([Fault()] * call + [fault])
    with suppress(LaunchError):
        for _ in range(3):
            dying.ensure(evaluation_id=EVALUATION)
            cluster.tick()
    assert not api.faults
    assert make_launcher(api, cluster).ensure(evaluation_id=EVALUATION) == JOB
    cluster.tick()
    with suppress(LaunchError):
        # Where the process died between Job and Secret, the pods wait for the Secret, and this one creates it.
        make_launcher(api, cluster).ensure(evaluation_id=EVALUATION)
    cluster.tick()
    assert names_of(api) == [JOB]
    assert names_of(api, "secrets") == [JOB]
    assert len(names_of(api, "pods")) == 2
    assert {pod["status"]["phase"] for pod in api.all("pods")} == {"Running"}


def test_status_is_that_of_the_last_job(api, cluster, launcher):
    assert launcher.status(evaluation_id=EVALUATION).reason is Reason.DELETED
    launcher.ensure(evaluation_id=EVALUATION)
    cluster.tick()
    assert launcher.status(evaluation_id=EVALUATION).state is State.RUNNING


def follow(api, found, stopped, **options):
    follower = Follower(
        client=api.client(), instance="planarena", on_change=found.append, stopped=stopped, pause_seconds=0.01,
        watch_seconds=1, **options,
    )  # fmt: skip
    thread = threading.Thread(target=follower.follow, kwargs={"kind": "pods"}, daemon=True)
    thread.start()
    return thread


def test_a_follower_tells_of_changes_also_after_drops_and_forgotten_versions(api, cluster, launcher):
    found, stopped = [], threading.Event()
    launcher.ensure(evaluation_id=EVALUATION)
    cluster.fate = lambda *_: None
    cluster.tick()
    api.faults.append(Fault(status=500))
    thread = follow(api, found, stopped)
    wait_for(lambda: EVALUATION in found)
    for trouble in (None, Fault(part="during watch", method="WATCH"), "forget"):
        found.clear()
        if trouble == "forget":
            api.forget_events()
        elif trouble:
            api.faults.append(trouble)
        cluster.fate = starts
        for pod in api.all("pods"):
            api.put("pods", pod)
        wait_for(lambda: EVALUATION in found)
    stopped.set()
    thread.join(5)
    assert not thread.is_alive()


def wait_for(holds, seconds=10.0):
    event = threading.Event()
    for _ in range(int(seconds / 0.02)):
        if holds():
            return
        event.wait(0.02)
    raise AssertionError("it did not happen")


def test_a_pod_that_hangs_is_deleted_alone_and_its_job_replaces_it(api, cluster, launcher):
    launcher.ensure(evaluation_id=EVALUATION)
    cluster.tick()
    pod, *others = names_of(api, "pods")
    launcher.stop_one(handle=pod)
    assert names_of(api, "pods") == others
    assert names_of(api) == [JOB]
    cluster.tick()
    assert len(names_of(api, "pods")) == 1 + len(others)
    launcher.stop_one(handle=pod)
    launcher.stop_one(handle=JOB)
    launcher.stop_one(handle="local-0123")
    assert names_of(api) == [JOB]
