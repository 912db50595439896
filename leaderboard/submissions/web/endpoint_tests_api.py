"""The API for test calls of endpoints."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evaluator.planners.trials.trial import Verdict
from leaderboard.people.authentication import LOGGED_IN, user_of
from leaderboard.people.models import Scope
from leaderboard.planners.data import ENDPOINT_URL, HEADER_NAME, HEADER_VALUE, NAME, TIMEOUT, PlannerData
from leaderboard.planners.kinds import KINDS
from leaderboard.planners.kinds.called import EndpointKind
from leaderboard.planners.kinds.chat import ANSWER_TOKENS, API, REASONING_EFFORT, STREAMED, ChatKind
from leaderboard.planners.kinds.language_models import MODEL_ID, STRATEGY
from leaderboard.platform.api.examples import EXAMPLE_SUITE, PLAN, TOO_MANY_JOBS, example, example_of
from leaderboard.platform.api.shapes import Input, NamedChoiceField
from leaderboard.platform.api.views import ApiView
from leaderboard.queue.models import Job
from leaderboard.queue.web.jobs_api import JOB_EXAMPLE, JobOutput, JobView, accepted
from leaderboard.submissions.endpoint_tests import ENDPOINT_TEST, accept_test, trial_of

_TESTABLE = [(name, kind.choice) for name, kind in KINDS.items() if kind.testable]
_CHAT = [ChatKind.kind.value]


@example({
    "kind": ChatKind.kind.value, "endpoint_url": "https://example.org/v1", "model_id": "my-model",
    **{field.name: field.example for field in (STRATEGY, TIMEOUT, HEADER_NAME, HEADER_VALUE)}, "suite": EXAMPLE_SUITE,
})  # fmt: skip
class EndpointTestInput(Input):
    """An endpoint or a chat endpoint to call once."""

    kind = NamedChoiceField(
        "kind of planner that can be tested",
        choices=_TESTABLE,
        required=False,
        default=EndpointKind.kind.value,
        help_text="A strategy asks a chat endpoint, on a suite of whole plans.",
    )
    endpoint_url = ENDPOINT_URL.api_field(
        required=True, help_text="Address of the endpoint, or the base URL of a chat API."
    )
    model_id = MODEL_ID.api_field(kinds=_CHAT, help_text="For `chat`: the model name in requests.")
    strategy = STRATEGY.api_field(kinds=_CHAT)
    api = API.api_field(kinds=_CHAT)
    reasoning_effort = REASONING_EFFORT.api_field(kinds=_CHAT)
    answer_tokens = ANSWER_TOKENS.api_field(kinds=_CHAT)
    streamed = STREAMED.api_field(kinds=_CHAT)
    timeout_seconds = TIMEOUT.api_field(help_text="Waits at most 15 seconds.")
    suite = serializers.CharField(
        required=False, allow_blank=True, default="", help_text="Slug of the suite whose request is sent."
    )
    header_name = HEADER_NAME.api_field()
    header_value = HEADER_VALUE.api_field()
    name = NAME.api_field(
        required=False,
        default=NAME.default,
        help_text="Of a planner of yours with this address, whose stored header is sent if none is given.",
    )


class ExchangeOutput(serializers.Serializer[Any]):
    """One call of a language model, without the secret header."""

    sent = serializers.CharField(read_only=True, help_text="The beginning of the request's body.")
    sent_bytes = serializers.IntegerField(read_only=True)
    status = serializers.IntegerField(read_only=True, allow_null=True, help_text="HTTP status; null: no answer.")
    answer = serializers.CharField(read_only=True, help_text="The beginning of the answer's body.")
    answer_bytes = serializers.IntegerField(read_only=True)


@example({
    "passed": True, "verdict": "reference", "summary": "Correct: the reference plan of this task.",
    "suite": EXAMPLE_SUITE, "task": "14", "request": {"version": "planner/1", "suite": EXAMPLE_SUITE},
    "status": 200, "seconds": 0.42, "answer": '{"plan": "Image Denoising"}', "answer_bytes": 27, "reason": None,
    "problem": "", "plan": PLAN, "tolerated": [], "problems": [], "example": None,
    "exchanges": [], "adapted": [], "alternatives": 0,
})  # fmt: skip
class EndpointTestOutput(serializers.Serializer[Any]):
    """The request, the answer, and how it was read."""

    passed = serializers.BooleanField(
        read_only=True, help_text="Whether the answer would be executed or judged, and has a plan with steps."
    )
    verdict = serializers.ChoiceField(
        choices=[(verdict.value, verdict.label) for verdict in Verdict], read_only=True, help_text="How it is judged."
    )
    summary = serializers.CharField(
        read_only=True, help_text="The verdict, and what the plan would score or what is wrong with it, in sentences."
    )
    suite = serializers.CharField(read_only=True)
    task = serializers.CharField(read_only=True)
    request = serializers.JSONField(read_only=True, help_text="The body that was sent, `planner/1`.")
    status = serializers.IntegerField(read_only=True, allow_null=True, help_text="HTTP status; null: no answer.")
    seconds = serializers.FloatField(read_only=True)
    answer = serializers.CharField(read_only=True, help_text="Its beginning, without the secret header.")
    answer_bytes = serializers.IntegerField(read_only=True)
    reason = serializers.CharField(read_only=True, allow_null=True)
    problem = serializers.CharField(read_only=True, help_text="What is wrong, as a sentence; empty: nothing.")
    plan = serializers.JSONField(read_only=True, allow_null=True, help_text="As it was read, `plan/1`.")
    tolerated = serializers.ListField(child=serializers.CharField(), read_only=True)
    problems = serializers.ListField(child=serializers.CharField(), read_only=True)
    example = serializers.JSONField(
        read_only=True,
        allow_null=True,
        help_text="Where the plan has no steps: one that shows the form and does not answer the request; else null.",
    )
    exchanges = ExchangeOutput(
        many=True, read_only=True, help_text="For `chat`: the first calls of the language model, as they were sent."
    )
    adapted = serializers.ListField(
        child=serializers.CharField(),
        read_only=True,
        help_text="For `chat`: how requests were adapted to what the model accepts, in sentences.",
    )
    alternatives = serializers.IntegerField(read_only=True)


@example({**JOB_EXAMPLE, "result": example_of(EndpointTestOutput)})
class EndpointTestJobOutput(JobOutput):
    """A test call and, once it is done, its result."""

    result = serializers.SerializerMethodField(help_text="Of a test that is done, whatever the endpoint did.")

    @extend_schema_field(EndpointTestOutput(allow_null=True))
    def get_result(self, job: Job) -> dict[str, Any] | None:
        trial = trial_of(job)
        if trial is None:
            return None
        names = [name for name in EndpointTestOutput().fields.keys() if name != "request"]  # noqa: SIM118 - the stubs have an iterator of fields
        shown = {name: getattr(trial, name) for name in names}
        return dict(EndpointTestOutput({**shown, "request": trial.request.model_dump(mode="json")}).data)


class EndpointTestsView(ApiView):
    """Call an endpoint once, as a worker would, before anything is submitted."""

    permission_classes = LOGGED_IN
    scope = Scope.SUBMIT
    throttle_scope = "endpoint-tests"
    bodies = {"POST": EndpointTestInput}

    @extend_schema(responses={202: EndpointTestJobOutput, 429: TOO_MANY_JOBS})
    def post(self, request: Request) -> Response:
        """202 with the address of the test in `Location`: read it until it has ended. Redirects are not followed, and
        only public addresses are called."""
        fields = self.read(request)
        kind, suite = fields.pop("kind"), fields.pop("suite")
        job = accept_test(user=user_of(request), data=PlannerData(kind=kind, values=fields), suite=suite)
        return accepted(job, shown=dict(EndpointTestJobOutput(job).data), route="api:endpoint-test")


class EndpointTestView(JobView):
    """One's own test call."""

    kind = ENDPOINT_TEST
    output = EndpointTestJobOutput

    @extend_schema(responses=EndpointTestJobOutput)
    def get(self, request: Request, job_id: UUID) -> Response:
        """How far it is: ask again after `Retry-After` until `state` is `done` or `failed`. Of a test that is done,
        `verdict` says how the answer is judged, `passed` whether it would count."""
        return super().get(request, job_id)
