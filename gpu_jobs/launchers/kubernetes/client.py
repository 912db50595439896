"""The thin edge to the API server: the official client's connection and credentials, JSON in and out.

Every call has a time limit, and is tried again with jitter where that may help: 429, 5xx, dropped connections, and 409
where it says that others changed something at the same moment. Everything else from 400 on is a refusal, and says so.
"""

import os
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import urllib3
from kubernetes.client import ApiClient, Configuration
from kubernetes.client.exceptions import ApiException
from kubernetes.config import ConfigException, load_incluster_config, load_kube_config

from evaluator.network.transient import asked_to_wait
from gpu_jobs.launchers.kubernetes.responses import (
    ClusterError,
    ClusterRefusedError,
    ClusterUnreachableError,
    ExpiredError,
    Json,
    _error,
    checked,
    error_text,
    may_heal,
    parsed,
)
from gpu_jobs.launchers.kubernetes.settings import KubernetesSettings

_PAGE = 500
_LONGEST_WAIT_SECONDS = 5.0
_LONGEST_ASKED_SECONDS = 30.0
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
        until = time.monotonic() + self._patience
        wait = 0.2
        while True:
            retry_after = 0.0
            try:
                response = self._send(method, path, query=query, body=body, headers=headers, timeout=self._timeout)
                data = response.data
                if not may_heal(method=method, status=response.status, data=data):
                    return checked(status=response.status, data=data)
                problem = error_text(status=response.status, data=data)
                retry_after = min(asked_to_wait(response.headers) or 0.0, _LONGEST_ASKED_SECONDS)
            except urllib3.exceptions.HTTPError as error:
                problem = type(error).__name__
            pause = max(retry_after, wait * random.uniform(0.5, 1.0))  # noqa: S311 - no secret
            if time.monotonic() + pause > until:
                self._silent_until = time.monotonic() + self._rest
                raise ClusterUnreachableError(f"the cluster's API does not answer ({method}: {problem})")
            self._sleep(pause)
            wait = min(wait * 2, _LONGEST_WAIT_SECONDS)

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
