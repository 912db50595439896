"""Workers as pods of pools, which the Helm chart installs and a scaler (KEDA) starts and stops. The launcher starts no
pods: it explains why none runs, issues tokens, and marks busy pods.

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

from gpu_jobs.launchers.base import LaunchError, Liveness, PoolEnrolments, handle_of
from gpu_jobs.launchers.kubernetes.client import ClusterClient, ClusterError, ClusterRefusedError
from gpu_jobs.launchers.kubernetes.fleet import KEPT_SECONDS, FleetView, liveness_of
from gpu_jobs.launchers.kubernetes.pods import assess_pod, condition
from gpu_jobs.launchers.kubernetes.reasons import MEANINGS, Assessment, Reason, State
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
"""Reasons whose sentence is followed by the cluster's message."""
_NOT_ENROLLED = "The Secret of the worker pool is missing; the operator has to install the pool again."
_PAUSED = "autoscaling.keda.sh/paused"


class KubernetesLauncher:
    """The launcher of worker pools on Kubernetes."""

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
        settings: of the operator.
        enrolments: source of the pools' tokens.
        needs: returns the requirements of an evaluation, by id.
        clock: for tests.
        """
        self._client = client
        self._settings = settings
        self._needs = needs
        self._clock = clock
        self._fleet = FleetView(client=client, clock=clock)
        self._tokens = PoolTokens(client=client, enrolments=enrolments, clock=clock)
        self._unscaled_since: dict[str, float] = {}
        """When this process first found a pool without replicas although evaluations wait for it."""
        self._without_token: dict[str, str] = {}
        """Pools whose workers may lack a valid token, and why."""
        self._token_rests_until: dict[str, float] = {}
        self._secrets = tuple(secrets_of())

    def ensure(self, *, evaluation_id: str) -> str:
        """The handle of the pool that runs an evaluation, if a worker of it runs or starts.

        Raises:
            LaunchError: no pool takes the evaluation, or none of its workers runs.
        """
        needs = self._needs(evaluation_id)
        pool = pool_of(needs=needs, pools=self._settings.pools)
        if pool is None:
            raise LaunchError(f"{needs.sentence} The operator has to add one.")
        self._renew_token(pool)
        if why := self._without_token.get(pool.name):
            raise LaunchError(why)
        state = self._assessed(pool)
        if state.state is State.RUNNING or state.reason is Reason.STARTING:
            return pool_handle(pool.name)
        logger.warning("%s: %s (%s)", pool_handle(pool.name), state.reason, state.detail)
        if state.reason not in _QUOTED or not state.detail:
            raise LaunchError(state.sentence)
        raise LaunchError(f"{state.sentence} The cluster says: {self._words(state.detail)}")

    def ensure_any(self) -> None:
        """Does nothing: the demand for pools has the runs that wait."""

    def keep_ready(self) -> None:
        """Does nothing: pools serve evaluations and runs."""

    def alive(self, *, handle: str) -> Liveness:
        """Liveness of a pool or one of its pods; unknown for other handles, and while the cluster is unreachable."""
        pools, handle = self._settings.pools, handle_of(handle)
        if not (pool := pool_of_handle(handle=handle, pools=pools)) and not pool_of_pod(handle=handle, pools=pools):
            return Liveness(alive=None)
        try:
            if pool:
                runs = pool not in self._without_token and self._fleet.now().assess(pool).state is State.RUNNING
                return Liveness(alive=True) if runs else Liveness(alive=None)
            # A pod that holds a lease may be younger than the snapshot.
            pod = self._fleet.now().pods.get(handle) or self._client.pod(handle)
            if pod is not None:
                return liveness_of(pod)
            return Liveness(alive=False, reason=MEANINGS[Reason.DELETED].short, disrupted=True)
        except ClusterError as error:
            self._log(handle, error)
            return Liveness(alive=None)

    def stop(self, *, handle: str) -> None:
        """Delete a pod; pools are never stopped.

        Raises:
            LaunchError: the cluster could not be reached, or refused.
        """
        self.stop_one(handle=handle)

    def stop_one(self, *, handle: str) -> None:
        """Delete a pod, which its pool replaces.

        Raises:
            LaunchError: the cluster could not be reached, or refused.
        """
        handle = handle_of(handle)
        if not pool_of_pod(handle=handle, pools=self._settings.pools):
            return
        self._fleet.forget()
        try:
            self._client.delete_pod(name=handle)
        except ClusterError as error:
            self._log(handle, error)
            raise LaunchError(f"The worker could not be stopped: {self._words(str(error))}") from error

    def stop_if_over(self, *, handle: str) -> None:
        """Does nothing: signals do not reach pods. The worker's next heartbeat reports that its attempt has ended."""

    def tend(self, *, busy: Collection[str]) -> None:
        """Renew tokens, and set the deletion cost of pods, so that the cluster does not scale down busy ones.

        Args:
            busy: names of workers that hold a lease; a pod with several GPUs has several.
        """
        for pool in self._settings.pools:
            self._renew_token(pool)
        pods = {handle_of(worker) for worker in busy}
        try:
            for pod in self._fleet.now().pods.values():
                cost = _BUSY if name_of(pod) in pods else _IDLE
                current = (pod["metadata"].get("annotations") or {}).get(DELETION_COST, _IDLE)
                if cost != current and assess_pod(pod).state is State.RUNNING:
                    patch = {"metadata": {"annotations": {DELETION_COST: cost}}}
                    self._client.patch_pod(name=name_of(pod), patch=patch)
        except ClusterError as error:
            self._log("the pools' pods", error)

    def _assessed(self, pool: Pool) -> Assessment:
        """State of a pool; without replicas for a while, with the reason of its scaler.

        Raises:
            LaunchError: the cluster could not be reached, or refused.
        """
        try:
            state = self._fleet.now().assess(pool.name)
            if state.reason is not Reason.NOT_SCALED:
                self._unscaled_since.pop(pool.name, None)
                return state
            since = self._unscaled_since.setdefault(pool.name, self._clock())
            if self._clock() - since < self._settings.scale_patience_seconds:
                return Assessment(state=State.WAITING, reason=Reason.STARTING)
            return Assessment(state=state.state, reason=state.reason, detail=self._scaler_problem(pool))
        except ClusterRefusedError as error:
            self._log(pool_handle(pool.name), error)
            text = f"The cluster refuses access to the workers ({error.status}): {self._words(error.message)}"
            raise LaunchError(text) from error
        except ClusterError as error:
            self._log(pool_handle(pool.name), error)
            raise LaunchError("The cluster could not be asked for a worker.") from error

    def _scaler_problem(self, pool: Pool) -> str:
        """Why KEDA does not scale a pool up; empty if unknown."""
        scalers = self._client.scaled_objects()
        if scalers is None:
            return ""
        own = next((scaler for scaler in scalers if name_of(scaler) == pool_handle(pool.name)), None)
        if own is None:
            return "the pool has no ScaledObject"
        if (own["metadata"].get("annotations") or {}).get(_PAUSED, "").lower() == "true":
            return "the ScaledObject is paused"
        ready = condition(own, "Ready")
        return "" if ready is None or ready.get("status") == "True" else str(ready.get("message", ""))

    def _renew_token(self, pool: Pool) -> None:
        """Renew a pool's token if needed, and record why if its workers may have none."""
        if self._clock() < self._token_rests_until.get(pool.name, float("-inf")):
            return
        what = f"Secret {pool_handle(pool.name)}"
        try:
            why = "" if self._tokens.renew(pool.name) else _NOT_ENROLLED
        except ClusterRefusedError as error:
            self._log(what, error)
            why = f"The cluster refuses the token of the workers ({error.status}): {self._words(error.message)}"
        except ClusterError as error:
            # The workers' present token is valid for days.
            self._log(what, error)
            return
        if why:
            self._without_token[pool.name] = why
            # Thousands of evaluations may wait for this pool.
            self._token_rests_until[pool.name] = self._clock() + KEPT_SECONDS
        else:
            self._without_token.pop(pool.name, None)

    def _words(self, text: str) -> str:
        """The cluster's message, redacted for the evaluation's page."""
        images: Collection[str] = ()
        with suppress(ClusterError):
            images = self._fleet.now().images()
        return public_words(text, secrets=self._secrets, images=images)

    def _log(self, what: str, error: ClusterError) -> None:
        logger.warning("%s: %s", what, Redactor(secrets=self._secrets)(str(error)))


_CHECK_EVERY_SECONDS = 60.0


class PoolTokens:
    """Keeps a valid token in each pool's Secret."""

    def __init__(
        self, *, client: ClusterClient, enrolments: PoolEnrolments, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Args:
        client: the cluster.
        enrolments: source of tokens.
        clock: for tests.
        """
        self._client = client
        self._enrolments = enrolments
        self._clock = clock
        self._good_until: dict[str, float] = {}

    def renew(self, pool: str) -> bool:
        """Renew the token in the pool's Secret if needed; checks at most once a minute. False if there is no Secret.

        A process that dies between minting and writing leaves an unused token; the next call mints another.

        Raises:
            ClusterError: the Secret could not be read or written.
        """
        if self._good_until.get(pool, float("-inf")) > self._clock():
            return True
        secret = self._client.secret(pool_handle(pool))
        if secret is None:
            return False
        try:
            token = base64.b64decode((secret.get("data") or {}).get(TOKEN_KEY, ""), validate=True).decode()
        except (binascii.Error, UnicodeDecodeError, TypeError):
            token = ""
        if not self._enrolments.is_fresh(pool=pool, token=token):
            self._write(pool)
        self._good_until[pool] = self._clock() + _CHECK_EVERY_SECONDS
        return True

    def _write(self, pool: str) -> None:
        token = self._enrolments.mint(pool=pool)
        data = {TOKEN_KEY: base64.b64encode(token.encode()).decode()}
        try:
            self._client.patch_secret(name=pool_handle(pool), patch={"data": data})
        except BaseException:
            # If only the response was lost, the Secret has a revoked token, which the next check renews.
            self._enrolments.withdraw(token)
            raise
        logger.info("renewed the enrolment token of the pool %s", pool)


_MOST_CHARACTERS = 300
_ADDRESSES = (
    (re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s\"',)]+", re.IGNORECASE), "an address"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"), "an address"),
    (re.compile(r"\b[\w-]+(?:\.[\w-]+)*\.svc(?:\.[\w-]+)*(?::\d+)?\b"), "a service"),
    (re.compile(r"[\w./:-]*@sha256:[0-9a-f]{64}"), "an image"),
)


def public_words(text: str, *, secrets: Iterable[str] = (), images: Iterable[str] = ()) -> str:
    """A message of the cluster, redacted for the evaluation's page.

    Args:
        text: a message of the API server, an admission webhook or a controller.
        secrets: values to redact.
        images: of the workers, whose registry is private.

    Returns:
        One line of at most 300 characters that ends with a full stop; empty if `text` is.
    """
    words = Redactor(secrets=secrets)(" ".join(text.split()))
    for name in filter(None, (part for image in images for part in (image, image.partition("@")[0]))):
        words = words.replace(name, "the worker's image")
    for shape, instead in _ADDRESSES:
        words = shape.sub(instead, words)
    words = "".join(character if character.isprintable() else "?" for character in words)
    if len(words) > _MOST_CHARACTERS:
        words = f"{words[: _MOST_CHARACTERS - 4].rstrip()} ..."
    return words if not words or words.endswith(".") else f"{words}."
