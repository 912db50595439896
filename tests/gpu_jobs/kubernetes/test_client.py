"""The client against a server that misbehaves."""

import pytest

from gpu_jobs.launchers.kubernetes import ClusterError, build_job
from gpu_jobs.launchers.kubernetes.client import JOBS
from gpu_jobs.launchers.kubernetes.names import selector
from gpu_jobs.launchers.kubernetes.responses import (
    AlreadyThereError,
    ClusterRefusedError,
    ClusterUnreachableError,
    ExpiredError,
    QuotaExceededError,
)
from tests.fakes.kubernetes_api import Fault
from tests.gpu_jobs.kubernetes.making import EVALUATION, OTHER, make_facts, make_settings

ALL = selector(instance="planarena")


def manifest(evaluation=EVALUATION, generation=1):
    return build_job(facts=make_facts(evaluation_id=evaluation), generation=generation, settings=make_settings())


NAME = manifest()["metadata"]["name"]


def test_what_is_created_is_read_changed_and_deleted(api):
    client = api.client()
    uid = client.create_job(manifest())["metadata"]["uid"]
    assert client.job(NAME)["spec"] == manifest()["spec"]
    assert [job["metadata"]["name"] for job in client.jobs(ALL)[0]] == [NAME]
    assert client.jobs(selector(instance="planarena", evaluation_id=OTHER))[0] == []
    assert client.patch_job(name=NAME, patch={"spec": {"activeDeadlineSeconds": 1}})
    assert client.job(NAME)["spec"]["activeDeadlineSeconds"] == 1
    assert not client.delete_job(name=NAME, uid="another")
    assert client.delete_job(name=NAME, uid=uid)
    assert not client.delete_job(name=NAME, uid=uid)
    assert not client.patch_job(name=NAME, patch={})
    assert client.job(NAME) is None
    assert client.pod(NAME) is None


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=429, retry_after="1"),
        Fault(status=429),
        Fault(status=500),
        Fault(status=503, body=b"<html>no backend</html>"),
        Fault(drop="before"),
        Fault(delay=1.5),
    ],
)
def test_what_may_succeed_later_is_tried_again(api, fault):
    api.faults.extend([fault, fault])
    assert api.client(patience_seconds=10.0).jobs(ALL)[0] == []
    assert len(api.requests) == 3


def test_a_server_that_stays_away_is_an_error_within_the_time_for_it(api):
    api.faults.extend([Fault(status=503)] * 1000)
    with pytest.raises(ClusterUnreachableError, match=r"does not answer \(GET: HTTP 503: told to fail\)"):
        api.client(patience_seconds=0.2).jobs(ALL)


def test_a_sweep_over_many_does_not_wait_for_each_when_the_server_is_away(api):
    api.faults.extend([Fault(status=503)] * 1000)
    client = api.client(patience_seconds=0.2, rest_seconds=1000.0)
    for _ in range(20):
        with pytest.raises(ClusterUnreachableError):
            client.jobs(ALL)
    asked = len(api.requests)
    client._silent_until = 0.0
    api.faults.clear()
    assert client.jobs(ALL)[0] == []
    assert len(api.requests) == asked + 1


def test_a_server_that_is_not_there_is_an_error(api):
    client = api.client(patience_seconds=0.1)
    client._api.configuration.host = "http://127.0.0.1:1"
    with pytest.raises(ClusterUnreachableError):
        client.jobs(ALL)


def test_what_is_refused_is_not_tried_again(api):
    api.faults.append(Fault(status=403))
    with pytest.raises(ClusterRefusedError, match="the cluster answered 403: told to fail"):
        api.client().jobs(ALL)
    assert len(api.requests) == 1


def test_a_job_that_the_schema_refuses_is_an_error(api):
    with pytest.raises(ClusterRefusedError, match="422"):
        api.client().create_job({**manifest(), "spec": {"paralelism": 1}})


def test_an_answer_that_is_not_json_is_an_error(api):
    api.faults.append(Fault(status=200, body=b"<html>a login page</html>"))
    with pytest.raises(ClusterError, match="not JSON"):
        api.client().jobs(ALL)


@pytest.mark.parametrize("fault", [Fault(drop="after"), Fault(delay=1.5)])
def test_a_create_whose_answer_is_lost_meets_409_and_makes_one_job(api, fault):
    api.faults.append(fault)
    with pytest.raises(AlreadyThereError):
        api.client().create_job(manifest())
    assert len(api.all("jobs")) == 1


def test_a_create_that_conflicts_with_others_over_a_quota_is_tried_again(api):
    words = 'Operation cannot be fulfilled on resourcequotas "planarena-jobs": the object has been modified'
    api.faults.extend([Fault(status=409, reason="Conflict", message=words)] * 2)
    assert api.client().create_job(manifest())["metadata"]["name"] == NAME
    assert len(api.all("jobs")) == 1


def test_a_quota_that_is_used_up_is_told_from_other_refusals(api):
    words = f'jobs.batch "{NAME}" is forbidden: exceeded quota: planarena-jobs, requested: count/jobs.batch=1'
    api.faults.append(Fault(status=403, message=words))
    with pytest.raises(QuotaExceededError, match="exceeded quota: planarena-jobs"):
        api.client().create_job(manifest())
    api.faults.append(Fault(status=403, message=f'jobs.batch "{NAME}" is forbidden: failed quota: must specify cpu'))
    with pytest.raises(ClusterRefusedError) as refused:
        api.client().create_job(manifest())
    assert not isinstance(refused.value, QuotaExceededError)


def test_the_template_of_a_job_cannot_be_changed(api):
    client = api.client()
    client.create_job(manifest())
    with pytest.raises(ClusterRefusedError, match="field is immutable"):
        client.patch_job(name=NAME, patch={"spec": {"template": {"spec": {"hostNetwork": True}}}})


def test_lists_come_in_pages_and_begin_again_when_a_page_has_expired(api, monkeypatch):
    monkeypatch.setattr("gpu_jobs.launchers.kubernetes.client._PAGE", 2)
    for generation in range(1, 6):
        api.put("jobs", manifest(generation=generation))
    assert len(api.client().jobs(ALL)[0]) == 5
    api.faults.append(Fault(status=410, part="continue"))
    api.faults.rotate()
    first = api.client().jobs(ALL)[0]
    assert len(first) == 5
    assert len({job["metadata"]["name"] for job in first}) == 5


def test_a_watch_tells_what_comes_after_its_version(api):
    client = api.client()
    api.put("jobs", manifest())
    _, version = client.jobs(ALL)
    api.put("jobs", manifest(OTHER))
    api.remove("jobs", NAME)
    events = list(client.watch(api=JOBS, kind="jobs", selector=ALL, version=version, seconds=0))
    assert [event["type"] for event in events] == ["ADDED", "DELETED"]


def test_a_watch_from_a_forgotten_version_has_expired(api):
    api.put("jobs", manifest())
    api.forget_events()
    with pytest.raises(ExpiredError):
        list(api.client().watch(api=JOBS, kind="jobs", selector=ALL, version="1", seconds=0))
    api.faults.append(Fault(status=410))
    with pytest.raises(ExpiredError):
        list(api.client().watch(api=JOBS, kind="jobs", selector=ALL, version="1", seconds=0))


def test_a_watch_whose_connection_drops_just_ends(api):
    api.put("jobs", manifest())
    api.put("jobs", manifest(OTHER))
    api.faults.append(Fault(method="WATCH", part="during watch"))
    events = list(api.client().watch(api=JOBS, kind="jobs", selector=ALL, version="1", seconds=5))
    assert len(events) == 1


def test_a_watch_that_cannot_begin_is_an_error(api):
    api.faults.append(Fault(drop="before"))
    with pytest.raises(ClusterUnreachableError):
        list(api.client().watch(api=JOBS, kind="jobs", selector=ALL, version="1", seconds=0))


def test_without_kueue_there_is_no_workload(api):
    assert api.client().workload(job_uid="u") is None


def test_the_workload_of_a_job_is_found_by_its_uid(api):
    for uid in ("u1", "u2"):
        api.put("workloads", {"metadata": {"name": f"w-{uid}", "labels": {"kueue.x-k8s.io/job-uid": uid}}})
    assert api.client().workload(job_uid="u2")["metadata"]["name"] == "w-u2"
