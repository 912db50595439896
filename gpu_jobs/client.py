"""The worker's side of the protocol. Every call may be sent again, so that whatever can be retried is."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import httpx
from pydantic import SecretStr, ValidationError

from evaluator.core.records import ResultRecord
from evaluator.core.values import Artefact
from evaluator.network.transient import Backoff, TransientError, asked_to_wait, is_transient, retried
from gpu_jobs import bundles
from gpu_jobs.contract import (
    SESSION_HEADER,
    WORK_LEFT_HEADER,
    BundleTaken,
    DigestsMissing,
    DigestsRequest,
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
from gpu_jobs.enrolment_tokens import GivenToken, TokenSource
from gpu_jobs.tracing.options import HEADER as TRACE_HEADER
from gpu_jobs.tracing.spans import traceparent

_BACKOFF = Backoff(first=0.25, longest=15.0, longest_asked=15.0, jitter=True)
_RENEWED_AFTER = 0.8
"""Of a session's lifetime."""
_REFUSED_ENROLMENT = frozenset({"enrolment_expired", "enrolment_refused"})
CANNOT_STORE = frozenset({"database_down", "disk_full", "store_unavailable"})
"""Codes of the site's problems if it cannot store what it is sent."""
_WRONG_CONTENT = frozenset({400, 413, 422})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Session:
    token: str = field(repr=False)
    renew_at: float
    """On the client's clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseAnswer:
    """The site's answer to a lease request."""

    lease: Lease | None
    """None if no shard may be leased now."""
    work_left: bool | None = None
    """Without a lease, for a request that names an evaluation: whether shards of it are not done. None if the site did
    not say."""


class AttemptOverError(Exception):
    """The server says that the attempt is not this worker's any more; `code` says why."""

    def __init__(self, code: str) -> None:
        self.code = code
        super().__init__(f"the attempt is over: {code}")


class RefusedError(Exception):
    """The server refuses a call, and would again."""

    def __init__(self, message: str, *, status: int = 0, code: str = "") -> None:
        """Args:
        message: what was refused, and why.
        status: the answer's; 0 where it was not the status that said so.
        code: the site's short name of the problem; empty if it gave none.
        """
        self.status = status
        self.code = code
        super().__init__(message)

    @property
    def is_about_content(self) -> bool:
        """Whether other content might be taken."""
        return self.status in _WRONG_CONTENT


class EnrolmentExpiredError(Exception):
    """The enrolment token has expired: whoever launched this worker starts another one if it is needed."""


class ObjectsMissingError(RefusedError):
    """Results name artefacts that the server does not have: `digests`. Nothing was changed."""

    def __init__(self, digests: Sequence[str]) -> None:
        self.digests = tuple(digests)
        super().__init__(f"the server does not have {len(self.digests)} artefacts of these results")


class UnreachableError(Exception):
    """The server could not be reached for as long as it was tried."""


class ApiClient:
    """JSON over HTTP, with bounded waiting when the server is away."""

    def __init__(
        self,
        *,
        url: str,
        token: str | TokenSource,
        suites: Sequence[str] | None = None,
        evaluation: UUID | None = None,
        patience_seconds: float = 300.0,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Args:
        url: where the site is, without `/api/v1`.
        token: the worker's enrolment token, or where it comes from. Shards are leased with sessions, which are opened
            with it when needed.
        suites: the only suites that sessions are bound to; None: all that the enrolment covers.
        evaluation: the only evaluation that sessions are bound to; None: all that the enrolment covers.
        patience_seconds: how long a call is tried again before it fails.
        transport: how requests are sent; tests give a fake.
        sleep: how to wait between tries.
        clock: the time in seconds; tests give their own.
        """
        self._tokens: TokenSource = GivenToken(token) if isinstance(token, str) else token
        self._token = ""
        """The one that the last session was opened with."""
        self._bounds = SessionRequest(suites=None if suites is None else tuple(suites), evaluation=evaluation)
        self._session: _Session | None = None
        self._patience = patience_seconds
        self._sleep = sleep
        self._clock = clock
        self._client = httpx.Client(
            base_url=f"{url.rstrip('/')}/api/v1/worker/",
            timeout=httpx.Timeout(30.0, connect=5.0),
            transport=transport,
            trust_env=False,
        )

    def lease(self, request: LeaseRequest, *, patience: float | None = None) -> LeaseAnswer:
        """Lease a shard if one is due. A lease that was given for the same request is given again.

        Raises:
            EnrolmentExpiredError: no session can be opened any more.
        """
        try:
            response = self._call("POST", "lease/", token=self._current_session(), patience=patience, body=request)
        except RefusedError as error:
            if error.code != "session_over":
                raise
            # It has ended earlier than announced, or this machine's clock stood still.
            self._session = None
            response = self._call("POST", "lease/", token=self._current_session(), patience=patience, body=request)
        if response.status_code == httpx.codes.NO_CONTENT:
            left = {"0": False, "1": True}.get(response.headers.get(WORK_LEFT_HEADER, ""))
            return LeaseAnswer(lease=None, work_left=left)
        return LeaseAnswer(lease=Lease.model_validate_json(response.content))

    def secrets(self) -> list[str]:
        """The session and the enrolment token that opened it, for taking them out of texts."""
        return [] if self._session is None else [self._session.token, self._token]

    def seed(self, lease: Lease) -> SecretStr:
        """The seed of the hidden data that this attempt runs on. It is for memory only."""
        response = self._attempt_call(lease, "GET", "seed/", patience=lease.expires_in)
        return Seed.model_validate_json(response.content).seed

    def secret_header(self, lease: Lease) -> SecretHeader:
        """The secret header of the attempt's planner. It is for memory only."""
        response = self._attempt_call(lease, "GET", "secret-header/", patience=lease.expires_in)
        return SecretHeader.model_validate_json(response.content)

    def heartbeat(self, lease: Lease, *, phase: Phase) -> None:
        """Say that the worker lives, and what it does. Tried only once: the next heartbeat comes soon."""
        self._attempt_call(lease, "POST", "heartbeat/", body=Heartbeat(phase=phase), patience=0.0)

    def missing(self, *, lease: Lease, digests: Sequence[str]) -> DigestsMissing:
        """Which artefacts the server does not have."""
        body = DigestsRequest(digests=tuple(digests))
        response = self._attempt_call(lease, "POST", "objects/missing/", body=body)
        return DigestsMissing.model_validate_json(response.content)

    def uploads(self, *, lease: Lease, artefacts: Sequence[Artefact]) -> Sequence[OfferedUpload]:
        """Which of the artefacts may be uploaded directly, and how."""
        uploads = [Upload(digest=one.digest, size=len(one.data), media_type=one.media_type) for one in artefacts]
        response = self._attempt_call(lease, "POST", "objects/uploads/", body=UploadsRequest(uploads=tuple(uploads)))
        return UploadsOffered.model_validate_json(response.content).offered

    def send(self, *, lease: Lease, artefacts: Sequence[Artefact]) -> None:
        """Send artefacts that fit into one bundle, or one that fits into none.

        Raises:
            RefusedError: the server did not take all of them; it kept the others.
        """
        if len(artefacts) == 1 and not bundles.fits(artefacts[0]):
            self._put(lease=lease, artefact=artefacts[0])
            return
        headers = {"Content-Type": bundles.CONTENT_TYPE}
        response = self._attempt_call(lease, "POST", "objects/", content=bundles.pack(artefacts), headers=headers)
        if refused := BundleTaken.model_validate_json(response.content).refused:
            raise RefusedError(f"artefacts were refused: {refused}")

    def _put(self, *, lease: Lease, artefact: Artefact) -> None:
        headers = {"Content-Type": artefact.media_type.value}
        self._attempt_call(lease, "PUT", f"objects/{artefact.digest}/", content=artefact.data, headers=headers)

    def checkpoint(self, *, lease: Lease, digest: str, start: int) -> bytes:
        """A piece of the planner's checkpoint from a byte on; empty at its end."""
        path = f"checkpoints/{digest}/"
        return self._attempt_call(lease, "GET", path, params={"start": start}).content

    def results(self, *, lease: Lease, records: Sequence[ResultRecord]) -> None:
        """Send the results of some tasks.

        Raises:
            ObjectsMissingError: the server does not have all their artefacts.
        """
        self._attempt_call(lease, "POST", "results/", body=ResultsRequest(results=tuple(records)))

    def log(self, *, lease: Lease, log: LogLines, patience: float) -> LogTaken:
        """Send lines of the log."""
        response = self._attempt_call(lease, "POST", "log/", body=log, patience=patience)
        return LogTaken.model_validate_json(response.content)

    def finish(self, *, lease: Lease, request: FinishRequest, patience: float | None = None) -> Lease | None:
        """Send the last of an attempt, all of whose tasks have results then, and lease the next shard, in one call.

        Returns:
            The next lease, or None if none is due or none was asked for.

        Raises:
            ObjectsMissingError: the server does not have all artefacts of the results.
        """
        headers = {} if request.next is None else self._session_header()
        response = self._attempt_call(lease, "POST", "finish/", body=request, headers=headers, patience=patience)
        return FinishAnswer.model_validate_json(response.content).next

    def fail(self, *, lease: Lease, how: GivenUp, reason: str, patience: float | None = None) -> None:
        """Give the attempt's open tasks back."""
        body = FailRequest(how=how, reason=_sendable(reason))
        self._attempt_call(lease, "POST", "fail/", body=body, patience=patience)

    def agent_turn(self, *, lease: Lease, told: TurnRequest) -> TurnAnswer:
        """Say which turn of the attempt's agent waits, or which of its tasks is over, and get what it has answered."""
        response = self._attempt_call(lease, "POST", "agent-turn/", body=told)
        return TurnAnswer.model_validate_json(response.content)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _session_header(self) -> dict[str, str]:
        """What `finish` asks for the next lease with; without it the site gives none, and `lease` says why."""
        try:
            return {SESSION_HEADER: self._current_session()}
        except (EnrolmentExpiredError, RefusedError):
            return {}

    def _current_session(self) -> str:
        if self._session is None or self._session.renew_at <= self._clock():
            self._session = self._new_session()
        return self._session.token

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
        opened = Session.model_validate_json(response.content)
        return _Session(token=opened.token, renew_at=self._clock() + opened.expires_in * _RENEWED_AFTER)

    def _attempt_call(
        self, lease: Lease, method: str, path: str, *, patience: float | None = None, **content: Any
    ) -> httpx.Response:
        path = f"attempts/{lease.attempt}/{path}"
        if present := traceparent():
            content["headers"] = {**content.get("headers", {}), TRACE_HEADER: present}
        return self._call(method, path, token=lease.token, patience=patience, **content)

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
        """Send a request, with a message as its body or other content, until it is answered or patience ends.

        While the site answers that it cannot store anything, patience begins again, unless the caller limits it.
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
            # What was computed is worth more than the wait. A lease that ends meanwhile is answered with 409.
            cannot_store = patience is None and _problem(response).code in CANNOT_STORE
            asked = asked_to_wait(response.headers)
            raise TransientError(f"HTTP {response.status_code}", asked=asked, renews=cannot_store)

        seconds = self._patience if patience is None else patience
        try:
            return retried(once, backoff=_BACKOFF, seconds=seconds, sleep=self._sleep, clock=self._clock)
        except TransientError as error:
            raise UnreachableError(f"{method} {self._client.base_url}{path} failed: {error}") from None


def _sendable(text: str) -> str:
    """The text without what databases do not keep, cut, and not empty."""
    return text.encode("utf-8", "replace").decode().replace("\x00", "?").strip()[:2000] or "no reason was given"


def _checked(response: httpx.Response) -> httpx.Response:
    if response.is_success:
        return response
    problem = _problem(response)
    if response.status_code == httpx.codes.CONFLICT:
        if problem.code == "objects_missing":
            raise ObjectsMissingError(problem.missing)
        if problem.code != "incomplete":
            raise AttemptOverError(problem.code or "conflict")
    raise RefusedError(
        f"{response.request.method} {response.request.url.path}: {response.status_code} {response.text}",
        status=response.status_code,
        code=problem.code,
    )


def _problem(response: httpx.Response) -> Problem:
    """What the site says; nothing if the answer is another server's, such as a proxy's."""
    try:
        return Problem.model_validate_json(response.content)
    except ValidationError:
        return Problem()
