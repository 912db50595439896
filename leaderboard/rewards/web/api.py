"""The API of rewards."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.people.authentication import LOGGED_IN, user_of
from leaderboard.people.models import Scope
from leaderboard.platform.api.examples import EXAMPLE_SUITE, NO_QUOTA, NOT_READY, example, example_of
from leaderboard.platform.api.shapes import Input, Output
from leaderboard.platform.api.views import ApiView
from leaderboard.queue.models import Job
from leaderboard.queue.web.jobs_api import JOB_EXAMPLE, JobOutput, JobView, accepted
from leaderboard.rewards.services import MOST_PLANS, REWARDS, SAMPLES, accept_rewards, charged_seconds

MOST_CHARACTERS = 10_000


@example({"task": "14", "completion": "Image Denoising"})
class CompletionInput(Input):
    """A completion of the planner in training."""

    task = serializers.CharField(max_length=200, help_text="Key of the task.")
    completion = serializers.CharField(
        max_length=MOST_CHARACTERS,
        allow_blank=True,
        trim_whitespace=False,
        help_text="The planner's output: a plan as text, in any form that an endpoint may use.",
    )


@example({"suite": EXAMPLE_SUITE, "plans": [{"task": "14", "completion": "Image Denoising"}]})
class RewardsInput(Input):
    """Plans to score."""

    suite = serializers.SlugField(max_length=50, help_text="Slug of a suite that executes plans.")
    plans = serializers.ListField(child=CompletionInput(), allow_empty=False, max_length=MOST_PLANS)


@example({"suite": EXAMPLE_SUITE, "split": "validation", "samples": SAMPLES, "rewards": [0.62]})
class RewardsOutput(Output):
    """Their scores."""

    suite = serializers.CharField()
    split = serializers.CharField(help_text="The training split on whose data the plans were executed.")
    samples = serializers.IntegerField(help_text="Number of data points on which each plan was executed.")
    rewards = serializers.ListField(
        child=serializers.FloatField(allow_null=True),
        help_text="In the order of the plans, from 0 to 1; 0 for a plan that cannot be read or is invalid; null if its "
        "execution failed for other reasons than the plan.",
    )


@example({**JOB_EXAMPLE, "result": example_of(RewardsOutput), "seconds": 3})
class RewardsJobOutput(JobOutput):
    """A call for rewards and, once it is done, the scores."""

    result = RewardsOutput(allow_null=True)
    seconds = serializers.SerializerMethodField(
        help_text="Charged to the quota: null until it has ended; 0 if it failed for other reasons than its plans."
    )

    def get_seconds(self, job: Job) -> int | None:
        return charged_seconds(job) if job.has_ended else None


class RewardsView(ApiView):
    """Score plans on a training split, to train a planner."""

    permission_classes = LOGGED_IN
    scope = Scope.SUBMIT
    throttle_scope = "rewards"
    bodies = {"POST": RewardsInput}

    @extend_schema(responses={202: RewardsJobOutput, 429: NO_QUOTA, 503: NOT_READY})
    def post(self, request: Request) -> Response:
        """202 with the URL of the job in `Location`: poll it until it has ended. The plans are executed for at most a
        minute, never on public or hidden data. The seconds count towards a separate daily quota."""
        body = self.read(request)
        proposals = [(plan["task"], plan["completion"]) for plan in body["plans"]]
        job = accept_rewards(user=user_of(request), suite=body["suite"], proposals=proposals)
        return accepted(job, shown=dict(RewardsJobOutput(job).data), route="api:rewards-job")


class RewardsJobView(JobView):
    """One's own call for rewards."""

    kind = REWARDS
    output = RewardsJobOutput

    @extend_schema(responses=RewardsJobOutput)
    def get(self, request: Request, job_id: UUID) -> Response:
        """The state of the job: poll it after `Retry-After` until `state` is `done` or `failed`."""
        return super().get(request, job_id)
