"""A thin client of the API server: the official client's connection and credentials, with JSON in and out.

Every call has a time limit, and is retried with jitter after transient errors: 429, 5xx, dropped connections, and 409
because of a concurrent change. All other statuses from 400 on are permanent refusals.
"""

import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import urllib3
from kubernetes.client import ApiClient, Configuration
from kubernetes.client.exceptions import ApiException
from kubernetes.config import ConfigException, load_incluster_config, load_kube_config

from evaluator.network.transient import Backoff, TransientError, asked_to_wait, is_transient, retried
from gpu_jobs.launchers.kubernetes.reasons import Json, is_about_quota
from gpu_jobs.launchers.kubernetes.settings import SELECTOR, KubernetesSettings, name_of

logger = logging.getLogger(__name__)

_CONFLICT = "Conflict"
"""Reason of a Status. The other reason of 409 is `AlreadyExists`."""


class ClusterError(Exception):
    """The API server could not be reached, or refused; the message is part of a sentence."""


class ClusterUnreachableError(ClusterError):
    """No valid response within the time limit."""


class ClusterRefusedError(ClusterError):
    """A permanent refusal."""

    def __init__(self, *, status: int, message: str) -> None:
        self.status = status
        self.message = message
        """The cluster's message."""
        super().__init__(f"the cluster answered {status}: {message}")


class QuotaExceededError(ClusterRefusedError):
    """A ResourceQuota of the namespace is used up, until other workers end."""


class AlreadyThereError(ClusterError):
    """An object with this name exists."""


class ConflictError(ClusterError):
    """A concurrent change, or a failed precondition."""


class ExpiredError(ClusterError):
    """The resource version of a list or watch has expired: start again."""


def may_heal(*, method: str, status: int, data: bytes) -> bool:
    """Whether a retry of the request may succeed. A create has a conflict if others use the same quota concurrently; a
    delete only if its precondition fails."""
    if status == 409 and method != "DELETE":
        return _status_object(data).get("reason") == _CONFLICT
    return is_transient(status, conflicts_are_answers=True)


def error_text(*, status: int, data: bytes) -> str:
    message = str(_status_object(data).get("message", "")).strip()
    return f"HTTP {status}: {message}" if message else f"HTTP {status}"


def checked(*, status: int, data: bytes) -> Json:
    if 200 <= status < 300:
        return parsed(data)
    raise _error(status=status, body=_status_object(data))


def _status_object(data: bytes) -> Json:
    """The Status in the body of an error; empty if there is none, as in a proxy's HTML page."""
    try:
        return parsed(data)
    except ClusterError:
        return {}


def _error(*, status: int, body: Json) -> ClusterError:
    message = str(body.get("message", "")).strip() or "no message"
    if status == 409:
        return ConflictError(message) if body.get("reason") == _CONFLICT else AlreadyThereError(message)
    if status == 403 and is_about_quota(message):
        return QuotaExceededError(status=status, message=message)
    if status == 410:
        return ExpiredError(message)
    if is_transient(status, conflicts_are_answers=True):
        return ClusterUnreachableError(f"the cluster's API does not answer ({status}: {message})")
    return ClusterRefusedError(status=status, message=message)


def parsed(data: bytes) -> Json:
    try:
        body = json.loads(data or b"{}")
    except ValueError as error:
        raise ClusterError("the cluster's API sent a response that is not JSON") from error
    return body if isinstance(body, dict) else {}


_PAGE = 500
_BACKOFF = Backoff(first=0.2, longest=5.0, longest_asked=30.0, jitter=True)
_KUEUE_VERSIONS = ("v1beta2", "v1beta1")
_CORE, _APPS, _KUEUE, _KEDA = "/api/v1", "/apis/apps/v1", "/apis/kueue.x-k8s.io", "/apis/keda.sh/v1alpha1"
_MERGE_PATCH = {"Content-Type": "application/merge-patch+json"}


def connect(settings: KubernetesSettings) -> ApiClient:
    """A connection with the credentials of the pod, or of a kubeconfig outside a cluster.

    Raises:
        ClusterError: there are none.
    """
    configuration = Configuration()
    try:
        if settings.context:
            # The client reads the variable only on import.
            file = os.environ.get("KUBECONFIG") or None
            load_kube_config(config_file=file, context=settings.context, client_configuration=configuration)
        else:
            load_incluster_config(client_configuration=configuration)
    except ConfigException as error:
        raise ClusterError(
            f"there are no credentials for a cluster ({error}); run in a pod with a service account, or set "
            "PLANARENA_KUBERNETES_CONTEXT to a context of the kubeconfig"
        ) from error
    return api_client(configuration)


def api_client(configuration: Configuration) -> ApiClient:
    """A client without retries of its own, which `ClusterClient` decides on."""
    configuration.retries = False
    return ApiClient(configuration)


class ClusterClient:
    """The calls of the launcher in one namespace."""

    def __init__(
        self,
        *,
        api: ApiClient,
        namespace: str,
        timeout: tuple[float, float] = (5.0, 20.0),
        patience_seconds: float = 20.0,
        rest_seconds: float = 15.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Args:
        api: the official client.
        namespace: of all objects.
        timeout: seconds to connect, and between two bytes.
        patience_seconds: how long a call is retried; less than the time limit of Celery tasks.
        rest_seconds: how long further calls fail at once after that: a sweep must not wait for each of its calls while
            the server is down.
        sleep: for tests.
        """
        self._api = api
        self._namespace = namespace
        self._timeout = timeout
        self._patience = patience_seconds
        self._rest = rest_seconds
        self._sleep = sleep
        self._silent_until = 0.0

    def deployments(self, selector: str) -> list[Json]:
        """All Deployments with these labels."""
        return self._list(self._path(_APPS, "deployments"), selector)[0]

    def pods(self, selector: str) -> tuple[list[Json], str]:
        """All pods with these labels, and the version of the list."""
        return self._list(self._path(_CORE, "pods"), selector)

    def pod(self, name: str) -> Json | None:
        """The pod of this name, or None."""
        return self._get(self._path(_CORE, "pods", name))

    def secret(self, name: str) -> Json | None:
        """The Secret of this name, or None."""
        return self._get(self._path(_CORE, "secrets", name))

    def patch_secret(self, *, name: str, patch: Json) -> bool:
        """Change a Secret by a JSON merge patch. False if it does not exist."""
        return self._change("PATCH", self._path(_CORE, "secrets", name), body=patch, headers=_MERGE_PATCH)

    def patch_pod(self, *, name: str, patch: Json) -> bool:
        """Change a pod by a JSON merge patch. False if it does not exist."""
        return self._change("PATCH", self._path(_CORE, "pods", name), body=patch, headers=_MERGE_PATCH)

    def delete_pod(self, *, name: str) -> bool:
        """Delete a pod, which gets SIGTERM and after its grace period SIGKILL. False if it does not exist."""
        return self._change("DELETE", self._path(_CORE, "pods", name), body={})

    def workloads(self) -> list[Json]:
        """Kueue's Workloads; none without Kueue, or without permission."""
        lists = (self._optional(f"{_KUEUE}/{version}", "workloads") for version in _KUEUE_VERSIONS)
        return next((items for items in lists if items is not None), [])

    def scaled_objects(self) -> list[Json] | None:
        """KEDA's ScaledObjects; None without KEDA, or without permission."""
        return self._optional(_KEDA, "scaledobjects")

    def watch_pods(self, *, selector: str, version: str, seconds: int = 60) -> Iterator[Json]:
        """Events of pods after `version`, for at most `seconds` or until the connection drops.

        Raises:
            ExpiredError: that version has expired.
            ClusterError: the watch could not be started.
        """
        query = {
            "labelSelector": selector, "watch": "true", "resourceVersion": version, "timeoutSeconds": str(seconds),
            "allowWatchBookmarks": "true",
        }  # fmt: skip
        # The read timeout ends the watch of a dead peer.
        try:
            timeout = (self._timeout[0], seconds + 10.0)
            response = self._send("GET", self._path(_CORE, "pods"), query=query, timeout=timeout)
        except urllib3.exceptions.HTTPError as error:
            raise ClusterUnreachableError(f"the cluster's API does not answer ({type(error).__name__})") from error
        try:
            if response.status != 200:
                checked(status=response.status, data=response.data)
            buffer = b""
            with suppress(urllib3.exceptions.HTTPError):
                for chunk in response.stream(amt=None):
                    *lines, buffer = (buffer + chunk).split(b"\n")
                    for line in filter(bytes.strip, lines):
                        event = parsed(line)
                        if event.get("type") == "ERROR":
                            status = event.get("object", {})
                            raise _error(status=int(status.get("code", 500)), body=status)
                        yield event
        finally:
            response.close()

    def _path(self, api: str, kind: str, name: str = "") -> str:
        path = f"{api}/namespaces/{self._namespace}/{kind}"
        return f"{path}/{name}" if name else path

    def _get(self, path: str) -> Json | None:
        try:
            return self._call("GET", path)
        except ClusterRefusedError as error:
            if error.status == 404:
                return None
            raise

    def _optional(self, api: str, kind: str) -> list[Json] | None:
        try:
            return self._list(self._path(api, kind), "")[0]
        except ClusterRefusedError as error:
            if error.status in {403, 404}:
                return None
            raise

    def _change(self, method: str, path: str, *, body: Json, headers: Mapping[str, str] | None = None) -> bool:
        try:
            self._call(method, path, body=body, headers=headers)
        except ClusterRefusedError as error:
            if error.status == 404:
                return False
            raise
        return True

    def _list(self, path: str, selector: str) -> tuple[list[Json], str]:
        query = {"labelSelector": selector, "limit": str(_PAGE)} if selector else {"limit": str(_PAGE)}
        items: list[Json] = []
        while True:
            try:
                page = self._call("GET", path, query=query)
            except ExpiredError:
                if "continue" not in query:
                    raise
                # The list expired between two pages.
                items, query = [], {key: value for key, value in query.items() if key == "labelSelector"}
                continue
            items += page.get("items") or []
            metadata = page.get("metadata", {})
            if not metadata.get("continue"):
                return items, str(metadata.get("resourceVersion", ""))
            query = {**query, "continue": str(metadata["continue"])}

    def _call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Json | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Json:
        """One request, with retries."""
        if time.monotonic() < self._silent_until:
            raise ClusterUnreachableError("the cluster's API did not answer a moment ago")

        def once(_: int) -> Json:
            try:
                response = self._send(method, path, query=query, body=body, headers=headers, timeout=self._timeout)
                status, data = response.status, response.data
            except urllib3.exceptions.HTTPError as error:
                raise TransientError(type(error).__name__) from None
            if may_heal(method=method, status=status, data=data):
                raise TransientError(error_text(status=status, data=data), asked=asked_to_wait(response.headers))
            return checked(status=status, data=data)

        try:
            return retried(once, backoff=_BACKOFF, seconds=self._patience, sleep=self._sleep)
        except TransientError as error:
            self._silent_until = time.monotonic() + self._rest
            raise ClusterUnreachableError(f"the cluster's API does not answer ({method}: {error})") from None

    def _send(
        self,
        method: str,
        path: str,
        *,
        timeout: tuple[float, float],
        query: Mapping[str, str] | None = None,
        body: Json | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """One try with the official client. The response is not read yet."""
        all_headers = {"Accept": "application/json", "Content-Type": "application/json", **(headers or {})}
        request = self._api.param_serialize(
            method=method,
            resource_path=path,
            query_params=list((query or {}).items()),
            header_params=all_headers,
            body=body,
            auth_settings=["BearerToken"],
        )
        try:
            # Unread, and without the client's models, which may not know the fields of a newer server.
            return self._api.call_api(*request, _request_timeout=timeout).response
        except ApiException as error:
            # The client itself only raises errors of TLS: a retry would not help.
            raise ClusterError(f"no connection to the cluster's API ({error.reason})") from error


_LONGEST_PAUSE_SECONDS = 30.0


class Follower:
    """Reports changes of the pools' pods."""

    def __init__(
        self,
        *,
        client: ClusterClient,
        on_change: Callable[[str], None],
        stopped: threading.Event,
        pause_seconds: float = 1.0,
        watch_seconds: int = 60,
    ) -> None:
        """Args:
        client: the cluster.
        on_change: called with the name of a pod; must be fast.
        stopped: ends `follow` within `watch_seconds` when set.
        pause_seconds: shortest pause between two watches.
        watch_seconds: duration of a watch.
        """
        self._client = client
        self._on_change = on_change
        self._stopped = stopped
        self._pause = pause_seconds
        self._seconds = watch_seconds

    def follow(self, *, beat: Callable[[], None] = lambda: None) -> None:
        """Follow the pods until stopped.

        Args:
            beat: called after every list and watch, including failed ones, as a heartbeat.
        """
        version, wait = "", self._pause
        while not self._stopped.is_set():
            try:
                version = self._watch(version or self._list())
                wait = self._pause
            except ExpiredError:
                # Events were missed; the next list reports all pods.
                version = ""
            except ClusterError as error:
                logger.warning("watching pods: %s", error)
                wait = min(wait * 2, _LONGEST_PAUSE_SECONDS)
            beat()
            self._stopped.wait(wait)

    def _list(self) -> str:
        pods, version = self._client.pods(SELECTOR)
        for pod in pods:
            self._on_change(name_of(pod))
        return version

    def _watch(self, version: str) -> str:
        """Report changes after `version`, and return the latest version."""
        for event in self._client.watch_pods(selector=SELECTOR, version=version, seconds=self._seconds):
            pod = event.get("object", {})
            version = str(pod.get("metadata", {}).get("resourceVersion", "")) or version
            if event.get("type") != "BOOKMARK" and pod.get("metadata", {}).get("name"):
                self._on_change(name_of(pod))
            if self._stopped.is_set():
                break
        return version
