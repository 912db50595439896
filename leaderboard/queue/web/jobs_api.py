"""Jobs in the API: accepted with 202 and an address for their status."""

from typing import Any, ClassVar
from uuid import UUID

from django.urls import reverse
from rest_framework import serializers, status
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.people.authentication import user_of
from leaderboard.people.models import Scope
from leaderboard.people.web.api import LoggedInView
from leaderboard.platform.api.examples import LATER, ROW_ID, WHEN
from leaderboard.platform.api.shapes import Output
from leaderboard.queue import jobs
from leaderboard.queue.models import Job, JobState

POLL_SECONDS = 1
"""`Retry-After` of unfinished jobs."""
JOB_EXAMPLE: dict[str, Any] = {
    "id": ROW_ID, "state": "done", "created": WHEN, "started": WHEN, "finished": LATER, "problem": None,
}  # fmt: skip


class JobOutput(Output):
    """Status of a job. Subclasses add `result`."""

    id = serializers.UUIDField()
    state = serializers.ChoiceField(
        choices=JobState.choices, help_text="`waiting`, `running`, `done` or `failed`; the last two are final."
    )
    created = serializers.DateTimeField()
    started = serializers.DateTimeField(allow_null=True)
    finished = serializers.DateTimeField(allow_null=True, help_text="The job can be read for an hour after this.")
    problem = serializers.JSONField(
        allow_null=True,
        help_text="Why it failed: `status`, `code`, `detail` and optionally `errors`, as in a problem document.",
    )


def accepted(job: Job, *, shown: dict[str, Any], route: str) -> Response:
    """202 with the address of the job."""
    headers = {"Location": reverse(route, args=[job.pk]), "Retry-After": str(POLL_SECONDS)}
    return Response(shown, status=status.HTTP_202_ACCEPTED, headers=headers)


class JobView(LoggedInView):
    """One of the user's jobs of a kind."""

    scope = Scope.SUBMIT
    kind: ClassVar[jobs.JobKind]
    output: ClassVar[type[JobOutput]]

    def get(self, request: Request, job_id: UUID) -> Response:
        """Status of the job: repeat after `Retry-After` until `state` is `done` or `failed`. Only its owner sees it,
        until an hour after it ended."""
        job = jobs.find(owner=user_of(request), kind=self.kind.name, job_id=job_id)
        if job is None:
            raise NotFound("You have no such job, or it ended more than an hour ago.")
        headers = {} if job.has_ended else {"Retry-After": str(POLL_SECONDS)}
        return Response(self.output(job, context={"request": request}).data, headers=headers)
