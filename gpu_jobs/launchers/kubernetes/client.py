"""The thin edge to the API server: the official client's connection and credentials, JSON in and out.

Every call has a time limit, and is tried again with jitter where that may help: 429, 5xx, dropped connections, and 409
where it says that others changed something at the same moment. Everything else from 400 on is a refusal, and says so.
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
"""Reason of a Status. The other 409 is `AlreadyExists`."""


class ClusterError(Exception):
    """The API server could not be asked, or refused; the message is part of a sentence."""


class ClusterUnreachableError(ClusterError):
    """No usable answer within the time for it."""


class ClusterRefusedError(ClusterError):
    """It refuses, and would again until somebody changes something."""

    def __init__(self, *, status: int, message: str) -> None:
        self.status = status
        self.message = message
        """The cluster's own words."""
        super().__init__(f"the cluster answered {status}: {message}")


class QuotaExceededError(ClusterRefusedError):
    """A ResourceQuota of the namespace is used up: it may be taken when others have ended."""


class AlreadyThereError(ClusterError):
    """Something of this name exists."""


class ConflictError(ClusterError):
    """Others changed something at the same moment, or a precondition does not hold."""


class ExpiredError(ClusterError):
    """The server has forgotten what this list or watch would go on from: begin again."""


def may_heal(*, method: str, status: int, data: bytes) -> bool:
    """Whether the same request may succeed in a moment. A create meets a conflict when others take from the same quota
    at that moment; a delete only if its precondition does not hold."""
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
    """The Status in the body of an error. A proxy in between speaks HTML; then there is none."""
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
        found = json.loads(data or b"{}")
    except ValueError as error:
        raise ClusterError("the cluster's API answered with something that is not JSON") from error
    return found if isinstance(found, dict) else {}


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
            # Set again: the client reads the variable only when it is imported.
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
    """A client that tries nothing again by itself: one place decides, and knows what may be repeated."""
    configuration.retries = False
    return ApiClient(configuration)


class ClusterClient:
    """What the launcher reads and changes in one namespace."""

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
        namespace: where everything is.
        timeout: seconds to connect, and between two bytes.
        patience_seconds: how long a call is tried again until it fails; less than a Celery task may take.
        rest_seconds: how long calls fail at once after one has failed for so long: a sweep must not wait for each of
            its calls when the server is away.
        sleep: how to wait.
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
        """A pod, or None if there is none of this name."""
        return self._found(self._path(_CORE, "pods", name))

    def secret(self, name: str) -> Json | None:
        """A Secret, or None if there is none of this name."""
        return self._found(self._path(_CORE, "secrets", name))

    def patch_secret(self, *, name: str, patch: Json) -> bool:
        """Change a Secret by a JSON merge patch. False if it is not there."""
        return self._changed("PATCH", self._path(_CORE, "secrets", name), body=patch, headers=_MERGE_PATCH)

    def patch_pod(self, *, name: str, patch: Json) -> bool:
        """Change a pod by a JSON merge patch. False if it is not there."""
        return self._changed("PATCH", self._path(_CORE, "pods", name), body=patch, headers=_MERGE_PATCH)

    def delete_pod(self, *, name: str) -> bool:
        """Delete one pod, which gets SIGTERM and after its grace period SIGKILL. False if it is not there."""
        return self._changed("DELETE", self._path(_CORE, "pods", name), body={})

    def workloads(self) -> list[Json]:
        """Kueue's Workloads; none without Kueue, or without the right to ask."""
        found = (self._optional(f"{_KUEUE}/{version}", "workloads") for version in _KUEUE_VERSIONS)
        return next((items for items in found if items is not None), [])

    def scaled_objects(self) -> list[Json] | None:
        """KEDA's ScaledObjects; None without KEDA, or without the right to ask."""
        return self._optional(_KEDA, "scaledobjects")

    def watch_pods(self, *, selector: str, version: str, seconds: int = 60) -> Iterator[Json]:
        """What happens to pods after `version`, for at most so many seconds; then, or if the connection drops, it ends.

        Raises:
            ExpiredError: the server does not remember that version any more.
            ClusterError: the watch could not be started.
        """
        query = {
            "labelSelector": selector, "watch": "true", "resourceVersion": version, "timeoutSeconds": str(seconds),
            "allowWatchBookmarks": "true",
        }  # fmt: skip
        # A dead peer would hold the watch forever without a limit on silence.
        try:
            timeout = (self._timeout[0], seconds + 10.0)
            response = self._send("GET", self._path(_CORE, "pods"), query=query, timeout=timeout)
        except urllib3.exceptions.HTTPError as error:
            raise ClusterUnreachableError(f"the cluster's API does not answer ({type(error).__name__})") from error
        try:
            if response.status != 200:
                checked(status=response.status, data=response.data)
            with suppress(urllib3.exceptions.HTTPError):
                for line in _lines(response):
                    event = parsed(line)
                    if event.get("type") == "ERROR":
                        raise _error(status=int(event.get("object", {}).get("code", 500)), body=event.get("object", {}))
                    yield event
        finally:
            response.close()

    def _path(self, api: str, kind: str, name: str = "") -> str:
        path = f"{api}/namespaces/{self._namespace}/{kind}"
        return f"{path}/{name}" if name else path

    def _found(self, path: str) -> Json | None:
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

    def _changed(self, method: str, path: str, *, body: Json, headers: Mapping[str, str] | None = None) -> bool:
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
                # The list grew too old between two pages.
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
        """One request, tried again while that may help."""
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
        """One try, over the official client. The response is not read yet."""
        given = {"Accept": "application/json", "Content-Type": "application/json", **(headers or {})}
        request = self._api.param_serialize(
            method=method,
            resource_path=path,
            query_params=list((query or {}).items()),
            header_params=given,
            body=body,
            auth_settings=["BearerToken"],
        )
        try:
            # Unread, and without the client's models: a newer server may say what they do not know.
            return self._api.call_api(*request, _request_timeout=timeout).response
        except ApiException as error:
            # The client's own errors are about TLS: trying again would not help.
            raise ClusterError(f"the cluster's API cannot be spoken to ({error.reason})") from error


def _lines(response: Any) -> Iterator[bytes]:
    buffer = b""
    for chunk in response.stream(amt=None):
        buffer += chunk
        *whole, buffer = buffer.split(b"\n")
        yield from (line for line in whole if line.strip())


_LONGEST_PAUSE_SECONDS = 30.0


class Follower:
    """Tells which pods of pools have changed."""

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
        on_change: gets a pod's name; should only note it, and be fast.
        stopped: set it to end `follow`, within `watch_seconds`.
        pause_seconds: the least time between two watches.
        watch_seconds: how long one watch lasts.
        """
        self._client = client
        self._on_change = on_change
        self._stopped = stopped
        self._pause = pause_seconds
        self._seconds = watch_seconds

    def follow(self, *, beat: Callable[[], None] = lambda: None) -> None:
        """Follow the pods until stopped.

        Args:
            beat: called after every list and watch, also one that failed, as a sign of life.
        """
        version, wait = "", self._pause
        while not self._stopped.is_set():
            try:
                version = self._watch(version or self._list())
                wait = self._pause
            except ExpiredError:
                # Events were missed; the next list tells about everything that is there.
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
        """Tell about what changes after `version`, and return the version that was reached."""
        for event in self._client.watch_pods(selector=SELECTOR, version=version, seconds=self._seconds):
            changed = event.get("object", {})
            version = str(changed.get("metadata", {}).get("resourceVersion", "")) or version
            if event.get("type") != "BOOKMARK" and changed.get("metadata", {}).get("name"):
                self._on_change(name_of(changed))
            if self._stopped.is_set():
                break
        return version
