"""Workers as pods of pools, which the Helm chart installs and a scaler (KEDA) starts and stops. The launcher starts no
pod: it says why none runs, hands out tokens, and tells the cluster which pods are busy.

It is stateless: after a restart it finds the same pools by their labels. Evaluations wait for a pool that does not
start; they do not fail.
"""

import base64
import binascii
import logging
import re
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import Any

from gpu_jobs.launchers.base import LaunchError, Liveness, PoolEnrolments
from gpu_jobs.launchers.kubernetes.client import ClusterClient, ClusterError, ClusterRefusedError
from gpu_jobs.launchers.kubernetes.fleet import KEPT_SECONDS, FleetView, liveness_of
from gpu_jobs.launchers.kubernetes.pods import assess_pod, condition
from gpu_jobs.launchers.kubernetes.reasons import MEANINGS, Assessment, Json, Reason, State
from gpu_jobs.launchers.kubernetes.settings import (
    DELETION_COST,
    TOKEN_KEY,
    KubernetesSettings,
    name_of,
    pool_handle,
    pool_of_handle,
    pool_of_pod,
)
from gpu_jobs.launchers.pools import Needs, Pool, pool_of
from gpu_jobs.redaction import Redactor, secrets_of

logger = logging.getLogger(__name__)
_BUSY, _IDLE = "100", "0"
_QUOTED = frozenset({Reason.NO_PODS, Reason.QUOTA_EXCEEDED, Reason.POD_SECURITY, Reason.NOT_SCALED})
"""Reasons whose sentence is followed by the cluster's own words."""
_NOT_ENROLLED = "The Secret of the worker pool is missing; the operator has to install the pool again."
_PAUSED = "autoscaling.keda.sh/paused"


class KubernetesLauncher:
    """Watches over the worker pools of an installation."""

    def __init__(
        self,
        *,
        client: ClusterClient,
        settings: KubernetesSettings,
        enrolments: PoolEnrolments,
        needs: Callable[[str], Needs],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Args:
        client: the cluster.
        settings: the operator's.
        enrolments: where the pools' tokens come from.
        needs: what an evaluation needs of its pool, by its id.
        clock: the time in seconds; tests give their own.
        """
        self._client = client
        self._settings = settings
        self._needs = needs
        self._clock = clock
        self._fleet = FleetView(client=client, clock=clock)
        self._tokens = PoolTokens(client=client, enrolments=enrolments, clock=clock)
        self._unscaled_since: dict[str, float] = {}
        """When this process first saw a pool without replicas that evaluations wait for."""
        self._without_token: dict[str, str] = {}
        """Pools whose workers may lack a valid token, and why."""
        self._token_rests_until: dict[str, float] = {}
        self._secrets = tuple(secrets_of())

    def ensure(self, *, evaluation_id: str) -> str:
        """The handle of the pool that runs an evaluation, if a worker of it runs or starts.

        Raises:
            LaunchError: no pool takes the evaluation, or no worker of it runs; the sentence says why.
        """
        needs = self._needs(evaluation_id)
        pool = pool_of(needs=needs, pools=self._settings.pools)
        if pool is None:
            raise LaunchError(f"{needs.sentence} The operator has to add one.")
        self._renew_token(pool)
        if why := self._without_token.get(pool.name):
            raise LaunchError(why)
        found = self._assessed(pool)
        if found.state is State.RUNNING or found.reason is Reason.STARTING:
            return pool_handle(pool.name)
        logger.warning("%s: %s (%s)", pool_handle(pool.name), found.reason, found.detail)
        raise LaunchError(self._sentence(found))

    def alive(self, *, handle: str) -> Liveness:
        """How a pool or one of its pods is; unknown for all that is none, and while the cluster is away."""
        pools = self._settings.pools
        if not (pool := pool_of_handle(handle=handle, pools=pools)) and not pool_of_pod(handle=handle, pools=pools):
            return Liveness(alive=None)
        try:
            return self._alive_pool(pool) if pool else self._alive_pod(handle)
        except ClusterError as error:
            self._log(handle, error)
            return Liveness(alive=None)

    def stop(self, *, handle: str) -> None:
        """Delete a pod; a pool is not the launcher's to stop.

        Raises:
            LaunchError: the cluster could not be asked, or refused.
        """
        self.stop_one(handle=handle)

    def stop_one(self, *, handle: str) -> None:
        """Delete one pod, which its pool replaces.

        Raises:
            LaunchError: the cluster could not be asked, or refused.
        """
        if not pool_of_pod(handle=handle, pools=self._settings.pools):
            return
        self._fleet.forget()
        try:
            self._client.delete_pod(name=handle)
        except ClusterError as error:
            self._log(handle, error)
            raise LaunchError(f"The worker could not be stopped: {self._words(str(error))}") from error

    def stop_if_over(self, *, handle: str) -> None:
        """Does nothing: no signal reaches a pod. Its worker learns from its next heartbeat that its attempt is over."""

    def tend(self, *, busy: Collection[str]) -> None:
        """Renew tokens, and tell the cluster which pods it should not take when it scales a pool down.

        Args:
            busy: the handles of workers that hold a lease.
        """
        for pool in self._settings.pools:
            self._renew_token(pool)
        try:
            for pod in self._fleet.now().pods.values():
                self._price(pod, busy=name_of(pod) in busy)
        except ClusterError as error:
            self._log("the pools' pods", error)

    def _alive_pool(self, pool: str) -> Liveness:
        if pool in self._without_token:
            return Liveness(alive=None)
        running = self._fleet.now().assess(pool).state is State.RUNNING
        return Liveness(alive=True) if running else Liveness(alive=None)

    def _alive_pod(self, name: str) -> Liveness:
        # One that has leased may be younger than the last look at all pods.
        pod = self._fleet.now().pods.get(name) or self._client.pod(name)
        if pod is not None:
            return liveness_of(pod)
        return Liveness(alive=False, reason=MEANINGS[Reason.DELETED].short, disrupted=True)

    def _assessed(self, pool: Pool) -> Assessment:
        """How a pool stands; one without replicas, after a while, with what is known of its scaler.

        Raises:
            LaunchError: the cluster could not be asked, or refused.
        """
        with_words = "The cluster refuses to tell about the workers"
        try:
            found = self._fleet.now().assess(pool.name)
            if found.reason is not Reason.NOT_SCALED:
                self._unscaled_since.pop(pool.name, None)
                return found
            since = self._unscaled_since.setdefault(pool.name, self._clock())
            if self._clock() - since < self._settings.scale_patience_seconds:
                return Assessment(state=State.WAITING, reason=Reason.STARTING)
            return Assessment(state=found.state, reason=found.reason, detail=self._scaler_says(pool))
        except ClusterRefusedError as error:
            self._log(pool_handle(pool.name), error)
            raise LaunchError(f"{with_words} ({error.status}): {self._words(error.message)}") from error
        except ClusterError as error:
            self._log(pool_handle(pool.name), error)
            raise LaunchError("The cluster could not be asked for a worker.") from error

    def _scaler_says(self, pool: Pool) -> str:
        """What KEDA says of a pool that it does not scale up."""
        scalers = self._client.scaled_objects()
        if scalers is None:
            return ""
        own = next((one for one in scalers if name_of(one) == pool_handle(pool.name)), None)
        if own is None:
            return "the pool has no ScaledObject"
        if (own["metadata"].get("annotations") or {}).get(_PAUSED, "").lower() == "true":
            return "the ScaledObject is paused"
        ready = condition(own, "Ready")
        return "" if ready is None or ready.get("status") == "True" else str(ready.get("message", ""))

    def _renew_token(self, pool: Pool) -> None:
        """See that a pool's workers have a valid token, and note why if they may have none."""
        if self._clock() < self._token_rests_until.get(pool.name, float("-inf")):
            return
        what = f"Secret {pool_handle(pool.name)}"
        try:
            found = self._tokens.renew(pool.name)
            why = "" if found else _NOT_ENROLLED
        except ClusterRefusedError as error:
            self._log(what, error)
            why = f"The cluster refuses the token of the workers ({error.status}): {self._words(error.message)}"
        except ClusterError as error:
            # The token that the workers have goes on being valid for days.
            self._log(what, error)
            return
        if why:
            self._without_token[pool.name] = why
            # Thousands of evaluations may wait for this pool.
            self._token_rests_until[pool.name] = self._clock() + KEPT_SECONDS
        else:
            self._without_token.pop(pool.name, None)

    def _price(self, pod: Json, *, busy: bool) -> None:
        wanted = _BUSY if busy else _IDLE
        present = (pod["metadata"].get("annotations") or {}).get(DELETION_COST, _IDLE)
        if wanted != present and assess_pod(pod).state is State.RUNNING:
            self._client.patch_pod(name=name_of(pod), patch={"metadata": {"annotations": {DELETION_COST: wanted}}})

    def _sentence(self, found: Assessment) -> str:
        """The reason for a person; where the cluster has said more than the reason does, with its words."""
        if found.reason not in _QUOTED or not found.detail:
            return found.sentence
        return f"{found.sentence} The cluster says: {self._words(found.detail)}"

    def _words(self, text: str) -> str:
        """The cluster's words, for the evaluation's page."""
        images: Collection[str] = ()
        with suppress(ClusterError):
            images = self._fleet.now().images()
        return public_words(text, secrets=self._secrets, images=images)

    def _log(self, what: str, error: ClusterError) -> None:
        logger.warning("%s: %s", what, Redactor(secrets=self._secrets)(str(error)))


_LOOKED_AT_EVERY_SECONDS = 60.0


class PoolTokens:
    """Sees that each pool's Secret holds a token that opens sessions, whatever happened to it."""

    def __init__(
        self, *, client: ClusterClient, enrolments: PoolEnrolments, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Args:
        client: the cluster.
        enrolments: where tokens come from.
        clock: the time in seconds; tests give their own.
        """
        self._client = client
        self._enrolments = enrolments
        self._clock = clock
        self._good_until: dict[str, float] = {}

    def renew(self, pool: str) -> bool:
        """See that the pool's Secret holds a fresh token, at most once a minute. False if there is no Secret.

        A process that dies between minting and writing leaves an unused token; the next call mints another.

        Raises:
            ClusterError: the Secret could not be read or written, or nobody knows.
        """
        if self._good_until.get(pool, float("-inf")) > self._clock():
            return True
        secret = self._client.secret(pool_handle(pool))
        if secret is None:
            return False
        if not self._enrolments.is_fresh(pool=pool, token=_token_in(secret)):
            self._write(pool)
        self._good_until[pool] = self._clock() + _LOOKED_AT_EVERY_SECONDS
        return True

    def _write(self, pool: str) -> None:
        token = self._enrolments.mint(pool=pool)
        data = {TOKEN_KEY: base64.b64encode(token.encode()).decode()}
        try:
            self._client.patch_secret(name=pool_handle(pool), patch={"data": data})
        except BaseException:
            # Written after all, where only the answer was lost: then the next look renews it.
            self._enrolments.withdraw(token)
            raise
        logger.info("renewed the enrolment token of the pool %s", pool)


def _token_in(secret: dict[str, Any]) -> str:
    """The token that the Secret holds; empty if it holds none."""
    try:
        return base64.b64decode((secret.get("data") or {}).get(TOKEN_KEY, ""), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, TypeError):
        return ""


_MOST_CHARACTERS = 300
_ADDRESSES = (
    (re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s\"',)]+", re.IGNORECASE), "an address"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"), "an address"),
    (re.compile(r"\b[\w-]+(?:\.[\w-]+)*\.svc(?:\.[\w-]+)*(?::\d+)?\b"), "a service"),
    (re.compile(r"[\w./:-]*@sha256:[0-9a-f]{64}"), "an image"),
)


def public_words(text: str, *, secrets: Iterable[str] = (), images: Iterable[str] = ()) -> str:
    """What the cluster said, for everybody who may read the evaluation's page.

    Args:
        text: a message of the API server, an admission webhook or a controller.
        secrets: values that must not be shown.
        images: the workers'; their registry is the operator's affair.

    Returns:
        One line of at most 300 characters that ends with a full stop, or nothing if there was no text.
    """
    words = Redactor(secrets=secrets)(" ".join(text.split()))
    for name in filter(None, (part for image in images for part in (image, image.partition("@")[0]))):
        words = words.replace(name, "the worker's image")
    for shape, instead in _ADDRESSES:
        words = shape.sub(instead, words)
    words = "".join(one if one.isprintable() else "?" for one in words)
    if len(words) > _MOST_CHARACTERS:
        words = f"{words[: _MOST_CHARACTERS - 4].rstrip()} ..."
    return words if not words or words.endswith(".") else f"{words}."
