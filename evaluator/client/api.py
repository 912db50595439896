"""The calls of the API. All are safe to repeat, so a broken connection costs only time."""

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote

import httpx
from pydantic import BaseModel, ValidationError

from evaluator.client.addresses import address_problem, speaks_no_tls, unreachable_hint
from evaluator.client.errors import Problem, RefusedError, UnreachableError, UsageError, problem_in, problem_of
from evaluator.client.runs import AGAIN, NewRun, RunInfo, event_of
from evaluator.client.server_sent import StreamError, messages_in
from evaluator.client.shapes import (
    TABLE_FORMS,
    Causes,
    Checkpoint,
    Comparison,
    EndpointTrial,
    Evaluation,
    NewSubmission,
    PlannerEntry,
    RegradedBoard,
    Reliability,
    Submission,
    SuiteInfo,
    TableForm,
    TaskRow,
    UploadTicket,
    Visibility,
    Wait,
)
from evaluator.core.records import ResultRecord
from evaluator.network.transient import Backoff, TransientError, asked_to_wait, is_rate_limit, is_transient, retried

TOKEN_VARIABLE = "PLANARENA_TOKEN"  # noqa: S105 - a name
URL_VARIABLE = "PLANARENA_URL"
_BACKOFF = Backoff(longest=15.0, jitter=True)
_LONGEST_JOB_SECONDS = 3600.0
_LEAST_POLL_SECONDS = 0.2
_ROWS_PER_PAGE = 500
_PIECE = 1024 * 1024
_TICKET_IS_OF_NO_USE = frozenset({401, 409})
_BEGINNING = re.compile(r"[0-9a-f][0-9a-f-]{3,34}")
"""At least four characters of an id, but not all of them."""
_Shape = TypeVar("_Shape", bound=BaseModel)
_UPLOAD_TIMEOUT = httpx.Timeout(600.0, connect=10.0)
"""The site answers after reading and checking the whole upload."""


class Client:
    """Calls of one site with one token. Not thread-safe."""

    def __init__(
        self,
        *,
        url: str,
        token: str = "",
        patience: float = 60.0,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        Args:
            url: where the site is, without `/api/v1`.
            token: a personal token; not needed to read public data.
            patience: how many seconds to retry a call while the site cannot be reached.

        Raises:
            UsageError: the address or the token is invalid.
        """
        if not (token.isascii() and token.isprintable()):
            # Checked here, since the error of the HTTP library would quote the token.
            raise UsageError("the token contains invalid characters, such as a line break")
        if problem := address_problem(url):
            raise UsageError(problem)
        self._site = url.rstrip("/")
        self._patience, self._sleep, self._clock = patience, sleep, clock
        self._client = httpx.Client(
            base_url=f"{self._site}/api/v1/",
            headers={"Authorization": f"Bearer {token}"} if token else {},
            timeout=httpx.Timeout(30.0, connect=10.0),
            transport=transport,
        )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ, **options: Any) -> Self:
        """A client for `PLANARENA_URL` with the token `PLANARENA_TOKEN`.

        Raises:
            UsageError: the address is missing or invalid.
        """
        url = environment.get(URL_VARIABLE, "").strip()
        if not url:
            raise UsageError(f"set {URL_VARIABLE} to the site's address, such as https://planarena.example.org")
        return cls(url=url, token=environment.get(TOKEN_VARIABLE, "").strip(), **options)

    def submit(self, new: NewSubmission, *, key: str) -> Submission:
        """Submit once, however often this is called with the same key within a day.

        Raises:
            RefusedError: the site refused it, for example because a field is wrong or the quota is used up.
            UnreachableError: the site did not answer, and may have accepted the submission: repeat the call with the
                same key.
        """
        answer = self._call("POST", "submissions/", json=new.model_dump(mode="json"), headers={"Idempotency-Key": key})
        if answer.status_code == httpx.codes.ACCEPTED:
            return _shaped(Submission, self._ended("submissions/pending/", answer))
        replayed = answer.headers.get("Idempotent-Replayed") == "true"
        return _shaped(Submission, {**_json(answer), "replayed": replayed})

    def upload_checkpoint(self, file: Path) -> str:
        """Upload a zip of config.json, the tokenizer's files and safetensors. Returns its digest, which submits it.

        Raises:
            UsageError: the file cannot be read.
            RefusedError: the site does not evaluate such a checkpoint; the message says why.
        """
        try:
            try:
                return self._upload(file)
            except RefusedError as error:
                if error.problem.status not in _TICKET_IS_OF_NO_USE:
                    raise
            # The answer was lost after the ticket was used. A second upload stores the same checkpoint.
            return self._upload(file)
        except OSError as error:
            raise UsageError(f"{file} cannot be read: {error}") from None

    def submission(self, submission_id: str) -> Submission:
        """One submission with its evaluations."""
        return _shaped(Submission, _json(self._call("GET", f"submissions/{_segment(submission_id)}/")))

    def set_visibility(
        self, submission_id: str, *, visibility: Visibility, embargo_until: datetime | None = None
    ) -> Submission:
        """Set the visibility of a submission.

        Raises:
            RefusedError: the date is invalid, or a published snapshot of a board contains it, so it stays public.
        """
        until = None if embargo_until is None else embargo_until.isoformat()
        body = {"visibility": visibility, "embargo_until": until}
        return _shaped(Submission, _json(self._call("PATCH", f"submissions/{_segment(submission_id)}/", json=body)))

    def evaluation(self, evaluation_id: str) -> Evaluation:
        """One evaluation."""
        return _shaped(Evaluation, _json(self._call("GET", f"evaluations/{_segment(evaluation_id)}/")))

    def find(self, any_id: str) -> list[Evaluation]:
        """The evaluations of a submission, or one evaluation, by id or the beginning of an id.

        Raises:
            UsageError: several ids begin with it.
            RefusedError: there is no such submission or evaluation.
        """
        if _BEGINNING.fullmatch(any_id.lower()):
            any_id = self._whole_id(any_id.lower())
        try:
            return self.submission(any_id).evaluations
        except RefusedError as error:
            if error.problem.status != httpx.codes.NOT_FOUND:
                raise
        try:
            return [self.evaluation(any_id)]
        except RefusedError as error:
            if error.problem.status != httpx.codes.NOT_FOUND:
                raise
            detail = f"the site has neither a submission nor an evaluation {any_id!r}"
            raise RefusedError(Problem(status=httpx.codes.NOT_FOUND, detail=detail)) from None

    def _whole_id(self, beginning: str) -> str:
        """The only id of a submission or evaluation with this beginning; `beginning` itself if there is none."""
        parameters = {"id": beginning, "fields": "id,submission", "page_size": str(_ROWS_PER_PAGE)}
        page = _shaped(_Page, _json(self._call("GET", "evaluations/", params=parameters)))
        rows = [_shaped(_Ids, row) for row in page.results]
        digits = beginning.replace("-", "")
        submissions = {row.submission for row in rows if row.submission.replace("-", "").startswith(digits)}
        # Evaluations of these submissions are not counted separately.
        matches = submissions | {row.id for row in rows if row.submission not in submissions}
        if len(matches) > 1:
            some = ", ".join(sorted(matches)[:3])
            raise UsageError(f"{len(matches)} ids begin with {beginning!r}, such as {some}: give more characters")
        return next(iter(matches), beginning)

    def cancel(self, evaluation_id: str) -> Evaluation:
        """Cancel an evaluation."""
        return _shaped(Evaluation, _json(self._call("POST", f"evaluations/{_segment(evaluation_id)}/cancel/", json={})))

    def regrade(self, evaluation_id: str, *, allow: Sequence[str] = ()) -> Evaluation:
        """Have the plans of an evaluation scored under today's rules. Returns the new evaluation.

        Args:
            evaluation_id: the evaluation.
            allow: what may differ; empty: everything.

        Raises:
            RefusedError: it cannot be regraded, or the caller is no operator.
        """
        path = f"evaluations/{_segment(evaluation_id)}/regrade/"
        return _shaped(Evaluation, _json(self._call("POST", path, json={"allow": list(allow)})))

    def regrade_board(self, suite: str, *, skip: Sequence[str] = ()) -> RegradedBoard:
        """Have some published evaluations of a suite scored under today's rules; repeat it while some are left.

        Args:
            suite: its slug.
            skip: evaluations that earlier calls refused.

        Raises:
            RefusedError: there is no such suite, or the caller is no operator.
        """
        path = f"boards/{_segment(suite)}/regrade/"
        return _shaped(RegradedBoard, _json(self._call("POST", path, json={"skip": list(skip)})))

    def reliability(self, evaluation_id: str) -> Reliability:
        """The reliability profile of an evaluation's planner.

        Raises:
            RefusedError: there is none.
        """
        return _shaped(Reliability, _json(self._call("GET", f"evaluations/{_segment(evaluation_id)}/reliability/")))

    def request_reliability(self, evaluation_id: str) -> Reliability:
        """Have the profile, or its gaps, measured; each run counts towards the quota.

        Raises:
            RefusedError: it cannot be measured, is being measured or has no gaps, or the quota is exhausted.
        """
        path = f"evaluations/{_segment(evaluation_id)}/reliability/"
        return _shaped(Reliability, _json(self._call("POST", path, json={})))

    def cancel_reliability(self, evaluation_id: str) -> Reliability:
        """Cancel the unfinished runs of a profile."""
        path = f"evaluations/{_segment(evaluation_id)}/reliability/cancel/"
        return _shaped(Reliability, _json(self._call("POST", path, json={})))

    def results(self, evaluation_id: str) -> Iterator[TaskRow]:
        """The results of its tasks, in the suite's order, read page by page."""
        for row in self._rows(f"evaluations/{_segment(evaluation_id)}/results/"):
            yield _shaped(TaskRow, row)

    def record(self, evaluation_id: str, *, task: str) -> ResultRecord | None:
        """The whole record of a task; None if it never ran.

        Raises:
            RefusedError: there is no such task, or its data are secret.
        """
        path = f"evaluations/{_segment(evaluation_id)}/results/{quote(task)}/"
        record = _shaped(_Record, _json(self._call("GET", path))).record
        return None if record is None else _shaped(ResultRecord, record)

    def proof(self, evaluation_id: str) -> Mapping[str, Any]:
        """The results of an evaluation's tasks with the signed statement that covers them."""
        found = _json(self._call("GET", f"evaluations/{_segment(evaluation_id)}/proof/"))
        return found if isinstance(found, dict) else {}

    def board(self, suite: str) -> list[Evaluation]:
        """The evaluations on the newest board of a suite, in its order.

        Raises:
            RefusedError: nothing is published.
        """
        found: list[Evaluation] = []
        page = 1
        while True:
            parameters = {"page": str(page), "fields": "evaluation"}
            answer = _shaped(_BoardPage, _json(self._call("GET", f"boards/{_segment(suite)}/rows/", params=parameters)))
            found += [self.evaluation(row["evaluation"]) for row in answer.rows if "evaluation" in row]
            if answer.next is None or not answer.rows:
                return found
            page += 1

    def results_file(self, evaluation_id: str, *, form: TableForm) -> bytes:
        """The results as a file with a row for each task.

        Raises:
            RefusedError: there is no such evaluation, or the site does not support this form.
        """
        path = f"evaluations/{_segment(evaluation_id)}/results/"
        answer = self._call("GET", path, params={"format": form})
        if answer.headers.get("Content-Type", "").partition(";")[0] != TABLE_FORMS[form]:
            raise RefusedError(Problem(status=answer.status_code, detail=f"the site does not give results as {form}"))
        return answer.content

    def causes(self, evaluation_id: str) -> Causes:
        """Why its tasks are below the gold score, the most frequent cause first."""
        return _shaped(Causes, _json(self._call("GET", f"evaluations/{_segment(evaluation_id)}/causes/")))

    def compare(self, *, baseline: str, candidate: str, metric: str = "") -> Comparison:
        """Two evaluations of the same suite version and conditions, task by task.

        Args:
            baseline: id of an evaluation.
            candidate: id of the evaluation that is compared with it.
            metric: key of the metric of the tasks; empty: the one that the board ranks by.

        Raises:
            RefusedError: they cannot be compared, or the suite has no such metric.
        """
        parameters = {"e": [baseline, candidate], **({"metric": metric} if metric else {})}
        return _shaped(Comparison, _json(self._call("GET", "compare/", params=parameters)))

    def evaluations_of(self, *, planner: int, suite: str, version: str) -> list[Evaluation]:
        """The evaluations of a version of a planner on a suite, the newest first."""
        parameters = {"planner": str(planner), "suite": suite, "version": version}
        return [_shaped(Evaluation, row) for row in self._rows("evaluations/", parameters=parameters)]

    def try_endpoint(self, planner: PlannerEntry, *, suite: str = "") -> EndpointTrial:
        """Have the site call an endpoint or a chat endpoint once, as a worker would. Submits nothing.

        Raises:
            RefusedError: the address, the header, the model or the strategy is refused, or the rate limit is exceeded.
        """
        names = (
            "kind",
            "endpoint_url",
            "model_id",
            "strategy",
            "api",
            "reasoning_effort",
            "answer_tokens",
            "streamed",
            "timeout_seconds",
            "header_name",
            "header_value",
            "name",
        )
        body = {name: getattr(planner, name) for name in names} | {"suite": suite}
        return _shaped(EndpointTrial, self._job("endpoint-tests/", body))

    def rewards(self, *, suite: str, plans: Sequence[tuple[str, str]]) -> list[float | None]:
        """Have the site score plans on the training split of a suite, to train a planner. Waits for the scores.

        Args:
            suite: slug of a suite that executes plans.
            plans: up to 64 pairs of a task's key and the planner's text.

        Returns:
            Scores from 0 to 1 in the order of the plans; 0 for unreadable and invalid plans, None where the execution
            failed for reasons other than the plan.

        Raises:
            RefusedError: a suite or task is refused, the quota is exhausted, too many calls are unfinished, or the
                execution took too long.
        """
        body = {"suite": suite, "plans": [{"task": task, "completion": text} for task, text in plans]}
        return _shaped(_Rewards, self._job("rewards/", body)).rewards

    def expected_wait(self, suite: str, *, priority: str = "normal") -> Wait:
        """Expected time until an evaluation submitted now would start and end."""
        return _shaped(Wait, _json(self._call("GET", "wait/", params={"suite": suite, "priority": priority})))

    def wait_of(self, evaluation_id: str) -> Wait:
        """Expected time until an evaluation starts and ends."""
        return _shaped(Wait, _json(self._call("GET", f"evaluations/{_segment(evaluation_id)}/wait/")))

    def start_run(self, new: NewRun) -> RunInfo:
        """Start a run of the workbench. If the answer is lost and the call repeated, the first run is cancelled as
        nobody follows it.

        Raises:
            RefusedError: a part is refused, or too many runs of this user have not ended.
        """
        return _shaped(RunInfo, _json(self._call("POST", "runs/", json=new.model_dump(mode="json"))))

    def run(self, run_id: str) -> RunInfo:
        """The state of a run."""
        return _shaped(RunInfo, _json(self._call("GET", f"runs/{_segment(run_id)}/")))

    def cancel_run(self, run_id: str) -> RunInfo:
        """Cancel an own run; one that has ended stays as it is."""
        return _shaped(RunInfo, _json(self._call("POST", f"runs/{_segment(run_id)}/cancel/", json={})))

    def run_events(self, run_id: str) -> Iterator[Mapping[str, Any]]:
        """The events of a run as they happen, until it ends. A lost connection is resumed after the last event.

        Yields:
            Events; `{"kind": "again"}` where another worker starts again, so that those before are void.

        Raises:
            RefusedError: there is no such run.
            UnreachableError: the site was unreachable for longer than the client's patience.
        """
        last, tries, until = "", 0, self._clock() + self._patience

        def noted(pieces: Iterator[bytes]) -> Iterator[bytes]:
            """The pieces; each, also one without an event, says that the site is there."""
            nonlocal tries, until
            for piece in pieces:
                tries, until = 0, self._clock() + self._patience
                yield piece

        while True:
            try:
                with self._client.stream(
                    "GET", f"runs/{_segment(run_id)}/events/", headers={"Last-Event-ID": last} if last else {}
                ) as answer:
                    if not answer.is_success:
                        answer.read()
                    if _is_transient(answer):
                        raise TransientError(_with_id(problem_of(answer)), asked=asked_to_wait(answer.headers))
                    for message in messages_in(noted(_checked(answer).iter_bytes())):
                        if message.event == "end":
                            return
                        last = message.id or last
                        if message.event == AGAIN:
                            yield {"kind": AGAIN}
                        elif event := event_of(message.data):
                            yield event
                problem, asked = "the site closed the stream", None
            except httpx.RequestError as error:
                problem, asked = str(error) or type(error).__name__, None
            except (TransientError, StreamError) as error:
                problem, asked = str(error), getattr(error, "asked", None)
            tries += 1
            pause = _BACKOFF.pause(tries, asked=asked)
            if self._clock() + pause > until:
                raise UnreachableError(f"the events of run {run_id} could not be followed: {problem}")
            self._sleep(pause)

    def artefact(self, digest: str) -> bytes:
        """The bytes of a public artefact.

        Raises:
            RefusedError: the site has no such artefact, or its bytes are not those of the digest.
        """
        data = self._call("GET", f"{self._site}/objects/{_segment(digest)}").content
        if hashlib.sha256(data).hexdigest() != digest:
            raise RefusedError(Problem(status=httpx.codes.OK, detail=f"the site's artefact {digest[:12]} is damaged"))
        return data

    def address(self, path: str) -> str:
        """The address of a page by its path."""
        return f"{self._site}/{path.lstrip('/')}"

    def suites(self) -> list[SuiteInfo]:
        """The current suites."""
        return [_shaped(SuiteInfo, row) for row in self._rows("suites/")]

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _job(self, path: str, body: object, *, headers: Mapping[str, str] | None = None) -> object:
        """Start a job, wait until it ends, and return its result.

        Raises:
            RefusedError: it was not accepted, or it failed.
            UnreachableError: it did not end within an hour, though the limits of all jobs are lower.
        """
        return self._ended(path, self._call("POST", path, json=body, headers=dict(headers or {})))

    def _ended(self, path: str, accepted: httpx.Response) -> object:
        job = _shaped(_Job, _json(accepted))
        until = self._clock() + _LONGEST_JOB_SECONDS
        answer = accepted
        while job.state not in {"done", "failed"}:
            if self._clock() > until:
                raise UnreachableError(f"{path}{job.id}/ did not end within {_LONGEST_JOB_SECONDS:.0f} seconds")
            self._sleep(max(_LEAST_POLL_SECONDS, asked_to_wait(answer.headers) or 0.0))
            # Not the address in `Location`: behind a proxy it may not be the one to call.
            answer = self._call("GET", f"{path}{_segment(job.id)}/")
            job = _shaped(_Job, _json(answer))
        if job.problem is not None:
            raise RefusedError(problem_in(job.problem))
        return job.result

    def _upload(self, file: Path) -> str:
        size = file.stat().st_size
        ticket = _shaped(UploadTicket, _json(self._call("POST", "uploads/", json={"bytes": size})))
        answer = self._call(
            "PUT",
            # Not the address of the ticket: behind a proxy the one that the site gives may not be the one to call.
            f"uploads/{_segment(ticket.id)}/",
            timeout=_UPLOAD_TIMEOUT,
            content_of=lambda: _pieces(file),
            headers={"Authorization": f"Bearer {ticket.secret}", "Content-Length": str(size)},
        )
        return _shaped(Checkpoint, _json(answer)).digest

    def _rows(self, path: str, *, parameters: Mapping[str, str] = MappingProxyType({})) -> Iterator[object]:
        parameters = {**parameters, "page_size": str(_ROWS_PER_PAGE)}
        while True:
            page = _shaped(_Page, _json(self._call("GET", path, params=parameters)))
            yield from page.results
            if not page.next:
                return
            # Only the cursor is taken: behind a proxy the address that the site gives may not be the one to call.
            parameters = dict(httpx.URL(page.next).params)

    def _call(
        self, method: str, path: str, *, content_of: Callable[[], Iterator[bytes]] | None = None, **content: Any
    ) -> httpx.Response:
        def once(_: int) -> httpx.Response:
            if content_of is not None:
                # From the beginning each time that the call is tried.
                content["content"] = content_of()
            try:
                answer = self._client.request(method, path, **content)
            except httpx.RequestError as error:
                if speaks_no_tls(error):
                    raise UsageError(unreachable_hint(error, url=self._site)) from error
                raise TransientError(str(error) or type(error).__name__) from error
            if _is_transient(answer):
                raise TransientError(_with_id(problem_of(answer)), asked=asked_to_wait(answer.headers))
            return _checked(answer)

        try:
            return retried(once, backoff=_BACKOFF, seconds=self._patience, sleep=self._sleep, clock=self._clock)
        except TransientError as error:
            text = f"{method} {self._site}/api/v1/{path} failed: {error}"
            hint = "" if error.__cause__ is None else unreachable_hint(error.__cause__, url=self._site)
            raise UnreachableError(f"{text}. {hint}" if hint else text) from error.__cause__


def _pieces(file: Path) -> Iterator[bytes]:
    with file.open("rb") as opened:
        while piece := opened.read(_PIECE):
            yield piece


class _Ids(BaseModel):
    """An evaluation in a list of ids."""

    id: str
    submission: str


class _Job(BaseModel):
    """Something that the site does outside of the request."""

    id: str
    state: str
    result: Any = None
    problem: dict[str, Any] | None = None


class _Rewards(BaseModel):
    """The scores of plans."""

    rewards: list[float | None]


class _Record(BaseModel):
    """The record of a task."""

    record: dict[str, Any] | None


class _BoardPage(BaseModel):
    """One page of a board."""

    rows: list[dict[str, str]]
    next: str | None


class _Page(BaseModel):
    """One page of a list."""

    results: list[object]
    next: str | None


def _shaped(shape: type[_Shape], value: object) -> _Shape:
    """The value as what it should be.

    Raises:
        RefusedError: it is something else: another service, or a site of another release.
    """
    try:
        return shape.model_validate(value)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        detail = f"the site answered in a form that this client does not know (at {where!r}): is it a PlanArena site?"
        raise RefusedError(Problem(status=httpx.codes.OK, detail=detail)) from None


def _is_transient(answer: httpx.Response) -> bool:
    """Whether the same call may succeed a little later. A write that is answered 429 exceeds a quota of the day."""
    if is_rate_limit(answer.status_code) and answer.request.method != "GET":
        return False
    return is_transient(answer.status_code, conflicts_are_answers=True)


def _with_id(problem: Problem) -> str:
    """The detail, with the request's id for the site's operator."""
    return f"{problem.detail} (request id {problem.request_id})" if problem.request_id else problem.detail


def _segment(text: str) -> str:
    """One part of a path, whatever the user typed."""
    return quote(text, safe="")


def _checked(answer: httpx.Response) -> httpx.Response:
    if answer.is_success:
        return answer
    if answer.is_redirect:
        detail = f"the site redirects to {answer.headers.get('location')}: give that address"
        raise RefusedError(Problem(status=answer.status_code, detail=detail))
    problem = problem_of(answer)
    if answer.status_code == httpx.codes.NOT_FOUND and not problem.code:
        # The site's own errors have a code.
        where = f"{problem.detail} at {answer.request.url}"
        detail = f"{where}: no PlanArena site has this address; check host, port and path"
        raise RefusedError(replace(problem, detail=detail))
    raise RefusedError(problem)


def _json(answer: httpx.Response) -> dict[str, Any]:
    try:
        body = answer.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        detail = f"{answer.request.url} is no PlanArena site: it did not answer with a JSON object"
        raise RefusedError(Problem(status=answer.status_code, detail=detail))
    return body
