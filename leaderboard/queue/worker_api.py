"""The worker's protocol, JSON over HTTP.

    POST worker/session/                             enrolment token   {evaluation?, suites?} -> {token, expires_in}
    POST worker/lease/                               session           200 with a lease, or 204 (and X-Work-Left)
    POST worker/attempts/<id>/heartbeat/             {phase?} 204, with the attempt's credential as all that follow
    GET  worker/attempts/<id>/seed/                  -> {season, seed}, of a hidden attempt of the operator's workers
    GET  worker/attempts/<id>/secret-header/         -> {name, value}, of a planner that has one
    GET  worker/attempts/<id>/checkpoints/<digest>/?start=N     a piece of the planner's checkpoint, bytes from N on
    POST worker/attempts/<id>/objects/missing/       {digests} -> {missing}
    POST worker/attempts/<id>/objects/               a bundle (`gpu_jobs.bundles`) -> {kept, refused}
    PUT  worker/attempts/<id>/objects/<digest>/      bytes, 204; for what is too large for a bundle
    POST worker/attempts/<id>/results/               {results: [result/1]} -> {new}
    POST worker/attempts/<id>/log/                   {first, lines: [{at, level, text}]} -> {next, cut}
    POST worker/attempts/<id>/complete/              {provenance?} 204
    POST worker/attempts/<id>/finish/                {results, log?, provenance?, next?} -> {next}
    POST worker/attempts/<id>/fail/                  {how, reason} 204

Artefacts come first, then the results that name them, then `complete`. Every call may be sent again. A call of an
attempt that is not live gets 409 with `code` (`lost`, `cancelled`, ...) and changes nothing.

Three credentials, each for one thing, all kept as digests only. An *enrolment token* is long-lived and opens sessions.
A *session* lasts an hour and leases shards, of what the enrolment covers. The *attempt's credential*, which a lease
answers, is the only one that the attempt's own calls accept, and is worth nothing after the attempt. No lease holds a
secret: the seed of hidden data and a planner's secret header come by calls of a live attempt.

A heartbeat keeps the lease, and gives the worker no further time to make progress: an attempt without a new result is
over after a time that depends on the `phase` it is in (`gpu_jobs.phases`). A worker that reports phases says so with
`phases` when it leases.

A 204 to a request that names an evaluation has the header `X-Work-Left`: `1` while shards of the evaluation are not
done, `0` if none is left. Then a worker that was started for this evaluation ends.

`finish` is the last results, the last lines of the log, `complete` and the next lease in one call: all that a short
shard needs. What it says of its own attempt is one transaction; the next lease is another one, which comes afterwards.
`next` is what `lease` takes, whose session is in the header `X-Worker-Token`; the answer's `next` is a lease or null.
Sent again because its answer was lost, it finds the attempt completed and goes on with the lease. `lease` offers it by
`finish`: a worker of an older release does not know of it, and one of a newer release does not need it.

The credential of an attempt is the worker's own proposal, if it makes one: `token` of `lease` or `next`, from 43
characters on. Asked again with the same token, the site answers with the lease that it gave for it. So no lease is
held by nobody because an answer was lost. One that is over is not given again: then the answer has another token.

Of a bundle every artefact is checked by itself: the good ones are kept, and `refused` has a sentence for each of the
others by its digest. Objects are named by their bytes, so that keeping some of them can be no harm and the worker does
not send them again. A bundle that is malformed, cut or too large is 400 or 413, and nothing of it is kept.
"""

from collections.abc import Sequence
from typing import Annotated, Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from rest_framework import serializers, status
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.exceptions import ValidationError as FieldValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from evaluator.engine.store import Store, digest_of
from evaluator.records import ResultRecord
from evaluator.suites.hidden import HIDDEN
from evaluator.values import Artefact, MediaType
from gpu_jobs import bundles
from gpu_jobs.checkpoints import PIECE_BYTES as CHECKPOINT_PIECE_BYTES
from gpu_jobs.logs import MOST_LINES_PER_CALL, LogLine
from gpu_jobs.phases import Phase
from gpu_jobs.protocol import WORK_LEFT_HEADER
from gpu_jobs.redaction import Redactor
from leaderboard.catalog import seasons
from leaderboard.evaluations.models import Evaluation
from leaderboard.planners.checkpoints import checkpoint_store
from leaderboard.planners.kinds import kind_of
from leaderboard.planners.models import Planner, PlannerKind
from leaderboard.planners.secret_headers import HeaderUnreadableError, header_of
from leaderboard.queue.leasing import leases
from leaderboard.queue.models import AttemptToken
from leaderboard.queue.workers import logs
from leaderboard.queue.workers.authentication import HasWorkerSession, HoldsAttempt, IsEnrolled, WorkerAuthentication
from leaderboard.queue.workers.finishing import Finished, deliver, finish
from leaderboard.queue.workers.own import TooMuchUploadedError, count_upload
from leaderboard.queue.workers.sessions import SessionRefusedError, holder_of_session, open_session
from leaderboard.queue.workers.tokens import EnrolmentRefusedError, Holder, note_lease
from leaderboard.results.objects import server_store
from leaderboard.results.provenance import note_worker
from leaderboard.site.api.parsers import TooLargeError

_RECORDS = TypeAdapter(list[ResultRecord])
_MOST_DIGESTS = 5000
_NOT_CLEAN = "It holds a secret that its worker or this site knows; workers take these out before they send."
_SLICED_HEARTBEAT_SECONDS = 5
_LATEST = 32_503_680_000
"""Seconds since 1970 until the year 3000."""
_PROPOSED = r"\A[A-Za-z0-9_-]{43,200}\Z"
"""The token that a worker proposes for an attempt: at least 256 bits in base64."""


class SessionRequest(serializers.Serializer[Any]):
    """What a session is to be bound to."""

    suites = serializers.ListField(child=serializers.SlugField(), required=False, allow_null=True, max_length=100)
    evaluation = serializers.UUIDField(required=False, allow_null=True)


class LeaseRequest(serializers.Serializer[Any]):
    """What a worker says of itself."""

    worker = serializers.CharField(max_length=120)
    suites = serializers.ListField(child=serializers.SlugField(), required=False, allow_null=True)
    evaluation = serializers.UUIDField(required=False, allow_null=True)
    token = serializers.RegexField(_PROPOSED, required=False)
    phases = serializers.BooleanField(default=False, help_text="Whether its heartbeats say which phase it is in.")


class HeartbeatRequest(serializers.Serializer[Any]):
    """What a worker says with a heartbeat."""

    phase = serializers.ChoiceField(choices=[phase.value for phase in Phase], required=False, allow_null=True)


class FailRequest(serializers.Serializer[Any]):
    """Why a worker ends an attempt."""

    how = serializers.ChoiceField(choices=[how.value for how in leases.GivenUp], default=leases.GivenUp.FAILED.value)
    reason = serializers.CharField(max_length=2000)


class DigestsRequest(serializers.Serializer[Any]):
    """Digests of artefacts that a worker has."""

    digests = serializers.ListField(child=serializers.RegexField(r"\A[0-9a-f]{64}\Z"), max_length=_MOST_DIGESTS)


class StartRequest(serializers.Serializer[Any]):
    """Where a piece of a checkpoint begins."""

    start = serializers.IntegerField(min_value=0, max_value=2**62, default=0)


class CompleteRequest(serializers.Serializer[Any]):
    """What the results were made with."""

    provenance = serializers.DictField(required=False)


class LogLineRequest(serializers.Serializer[Any]):
    """One line of a worker's log."""

    at = serializers.FloatField(min_value=0, max_value=_LATEST, help_text="Seconds since 1970.")
    level = serializers.CharField(max_length=20)
    text = serializers.CharField(allow_blank=True, trim_whitespace=False)


class LogRequest(serializers.Serializer[Any]):
    """Lines of a worker's log that follow each other."""

    first = serializers.IntegerField(min_value=0, max_value=2**31 - 1 - MOST_LINES_PER_CALL)
    lines = LogLineRequest(many=True, max_length=MOST_LINES_PER_CALL)


@extend_schema(exclude=True)
class SessionView(APIView):
    """Opens a session for an enrolled worker."""

    authentication_classes = [WorkerAuthentication]
    permission_classes = [IsEnrolled]
    throttle_scope = None

    def post(self, request: Request) -> Response:
        body = _validated(SessionRequest, request.data)
        try:
            opened = open_session(
                enrolment=str(request.auth), evaluation_id=body.get("evaluation"), suites=body.get("suites")
            )
        except EnrolmentRefusedError as error:
            raise PermissionDenied(str(error), code=error.code) from error
        return Response({"token": opened.token, "expires_in": opened.expires_in}, status=status.HTTP_201_CREATED)


@extend_schema(exclude=True)
class LeaseView(APIView):
    """Gives a shard to a worker."""

    authentication_classes = [WorkerAuthentication]
    permission_classes = [HasWorkerSession]
    throttle_scope = None
    holder: Holder
    """Set by the permission."""

    def post(self, request: Request) -> Response:
        body = _validated(LeaseRequest, request.data)
        lease = _lease(holder=self.holder, body=body)
        return _nothing_due(holder=self.holder, body=body) if lease is None else Response(lease)


class _NotToldError(Exception):
    """A planner's secrets are its owner's and the operator's; who leased may work on what needs none."""

    def __init__(self) -> None:
        super().__init__("only a worker of its planner's owner may run this, since it is told the planner's secrets")


def _lease(*, holder: Holder, body: dict[str, Any]) -> dict[str, Any] | None:
    """The next lease as it is told to the worker."""
    lease = leases.lease(
        worker=holder.name(body["worker"]),
        suites=body.get("suites"),
        evaluation_id=body.get("evaluation"),
        scope=holder.scope,
        token=body.get("token", ""),
        reports_phases=body.get("phases", False),
        pool=holder.pool(suites=body.get("suites"), evaluation_id=body.get("evaluation")),
    )
    if lease is None or not note_lease(attempt_id=lease.attempt.pk, holder=holder):
        return None
    try:
        return _lease_json(lease, holder=holder)
    except (HeaderUnreadableError, _NotToldError) as error:
        leases.give_up(attempt_id=lease.attempt.pk, how=leases.GivenUp.FAILED, detail=str(error))
        return None


def _nothing_due(*, holder: Holder, body: dict[str, Any]) -> Response:
    """204, and for a worker of one evaluation whether to wait for more."""
    headers = {}
    if (evaluation_id := body.get("evaluation")) is not None:
        # In the holder's scope: strangers learn nothing about evaluations that they may not lease.
        left = leases.is_work_left(evaluation_id=evaluation_id, suites=body.get("suites"), scope=holder.scope)
        headers[WORK_LEFT_HEADER] = "1" if left else "0"
    return Response(status=status.HTTP_204_NO_CONTENT, headers=headers)


def _lease_json(lease: leases.Lease, *, holder: Holder) -> dict[str, Any]:
    evaluation = lease.evaluation
    return {
        "attempt": str(lease.attempt.pk),
        "token": lease.token,
        "expires_in": settings.LEASE_SECONDS,
        "heartbeat_seconds": _heartbeat_seconds(evaluation),
        "evaluation": str(evaluation.pk),
        "suite": evaluation.suite.slug,
        "suite_digest": evaluation.suite.digest,
        "profile": evaluation.profile,
        "profile_digest": evaluation.profile_digest,
        "split": evaluation.split,
        "samples": evaluation.samples,
        "needs_seed": evaluation.split == HIDDEN,
        "planner": _planner_json(evaluation.submission.planner, tasks=lease.tasks, holder=holder),
        "tasks": lease.tasks,
        "finish": True,
    }


def _heartbeat_seconds(evaluation: Evaluation) -> int:
    """How often the worker says that it lives. Foreign planners give way at heartbeats (`time_slices`)."""
    seconds = min(settings.HEARTBEAT_SECONDS, settings.LEASE_SECONDS // 4)
    if kind_of(evaluation.submission.planner).has_canary:
        seconds = min(seconds, _SLICED_HEARTBEAT_SECONDS)
    return max(1, seconds)


def _planner_json(planner: Planner, *, tasks: Sequence[str], holder: Holder) -> dict[str, Any]:
    kind = kind_of(planner)
    if kind.has_secret and holder.owner_id not in {None, planner.owner_id}:
        raise _NotToldError
    return {"kind": planner.kind, **kind.lease(planner), **kind.lease_of_tasks(planner=planner, tasks=tasks)}


@extend_schema(exclude=True)
class AttemptView(APIView):
    """What the calls of an attempt have in common."""

    authentication_classes = [WorkerAuthentication]
    permission_classes = [HoldsAttempt]
    throttle_scope = None

    split: str
    is_own: bool
    """Set by the permission, both."""

    def store(self) -> Store:
        """Where the artefacts and records of the attempt's evaluation are kept: hidden data have their own store."""
        return server_store(split=self.split)

    def keep(self, *, attempt_id: UUID, artefacts: Sequence[Artefact]) -> None:
        """Keep artefacts, as far as an own worker may send so many.

        Raises:
            TooLargeError: it may not; none was kept.
        """
        store = self.store()
        if self.is_own:
            new = sum(len(artefact.data) for artefact in artefacts if not store.has(artefact.digest))
            try:
                count_upload(attempt_id=attempt_id, size=new)
            except TooMuchUploadedError as error:
                raise TooLargeError(str(error)) from error
        store.put_all(artefacts)


class HeartbeatView(AttemptView):
    """Keeps the attempt alive."""

    def post(self, request: Request, attempt_id: UUID) -> Response:
        phase = _validated(HeartbeatRequest, request.data).get("phase")
        leases.heartbeat(attempt_id, phase=None if phase is None else Phase(phase))
        return Response(status=status.HTTP_204_NO_CONTENT)


class SeedView(AttemptView):
    """Gives the seed of the attempt's hidden data to a worker of the operator's."""

    def get(self, request: Request, attempt_id: UUID) -> Response:  # noqa: ARG002 - Django's signature
        leases.heartbeat(attempt_id)
        if self.is_own:
            raise PermissionDenied("Hidden data are for the operator's workers only.")
        evaluation = Evaluation.objects.select_related("suite").get(shards__attempts=attempt_id)
        try:
            seed = seasons.seed_of(evaluation)
        except seasons.NoSeedError as error:
            raise NotFound(str(error)) from error
        return _secret({"season": seasons.season_of(evaluation), "seed": seed})


class SecretHeaderView(AttemptView):
    """Gives the secret header of the attempt's planner to a worker of the operator's or of the planner's owner."""

    def get(self, request: Request, attempt_id: UUID) -> Response:  # noqa: ARG002 - Django's signature
        leases.heartbeat(attempt_id)
        planner = Planner.objects.select_related("secret").get(submissions__evaluations__shards__attempts=attempt_id)
        enrolment = AttemptToken.objects.select_related("token").filter(attempt=attempt_id).first()
        holder = Holder(token=None if enrolment is None else enrolment.token)
        if holder.owner_id not in {None, planner.owner_id}:
            raise PermissionDenied(str(_NotToldError()))
        try:
            header = header_of(planner)
        except HeaderUnreadableError as error:
            raise NotFound(str(error)) from error
        if header is None:
            raise NotFound("This attempt's planner has no secret header.")
        return _secret({"name": header.name, "value": header.value})


def _secret(body: dict[str, str]) -> Response:
    """An answer that no cache keeps."""
    return Response(body, headers={"Cache-Control": "no-store"})


class MissingObjectsView(AttemptView):
    """Says which artefacts are still to be sent."""

    def post(self, request: Request, attempt_id: UUID) -> Response:
        body = _validated(DigestsRequest, request.data)
        leases.heartbeat(attempt_id)
        store = self.store()
        return Response({"missing": [digest for digest in dict.fromkeys(body["digests"]) if not store.has(digest)]})


class BundleView(AttemptView):
    """Takes many artefacts in one body."""

    def post(self, request: Request, attempt_id: UUID) -> Response:
        leases.heartbeat(attempt_id)
        if request.META.get("CONTENT_TYPE") != bundles.CONTENT_TYPE:
            raise FieldValidationError({"bundle": [f"Content-Type must be {bundles.CONTENT_TYPE}."]})
        data = request._request.read(bundles.MOST_BYTES + 1)
        if len(data) > bundles.MOST_BYTES:
            raise TooLargeError(f"A bundle has at most {bundles.MOST_BYTES} bytes.")
        try:
            frames = bundles.unpack(data)
        except bundles.BundleError as error:
            raise FieldValidationError({"bundle": [f"{error}."]}) from error
        redact = logs.redactor_of_attempt(attempt_id, credential=str(request.auth))
        problems = {frame.digest: problem for frame in frames if (problem := _problem(frame, redact=redact))}
        good = [frame for frame in frames if frame.digest not in problems]
        artefacts = [Artefact(data=frame.data, media_type=MediaType(frame.media_type)) for frame in good]
        self.keep(attempt_id=attempt_id, artefacts=artefacts)
        return Response({"kept": len(good), "refused": problems})


def _problem(frame: bundles.Frame, *, redact: Redactor) -> str:
    """What is wrong with an artefact as a sentence; empty if nothing is."""
    if frame.media_type not in list(MediaType):
        return f"The media type must be one of: {', '.join(MediaType)}."
    if len(frame.data) > settings.MAX_OBJECT_BYTES:
        return f"An artefact has at most {settings.MAX_OBJECT_BYTES} bytes."
    if (actual := digest_of(frame.data)) != frame.digest:
        return f"The bytes have the SHA-256 {actual}."
    artefact = Artefact(data=frame.data, media_type=MediaType(frame.media_type))
    return _NOT_CLEAN if redact.in_artefact(artefact) is not artefact else ""


class ObjectView(AttemptView):
    """Takes one artefact."""

    def put(self, request: Request, attempt_id: UUID, digest: str) -> Response:
        leases.heartbeat(attempt_id)
        try:
            media_type = MediaType(request.META.get("CONTENT_TYPE", ""))
        except ValueError:
            known = ", ".join(MediaType)
            raise FieldValidationError({"media_type": [f"Content-Type must be one of: {known}."]}) from None
        data = request._request.read(settings.MAX_OBJECT_BYTES + 1)
        if len(data) > settings.MAX_OBJECT_BYTES:
            raise TooLargeError(f"An artefact has at most {settings.MAX_OBJECT_BYTES} bytes.")
        if (actual := digest_of(data)) != digest:
            raise FieldValidationError({"digest": [f"The bytes have the SHA-256 {actual}."]})
        artefact = Artefact(data=data, media_type=media_type)
        if logs.redactor_of_attempt(attempt_id, credential=str(request.auth)).in_artefact(artefact) is not artefact:
            raise FieldValidationError({"artefact": [_NOT_CLEAN]})
        self.keep(attempt_id=attempt_id, artefacts=[artefact])
        return Response(status=status.HTTP_204_NO_CONTENT)


class CheckpointView(AttemptView):
    """Gives the checkpoint of the attempt's planner, piece by piece: no answer is larger than memory has room for."""

    def get(self, request: Request, attempt_id: UUID, digest: str) -> HttpResponse:
        leases.heartbeat(attempt_id)
        of_attempt = Planner.objects.filter(
            submissions__evaluations__shards__attempts=attempt_id, kind=PlannerKind.CHECKPOINT, checkpoint_digest=digest
        )
        if not of_attempt.exists():
            raise NotFound("This attempt's planner has no such checkpoint.")
        start = _validated(StartRequest, request.query_params)["start"]
        piece = checkpoint_store().read(digest=digest, start=start, most=CHECKPOINT_PIECE_BYTES)
        if piece is None:
            raise NotFound("The store has lost this checkpoint.")
        return HttpResponse(piece, content_type="application/octet-stream")


class ResultsView(AttemptView):
    """Takes the results of some tasks."""

    def post(self, request: Request, attempt_id: UUID) -> Response:
        body = request.data if isinstance(request.data, dict) else {}
        try:
            records = _RECORDS.validate_python(body.get("results"))
        except ValidationError as error:
            texts = [f"{'.'.join(str(part) for part in e['loc'])}: {e['msg']}" for e in error.errors()[:10]]
            raise FieldValidationError({"results": texts}) from error
        new = deliver(attempt_id=attempt_id, records=records, store=self.store(), credential=str(request.auth))
        return Response({"new": new})


class LogView(AttemptView):
    """Takes lines of the worker's log. Each line has a number, so that sending them again adds nothing."""

    def post(self, request: Request, attempt_id: UUID) -> Response:
        body = _validated(LogRequest, request.data)
        lines = [LogLine(**line) for line in body["lines"]]
        try:
            appended = logs.append(
                attempt_id=attempt_id, first=body["first"], lines=lines, credential=str(request.auth)
            )
        except logs.GapError as error:
            raise FieldValidationError({"first": [f"{error}."]}) from error
        return Response(appended._asdict())


class CompleteView(AttemptView):
    """Ends the attempt: all its tasks have results."""

    def post(self, request: Request, attempt_id: UUID) -> Response:
        body = _validated(CompleteRequest, request.data)
        # Together: after the attempt is over the call is refused, so that what was not noted would be lost.
        with transaction.atomic():
            leases.complete(attempt_id)
            redact = logs.redactor_of_attempt(attempt_id, credential=str(request.auth))
            note_worker(attempt_id=attempt_id, provenance=redact.in_json(body.get("provenance") or {}))
        return Response(status=status.HTTP_204_NO_CONTENT)


class FinishView(AttemptView):
    """Takes the last that a worker has to say of an attempt, and gives it the next shard."""

    def post(self, request: Request, attempt_id: UUID) -> Response:
        body = _finish_request(request.data)
        log = _lines(body.log)
        finished = Finished(
            records=body.results,
            first_line=log.first,
            lines=[LogLine(at=line.at, level=line.level, text=line.text) for line in log.lines],
            provenance=body.provenance,
            credential=str(request.auth),
        )
        finish(attempt_id=attempt_id, finished=finished, store=self.store())
        return Response({"next": self._next(request, body=body)})

    def _next(self, request: Request, *, body: "_FinishRequest") -> dict[str, Any] | None:
        if body.next is None:
            return None
        try:
            holder = holder_of_session(request.headers.get("X-Worker-Token", ""))
        except SessionRefusedError:
            # What was finished is finished: who may not lease any more learns it from `lease`.
            return None
        return _lease(holder=holder, body=body.next)


class _Line(BaseModel):
    """The same as `LogLineRequest`, in a tenth of its time."""

    at: Annotated[float, Field(ge=0, le=_LATEST)]
    level: Annotated[str, Field(max_length=20)]
    text: str


class _Lines(BaseModel):
    """The same as `LogRequest`."""

    first: Annotated[int, Field(ge=0, le=2**31 - 1 - MOST_LINES_PER_CALL)] = 0
    lines: Annotated[list[_Line], Field(max_length=MOST_LINES_PER_CALL)] = []


class _FinishRequest(BaseModel):
    """What `finish` takes. Results and the wish are refused where they are wrong; a log is only left out."""

    results: list[ResultRecord]
    log: Any = None
    provenance: dict[str, Any] = {}
    next: dict[str, Any] | None = None


def _finish_request(data: Any) -> _FinishRequest:
    try:
        body = _FinishRequest.model_validate(data)
    except ValidationError as error:
        raise FieldValidationError(_texts_by_field(error)) from error
    if body.next is not None:
        body.next = _validated(LeaseRequest, body.next)
    return body


def _texts_by_field(error: ValidationError) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in error.errors()[:10]:
        field, *where = [str(part) for part in one["loc"]] or ["body"]
        found.setdefault(field, []).append(f"{'.'.join(where)}: {one['msg']}" if where else one["msg"])
    return found


def _lines(log: Any) -> _Lines:
    try:
        return _Lines.model_validate(log or {})
    except ValidationError:
        return _Lines()


class FailView(AttemptView):
    """Ends the attempt: its worker cannot go on."""

    def post(self, request: Request, attempt_id: UUID) -> Response:
        body = _validated(FailRequest, request.data)
        # The reason stands on the evaluation's page.
        detail = logs.redactor_of_attempt(attempt_id, credential=str(request.auth))(body["reason"])
        leases.give_up(attempt_id=attempt_id, how=leases.GivenUp(body["how"]), detail=detail)
        return Response(status=status.HTTP_204_NO_CONTENT)


def _validated(serializer: type[serializers.Serializer[Any]], data: Any) -> dict[str, Any]:
    checked = serializer(data=data)
    checked.is_valid(raise_exception=True)
    validated: dict[str, Any] = checked.validated_data
    return validated
