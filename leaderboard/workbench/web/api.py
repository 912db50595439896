"""The API of the workbench."""

import base64
import binascii
from typing import Any
from uuid import UUID

from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from evaluator.core.marks import LARGEST, MOST_MARKS, Mark, MarkError, MarkKind, mark_of
from evaluator.workbench.files import MOST_BYTES
from evaluator.workbench.running import MOST_FILES
from leaderboard.people.authentication import LOGGED_IN, user_of
from leaderboard.people.models import Scope
from leaderboard.platform.api.examples import EXAMPLE_SUITE, LATER, PLAN, ROW_ID, WHEN, example
from leaderboard.platform.api.shapes import Input, Output
from leaderboard.platform.api.views import ApiView
from leaderboard.workbench import asking
from leaderboard.workbench.asking import GivenFile, NewRun
from leaderboard.workbench.models import Run, RunState
from leaderboard.workbench.web.live import stream_of


@example({"name": "kitchen.png", "content": "iVBORw0KGgo="})
class RunFileInput(Input):
    """A file of a request."""

    name = serializers.CharField(max_length=59, help_text="Its ending says what it is: `png`, `jpg`, `gif`, `txt`, ...")
    content = serializers.CharField(
        max_length=MOST_BYTES * 4 // 3 + 8, trim_whitespace=False, help_text="The bytes in base64, at most 4 MiB."
    )


@example({"type": "point", "picture": "kitchen.png", "at": [[12, 30]]})
class MarkInput(Input):
    """Something marked in a picture: a resource `point-1`, `box-1` or `stroke-1` of the request."""

    type = serializers.ChoiceField(choices=list(MarkKind))
    picture = serializers.CharField(max_length=59, help_text="Name of a picture of the request.")
    at = serializers.ListField(
        child=serializers.ListField(
            child=serializers.IntegerField(min_value=0, max_value=LARGEST), min_length=2, max_length=2
        ),
        min_length=1, max_length=64,
        help_text="Columns and rows in pixels: 1 to 3 points on one thing, 2 corners of a box, 2 to 64 points of a "
        "stroke.",
    )  # fmt: skip


@example({"text": "What is in kitchen.png?", "planner": "controlllm/adaptive"})
class RunInput(Input):
    """A request to run."""

    text = serializers.CharField(max_length=asking.LONGEST_REQUEST, help_text="The request in words.")
    planner = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=100,
        help_text="Name of a bundled planner, or the number of a planner of yours or on a board; by default the first "
        "bundled one.",
    )  # fmt: skip
    suite = serializers.SlugField(
        required=False, default="", allow_blank=True, max_length=50,
        help_text="The suite whose tools may be called; by default that of the workbench.",
    )  # fmt: skip
    files = serializers.ListField(child=RunFileInput(), required=False, default=list, max_length=MOST_FILES)
    marks = serializers.ListField(
        child=MarkInput(), required=False, default=list, max_length=MOST_MARKS, help_text="What is pointed at."
    )
    plan = serializers.JSONField(required=False, default=None, help_text="A plan to run instead of asking the planner.")
    after = serializers.UUIDField(
        required=False, default=None, allow_null=True,
        help_text="The run before it in a dialogue, whose files and results it may name.",
    )  # fmt: skip
    keep = serializers.BooleanField(
        required=False, default=True, help_text="Whether it runs even if nobody follows its events."
    )


@example({
    "id": ROW_ID, "state": "ended", "text": "What is in kitchen.png?", "planner": "controlllm/adaptive",
    "suite": EXAMPLE_SUITE, "created": WHEN, "ended_at": LATER, "reason": "", "page": f"/workbench/{ROW_ID}/",
    "events": [{"kind": "plan", "plan": PLAN, "seconds": 0.1, "tolerated": [], "notes": {}, "edited": False}],
})  # fmt: skip
class RunOutput(Output):
    """A run with the events so far."""

    id = serializers.UUIDField()
    state = serializers.ChoiceField(choices=RunState.choices, help_text="The last two are final.")
    text = serializers.CharField()
    planner = serializers.CharField(help_text="Its name.")
    suite = serializers.CharField()
    created = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    reason = serializers.CharField(help_text="Why it was cancelled, as a sentence; else empty.")
    page = serializers.CharField(help_text="Address of its page.")
    events = serializers.ListField(
        child=serializers.DictField(),
        help_text="In order: `given`, `asked`, `plan`, `step` or `skipped` for each step, and `ended`.",
    )

    def to_representation(self, instance: Run) -> dict[str, Any]:
        return super().to_representation({
            "id": instance.pk, "state": instance.state, "text": instance.text, "planner": instance.planner_name,
            "suite": instance.suite, "created": instance.created, "ended_at": instance.ended_at,
            "reason": instance.reason, "page": reverse("workbench:run", kwargs={"run_id": instance.pk}),
            "events": [event.body for event in instance.events.all()],
        })  # fmt: skip


class RunsView(ApiView):
    """Requests to the workbench."""

    permission_classes = LOGGED_IN
    scope = Scope.SUBMIT
    bodies = {"POST": RunInput}

    @extend_schema(responses={202: RunOutput})
    def post(self, request: Request) -> Response:
        """Run one request: a worker asks the planner, executes its plan step by step, and tells each event. Nothing is
        scored, and no quota of evaluations is charged. `Location` has the address of the run."""
        body = self.read(request)
        user = user_of(request)
        after = None
        if body["after"] is not None:
            after = Run.objects.filter(pk=body["after"], is_blind=False).first()
            if after is None:
                raise ValidationError({"after": ["There is no such run."]})
        files = [GivenFile(name=file["name"], data=decoded(file)) for file in body["files"]]
        new = NewRun(
            text=body["text"], planner=body["planner"], suite=body["suite"], files=files, plan=body["plan"],
            marks=_marks(body["marks"]), after=after, keep=body["keep"],
        )  # fmt: skip
        run = asking.start(new, user=user, asker=f"user {user.pk}")
        address = reverse("api:run", kwargs={"run_id": run.pk})
        return Response(RunOutput(run).data, status=status.HTTP_202_ACCEPTED, headers={"Location": address})


def _marks(given: list[dict[str, Any]]) -> list[Mark]:
    try:
        return [mark_of(mark["type"], picture=mark["picture"], at=mark["at"]) for mark in given]
    except MarkError as error:
        raise ValidationError({"marks": [str(error)]}) from None


def decoded(file: dict[str, Any]) -> bytes:
    """The bytes of a file in a body. Raises DRF's `ValidationError` if they are not in base64."""
    try:
        return base64.b64decode(file["content"], validate=True)
    except (binascii.Error, ValueError):
        raise ValidationError({"files": [f"The content of {file['name'][:60]} is not in base64."]}) from None


def _found(run_id: UUID) -> Run:
    run = get_object_or_404(Run.objects.select_related("planner"), pk=run_id, is_blind=False)
    asking.note_reader(run.pk)
    return run


class RunView(ApiView):
    """One run, for everybody who knows its id."""

    @extend_schema(responses=RunOutput)
    def get(self, request: Request, run_id: UUID) -> Response:  # noqa: ARG002 - the base class's
        return Response(RunOutput(_found(run_id)).data)


class RunEventsView(ApiView):
    """The events of a run as they happen."""

    # The schema describes no streams.
    @extend_schema(exclude=True)
    def get(self, request: Request, run_id: UUID) -> HttpResponseBase:
        """Server-sent events: `id` is the number of the event, `data` its JSON. `Last-Event-ID` goes on after it. An
        event named `end` is the last one."""
        return stream_of(request._request, run=_found(run_id))


class CancelRunView(ApiView):
    """Cancels a run."""

    permission_classes = LOGGED_IN
    scope = Scope.SUBMIT

    @extend_schema(request=None, responses=RunOutput)
    def post(self, request: Request, run_id: UUID) -> Response:
        """Cancel one's own run. One that has ended stays as it is."""
        run = Run.objects.filter(pk=run_id, owner=user_of(request), is_blind=False).first()
        if run is None:
            raise NotFound("You have no such run.")
        asking.cancel(run.pk, reason="Its owner cancelled it.")
        return Response(RunOutput(_found(run_id)).data)
