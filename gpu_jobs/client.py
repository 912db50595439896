"""The worker's API client. Every call is idempotent, and retried after transient errors."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import httpx
from pydantic import ValidationError

from evaluator.core.records import ResultRecord
from evaluator.core.values import Artefact
from evaluator.network.authorities import bundled_authorities
from evaluator.network.transient import (
    Backoff,
    TransientError,
    asked_to_wait,
    is_transient,
    retried,
    server_error,
)
from gpu_jobs import bundles
from gpu_jobs.contract import (
    RUNS_WAIT_HEADER,
    SESSION_HEADER,
    WORK_LEFT_HEADER,
    BundleTaken,
    DigestsMissing,
    DigestsRequest,
    DoctorReport,
    DoctorReportTaken,
    FailRequest,
    FinishAnswer,
    FinishRequest,
    GivenUp,
    Heartbeat,
    Lease,
    LeaseRequest,
    LogLines,
    LogTaken,
    Message,
    OfferedUpload,
    Phase,
    Problem,
    ResultsRequest,
    RunEvents,
    RunLease,
    RunsAnnounced,
    SecretHeader,
    Seed,
    Session,
    SessionRequest,
    TurnAnswer,
    TurnRequest,
    Upload,
    UploadsOffered,
    UploadsRequest,
)
from gpu_jobs.enrolment_tokens import StaticToken, TokenSource
from gpu_jobs.tracing.options import HEADER as TRACE_HEADER
from gpu_jobs.tracing.spans import traceparent

_BACKOFF = Backoff(first=0.25, longest=15.0, longest_asked=15.0, jitter=True)
_RENEWED_AFTER = 0.8
"""Fraction of a session's lifetime."""
_REFUSED_ENROLMENT = frozenset({"enrolment_expired", "enrolment_refused"})
CANNOT_STORE = frozenset({"database_down", "disk_full", "store_unavailable"})
"""Problem codes of a site whose storage is unavailable."""
_WRONG_CONTENT = frozenset({400, 413, 422})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Session:
    token: str = field(repr=False)
    renew_at: float
    """By the client's clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseAnswer:
    """The site's answer to a lease request."""

    lease: Lease | None
    """None if no shard may be leased now."""
    work_left: bool | None = None
    """Without a lease, if the request names an evaluation: whether it has unfinished shards. None if the site did not
    say."""
    runs_wait: bool = False
    """Without a lease: whether a run of the workbench waits."""


class AttemptOverError(Exception):
    """The attempt has ended; `code` is its final state."""

    def __init__(self, code: str) -> None:
        self.code = code
        super().__init__(f"the attempt has ended: {code}")


class RefusedError(Exception):
    """The server refuses a call; a retry would not help."""

    def __init__(self, message: str, *, status: int = 0, code: str = "") -> None:
        """Args:
        message: what was refused, and why.
        status: of the response; 0 if the response was successful.
        code: code of the problem; empty if there is none.
        """
        self.status = status
        self.code = code
        super().__init__(message)

    @property
    def is_about_content(self) -> bool:
        """Whether other content might be accepted."""
        return self.status in _WRONG_CONTENT


class EnrolmentExpiredError(Exception):
    """The enrolment token has expired; the launcher starts another worker if needed."""


class ObjectsMissingError(RefusedError):
    """Results name artefacts that the server does not have: `digests`. Nothing was changed."""

    def __init__(self, digests: Sequence[str]) -> None:
        self.digests = tuple(digests)
        super().__init__(f"the server does not have {len(self.digests)} artefacts of these results")


class UnreachableError(Exception):
    """The server could not be reached within the time limit."""


class ApiClient:
    """JSON over HTTP, with retries for a limited time."""

    def __init__(
        self,
        *,
        url: str,
        token: str | TokenSource,
        suites: Sequence[str] | None = None,
        evaluation: UUID | None = None,
        gpu_memory_bytes: int | None = None,
        patience_seconds: float = 300.0,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Args:
        url: of the site, without `/api/v1`.
        token: the worker's enrolment token or its source, which opens sessions when needed.
        suites: restricts sessions to these suites; None: all that the enrolment covers.
        evaluation: restricts sessions to this evaluation; None: all that the enrolment covers.
        gpu_memory_bytes: memory of the worker's GPU, which the site compares with the sizes of submitted models; None:
            unknown.
        patience_seconds: how long a call is retried before it fails.
        transport: for tests.
        sleep: for tests.
        clock: for tests.
        """
        self._tokens: TokenSource = StaticToken(token) if isinstance(token, str) else token
        self._token = ""
        """The enrolment token of the last session."""
        self._bounds = SessionRequest(
            suites=None if suites is None else tuple(suites), evaluation=evaluation, gpu_memory_bytes=gpu_memory_bytes
        )
        self._session: _Session | None = None
        self._patience = patience_seconds
        self._sleep = sleep
        self._clock = clock
        self._client = httpx.Client(
            base_url=f"{url.rstrip('/')}/api/v1/worker/",
            timeout=httpx.Timeout(30.0, connect=5.0),
            transport=transport,
            # Proxies of the environment are ignored; a private authority (SSL_CERT_FILE) is not.
            verify=bundled_authorities(),
            trust_env=False,
        )

    def lease(self, request: LeaseRequest, *, patience: float | None = None) -> LeaseAnswer:
        """Lease a shard if one is due. A repeated request gets the same lease.

        Raises:
            EnrolmentExpiredError: no session can be opened.
        """
        response = self._session_call("POST", "lease/", patience=patience, body=request)
        if response.status_code == httpx.codes.NO_CONTENT:
            left = {"0": False, "1": True}.get(response.headers.get(WORK_LEFT_HEADER, ""))
            return LeaseAnswer(lease=None, work_left=left, runs_wait=response.headers.get(RUNS_WAIT_HEADER) == "1")
        return LeaseAnswer(lease=Lease.model_validate_json(response.content))

    def secrets(self) -> list[str]:
        """The session and its enrolment token, for redaction."""
        return [] if self._session is None else [self._session.token, self._token]

    def seed(self, lease: Lease) -> Seed:
        """The seed of the attempt's hidden data and the sealed requests, to be kept in memory only."""
        response = self._attempt_call(lease, "GET", "seed/", patience=lease.expires_in)
        return Seed.model_validate_json(response.content)

    def secret_header(self, lease: Lease, *, role: str = "") -> SecretHeader:
        """The secret header of the attempt's planner, or of the model of one of its roles, to be kept in memory
        only."""
        path = f"secret-header/?{urlencode({'role': role})}" if role else "secret-header/"
        response = self._attempt_call(lease, "GET", path, patience=lease.expires_in)
        return SecretHeader.model_validate_json(response.content)

    def heartbeat(self, lease: Lease, *, phase: Phase) -> None:
        """Send a heartbeat with the current phase. Not retried: the next heartbeat follows soon."""
        self._attempt_call(lease, "POST", "heartbeat/", body=Heartbeat(phase=phase), patience=0.0)

    def missing(self, *, lease: Lease, digests: Sequence[str]) -> DigestsMissing:
        """The artefacts that the server does not have."""
        body = DigestsRequest(digests=tuple(digests))
        response = self._attempt_call(lease, "POST", "objects/missing/", body=body)
        return DigestsMissing.model_validate_json(response.content)

    def uploads(self, *, lease: Lease, artefacts: Sequence[Artefact]) -> Sequence[OfferedUpload]:
        """Offers for those artefacts that may be uploaded directly."""
        uploads = tuple(
            Upload(digest=artefact.digest, size=len(artefact.data), media_type=artefact.media_type)
            for artefact in artefacts
        )
        response = self._attempt_call(lease, "POST", "objects/uploads/", body=UploadsRequest(uploads=uploads))
        return UploadsOffered.model_validate_json(response.content).offered

    def send(self, *, lease: Lease, artefacts: Sequence[Artefact]) -> None:
        """Send artefacts that fit into one bundle, or a single larger one.

        Raises:
            RefusedError: the server refused some of them; it stored the others.
        """
        if len(artefacts) == 1 and not bundles.fits(artefacts[0]):
            path, headers = f"objects/{artefacts[0].digest}/", {"Content-Type": artefacts[0].media_type.value}
            self._attempt_call(lease, "PUT", path, content=artefacts[0].data, headers=headers)
            return
        headers = {"Content-Type": bundles.CONTENT_TYPE}
        response = self._attempt_call(lease, "POST", "objects/", content=bundles.pack(artefacts), headers=headers)
        if refused := BundleTaken.model_validate_json(response.content).refused:
            raise RefusedError(f"artefacts were refused: {refused}")

    def checkpoint(self, *, lease: Lease, digest: str, start: int) -> bytes:
        """A piece of the planner's checkpoint from the byte `start`; empty at its end."""
        path = f"checkpoints/{digest}/"
        return self._attempt_call(lease, "GET", path, params={"start": start}).content

    def results(self, *, lease: Lease, records: Sequence[ResultRecord]) -> None:
        """Send results of some tasks.

        Raises:
            ObjectsMissingError: artefacts are missing on the server.
        """
        self._attempt_call(lease, "POST", "results/", body=ResultsRequest(results=tuple(records)))

    def log(self, *, lease: Lease, log: LogLines, patience: float) -> LogTaken:
        """Send lines of the log."""
        response = self._attempt_call(lease, "POST", "log/", body=log, patience=patience)
        return LogTaken.model_validate_json(response.content)

    def finish(self, *, lease: Lease, request: FinishRequest, patience: float | None = None) -> Lease | None:
        """Complete an attempt with its last results, and lease the next shard.

        Returns:
            The next lease, or None if none is due or none was requested.

        Raises:
            ObjectsMissingError: artefacts are missing on the server.
        """
        headers = {}
        if request.next is not None:
            # Without a session the site grants no lease, and `lease` reports the error.
            with suppress(EnrolmentExpiredError, RefusedError):
                headers[SESSION_HEADER] = self._current_session()
        response = self._attempt_call(lease, "POST", "finish/", body=request, headers=headers, patience=patience)
        return FinishAnswer.model_validate_json(response.content).next

    def fail(self, *, lease: Lease, how: GivenUp, reason: str, patience: float | None = None) -> None:
        """Return the attempt's open tasks."""
        body = FailRequest(how=how, reason=_storable(reason))
        self._attempt_call(lease, "POST", "fail/", body=body, patience=patience)

    def agent_turn(self, *, lease: Lease, message: TurnRequest) -> TurnAnswer:
        """Report an open turn of the attempt's agent or the end of a task, and get the state of the turn."""
        response = self._attempt_call(lease, "POST", "agent-turn/", body=message)
        return TurnAnswer.model_validate_json(response.content)

    def wait_for_run(self, *, seconds: float) -> RunsAnnounced:
        """Wait until a run of the workbench needs a worker, for `seconds` at most.

        Raises:
            EnrolmentExpiredError: no session can be opened.
        """
        response = self._session_call("GET", "runs/announced/", params={"seconds": f"{seconds:g}"})
        return RunsAnnounced.model_validate_json(response.content)

    def lease_run(self, request: LeaseRequest) -> RunLease | None:
        """Lease a run of the workbench; None if none waits any more. A repeated request gets the same run.

        Raises:
            EnrolmentExpiredError: no session can be opened.
        """
        response = self._session_call("POST", "runs/lease/", body=request)
        if response.status_code == httpx.codes.NO_CONTENT:
            return None
        return RunLease.model_validate_json(response.content)

    def run_file(self, *, lease: RunLease, number: int) -> bytes:
        """The bytes of a file of a run."""
        return self._run_call(lease, "GET", f"files/{number}/").content

    def run_objects(self, *, lease: RunLease, artefacts: Sequence[Artefact]) -> None:
        """Send artefacts of a run that fit into one bundle.

        Raises:
            RefusedError: the server refused some of them.
        """
        headers = {"Content-Type": bundles.CONTENT_TYPE}
        response = self._run_call(lease, "POST", "objects/", content=bundles.pack(artefacts), headers=headers)
        if refused := BundleTaken.model_validate_json(response.content).refused:
            raise RefusedError(f"artefacts were refused: {refused}")

    def run_events(self, *, lease: RunLease, events: RunEvents, patience: float | None = None) -> None:
        """Send events of a run, or without any a heartbeat.

        Raises:
            AttemptOverError: the run was cancelled or lost.
        """
        self._run_call(lease, "POST", "events/", body=events, patience=patience)

    def return_run(self, *, lease: RunLease, how: GivenUp, reason: str, patience: float | None = None) -> None:
        """Return a run that was not finished."""
        body = FailRequest(how=how, reason=_storable(reason))
        self._run_call(lease, "POST", "return/", body=body, patience=patience)

    def doctor_report(self, report: DoctorReport) -> DoctorReportTaken:
        """Deliver a report of `planarena doctor`, which replaces the last one about this class of devices."""
        response = self._call("POST", "doctor-reports/", token=self._current_session(), body=report)
        return DoctorReportTaken.model_validate_json(response.content)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _current_session(self) -> str:
        if self._session is None or self._session.renew_at <= self._clock():
            self._session = self._new_session()
        return self._session.token

    def _session_call(self, method: str, path: str, **content: Any) -> httpx.Response:
        try:
            return self._call(method, path, token=self._current_session(), **content)
        except RefusedError as error:
            if error.code != "session_over":
                raise
            # It has ended earlier than announced, or this machine was suspended.
            self._session = None
            return self._call(method, path, token=self._current_session(), **content)

    def _new_session(self) -> "_Session":
        self._token = self._tokens.current()
        while True:
            try:
                response = self._call("POST", "session/", token=self._token, body=self._bounds)
                break
            except RefusedError as error:
                if error.code in _REFUSED_ENROLMENT and (renewed := self._tokens.after(self._token)):
                    self._token = renewed
                    continue
                if error.code == "enrolment_expired":
                    raise EnrolmentExpiredError(str(error)) from error
                raise
        session = Session.model_validate_json(response.content)
        return _Session(token=session.token, renew_at=self._clock() + session.expires_in * _RENEWED_AFTER)

    def _attempt_call(
        self, lease: Lease, method: str, path: str, *, patience: float | None = None, **content: Any
    ) -> httpx.Response:
        path = f"attempts/{lease.attempt}/{path}"
        if parent := traceparent():
            content["headers"] = {**content.get("headers", {}), TRACE_HEADER: parent}
        return self._call(method, path, token=lease.token, patience=patience, **content)

    def _run_call(
        self, lease: RunLease, method: str, path: str, *, patience: float | None = None, **content: Any
    ) -> httpx.Response:
        try:
            return self._call(method, f"runs/{lease.run}/{path}", token=lease.token, patience=patience, **content)
        except RefusedError as error:
            if error.status == httpx.codes.UNAUTHORIZED:
                # Another worker has it.
                raise AttemptOverError("lost") from error
            raise

    def _call(
        self,
        method: str,
        path: str,
        *,
        token: str,
        patience: float | None = None,
        body: Message | None = None,
        headers: Mapping[str, str] | None = None,
        **content: Any,
    ) -> httpx.Response:
        """Send a request, with a message as its body or other content, until there is a response or patience ends.

        Patience starts again while the site's storage is unavailable, unless the caller limits it.
        """
        headers = {**(headers or {}), "Authorization": f"Bearer {token}"}
        if body is not None:
            content["content"] = body.model_dump_json()
            headers["Content-Type"] = "application/json"

        def once(_: int) -> httpx.Response:
            try:
                response = self._client.request(method, path, headers=headers, **content)
            except httpx.TransportError as error:
                raise TransientError(str(error) or type(error).__name__) from None
            if not is_transient(response.status_code, conflicts_are_answers=True):
                return _checked(response)
            # Computed results are worth the wait. A lease that ends meanwhile gets 409.
            cannot_store = patience is None and _problem(response).code in CANNOT_STORE
            asked = asked_to_wait(response.headers)
            found = server_error(response.status_code, body=response.content, conflicts_are_answers=True)
            raise TransientError(str(found), asked=asked, renews=cannot_store)

        seconds = self._patience if patience is None else patience
        try:
            return retried(once, backoff=_BACKOFF, seconds=seconds, sleep=self._sleep, clock=self._clock)
        except TransientError as error:
            raise UnreachableError(f"{method} {self._client.base_url}{path} failed: {error}") from None


def _storable(reason: str) -> str:
    # Databases store neither lone surrogates nor NUL.
    text = reason.encode("utf-8", "replace").decode().replace("\x00", "?").strip()[:2000]
    return text or "no reason was given"


def _checked(response: httpx.Response) -> httpx.Response:
    if response.is_success:
        return response
    problem = _problem(response)
    if response.status_code == httpx.codes.CONFLICT:
        if problem.code == "objects_missing":
            raise ObjectsMissingError(problem.missing)
        if problem.code != "incomplete":
            raise AttemptOverError(problem.code or "conflict")
    error = server_error(response.status_code, body=response.content, conflicts_are_answers=True)
    raise RefusedError(
        f"{response.request.method} {response.request.url.path}: {error}",
        status=response.status_code,
        code=problem.code,
    )


def _problem(response: httpx.Response) -> Problem:
    """The site's problem document; empty if the response is from another server, such as a proxy."""
    try:
        return Problem.model_validate_json(response.content)
    except ValidationError:
        return Problem()
