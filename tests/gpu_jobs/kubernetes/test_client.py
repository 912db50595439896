"""The client against a server that misbehaves."""

import pytest

from gpu_jobs.launchers.kubernetes.client import (
    ClusterError,
    ClusterRefusedError,
    ClusterUnreachableError,
    ExpiredError,
)
from gpu_jobs.launchers.kubernetes.settings import SELECTOR
from tests.fakes.kubernetes.api import Fault
from tests.gpu_jobs.kubernetes.making import CPU, GPU, install

LABELS = {"app.kubernetes.io/name": "planarena", "app.kubernetes.io/component": "worker", "planarena.io/pool": "gpu"}


def pod(name, **labels):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": LABELS | labels}, "spec": {}}


def test_what_is_there_is_read_and_changed(api):
    install(api)
    install(api, pool="cpu")
    api.put("pods", pod("one"))
    api.put("pods", pod("somebody's", **{"app.kubernetes.io/component": "web"}))
    client = api.client()
    assert [one["metadata"]["name"] for one in client.deployments(SELECTOR)] == [GPU, CPU]
    assert [one["metadata"]["name"] for one in client.pods(SELECTOR)[0]] == ["one"]
    assert client.patch_pod(name="one", patch={"metadata": {"annotations": {"a": "b"}}})
    assert client.pod("one")["metadata"]["annotations"] == {"a": "b"}
    assert client.patch_secret(name=GPU, patch={"data": {"token": "eA=="}})
    assert client.secret(GPU)["data"] == {"token": "eA=="}
    assert client.delete_pod(name="one")
    assert not client.delete_pod(name="one")
    assert not client.patch_pod(name="one", patch={})
    assert client.pod("one") is None


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=429, retry_after="1"),
        Fault(status=429),
        Fault(status=500),
        Fault(status=503, body=b"<html>no backend</html>"),
        Fault(status=409, reason="Conflict"),
        Fault(drop="before"),
    ],
)
def test_what_may_succeed_later_is_tried_again(api, fault):
    api.faults.extend([fault, fault])
    assert api.client(patience_seconds=10.0).pods(SELECTOR)[0] == []
    assert len(api.requests) == 3


def test_a_server_that_stays_away_is_an_error_within_the_time_for_it(api):
    api.faults.extend([Fault(status=503)] * 1000)
    with pytest.raises(ClusterUnreachableError, match=r"does not answer \(GET: HTTP 503: told to fail\)"):
        api.client(patience_seconds=0.2).pods(SELECTOR)


def test_a_server_that_is_silent_is_not_waited_for_without_end(api):
    api.faults.append(Fault(drop="never"))
    with pytest.raises(ClusterUnreachableError, match="ReadTimeoutError"):
        api.client(timeout=(1.0, 0.05), patience_seconds=0.0).pods(SELECTOR)


def test_a_sweep_over_many_does_not_wait_for_each_when_the_server_is_away(api):
    api.faults.extend([Fault(status=503)] * 1000)
    client = api.client(patience_seconds=0.2, rest_seconds=1000.0)
    for _ in range(20):
        with pytest.raises(ClusterUnreachableError):
            client.pods(SELECTOR)
    asked = len(api.requests)
    client._silent_until = 0.0
    api.faults.clear()
    assert client.pods(SELECTOR)[0] == []
    assert len(api.requests) == asked + 1


def test_what_is_refused_is_not_tried_again(api):
    api.faults.append(Fault(status=403))
    with pytest.raises(ClusterRefusedError, match="the cluster answered 403: told to fail"):
        api.client().pods(SELECTOR)
    assert len(api.requests) == 1


def test_an_answer_that_is_not_json_is_an_error(api):
    api.faults.append(Fault(status=200, body=b"<html>a login page</html>"))
    with pytest.raises(ClusterError, match="not JSON"):
        api.client().pods(SELECTOR)


def test_lists_come_in_pages_and_begin_again_when_a_page_has_expired(api, monkeypatch):
    monkeypatch.setattr("gpu_jobs.launchers.kubernetes.client._PAGE", 2)
    for number in range(5):
        api.put("pods", pod(f"p{number}"))
    assert len(api.client().pods(SELECTOR)[0]) == 5
    api.faults.append(Fault(status=410, part="continue"))
    api.faults.rotate()
    first = api.client().pods(SELECTOR)[0]
    assert len(first) == 5
    assert len({one["metadata"]["name"] for one in first}) == 5


def test_a_watch_tells_what_comes_after_its_version(api):
    client = api.client()
    api.put("pods", pod("one"))
    _, version = client.pods(SELECTOR)
    api.put("pods", pod("two"))
    api.remove("pods", "one")
    events = list(client.watch_pods(selector=SELECTOR, version=version, seconds=0))
    assert [event["type"] for event in events] == ["ADDED", "DELETED"]


def test_a_watch_whose_connection_drops_just_ends(api):
    client = api.client()
    _, version = client.pods(SELECTOR)
    api.put("pods", pod("one"))
    api.faults.append(Fault(drop="after"))
    events = list(client.watch_pods(selector=SELECTOR, version=version, seconds=0))
    assert [event["type"] for event in events] == ["ADDED"]


def test_a_watch_from_a_forgotten_version_has_expired(api):
    api.put("pods", pod("one"))
    api.forget_events()
    with pytest.raises(ExpiredError):
        list(api.client().watch_pods(selector=SELECTOR, version="1", seconds=0))
    api.faults.append(Fault(status=410))
    with pytest.raises(ExpiredError):
        list(api.client().watch_pods(selector=SELECTOR, version="1", seconds=0))
