"""What workers say while they work, and whose they are. Keyed by attempts and evaluations, which know nothing of it."""

import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone

from leaderboard.evaluations.models import Attempt, Evaluation


class AttemptLog(models.Model):
    """The log of one attempt, and how much of it has come."""

    attempt = models.OneToOneField(Attempt, on_delete=models.CASCADE, primary_key=True, related_name="log")
    next_line = models.PositiveIntegerField(default=0)
    """Number of the line that is expected next; all before it have come."""
    size = models.PositiveIntegerField(default=0)
    """Characters kept."""
    cut = models.BooleanField(default=False)
    """Whether lines were dropped because there were too many."""

    def __str__(self) -> str:
        return f"log of {self.attempt_id}"


class LogChunk(models.Model):
    """Lines that came in one call. Written once."""

    log = models.ForeignKey(AttemptLog, on_delete=models.CASCADE, related_name="chunks")
    first = models.PositiveIntegerField()
    """Number of its first line."""
    lines = models.JSONField()
    """`[[seconds since 1970, level, text], ...]`"""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["log", "first"], name="lines_come_once")]
        ordering = ["first"]

    def __str__(self) -> str:
        return f"{self.log_id} from {self.first}"


class WorkerToken(models.Model):
    """A worker's enrolment token: it opens sessions (`WorkerSession`) and does nothing else. Only the hash of its text
    is kept; the text has 256 random bits."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="worker_tokens"
    )
    """Null: the operator's, good for every evaluation but those that their owners run themselves."""
    name = models.CharField(max_length=80)
    token_hash = models.CharField(max_length=64, unique=True)
    created = models.DateTimeField(auto_now_add=True)
    last_used = models.DateTimeField(null=True)
    """When a worker last asked for tasks with it, to the minute."""
    revoked_at = models.DateTimeField(null=True)
    evaluation = models.UUIDField(null=True)
    """The only evaluation that its workers may lease; null: any."""
    suite = models.SlugField(blank=True)
    """The only suite that its workers may lease; empty: any."""
    pool = models.SlugField(blank=True, default="", db_default="")
    """The worker pool whose evaluations its workers may lease; empty: any."""
    expires_at = models.DateTimeField(null=True)
    """After this time it opens no session. Set for the tokens that launchers mint; null: valid until revoked."""

    def __str__(self) -> str:
        return self.name


class WorkerSession(models.Model):
    """A short-lived credential that leases shards, opened with an enrolment token. Only its hash is kept."""

    token_hash = models.CharField(max_length=64, unique=True)
    enrolment = models.ForeignKey(WorkerToken, on_delete=models.CASCADE, null=True, related_name="sessions")
    """Null: opened with PLANARENA_WORKER_TOKEN."""
    enrolled_with = models.CharField(max_length=64)
    """Hash of the enrolment token: a session ends when PLANARENA_WORKER_TOKEN changes."""
    evaluation = models.UUIDField(null=True)
    """The only evaluation that the worker asked for; null: all that its enrolment covers."""
    suites = models.JSONField(null=True)
    """Slugs of the only suites that the worker asked for; null: all that its enrolment covers."""
    created = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"session of {self.enrolment_id or 'PLANARENA_WORKER_TOKEN'} until {self.expires_at}"


class AttemptToken(models.Model):
    """The enrolment of an attempt's worker. An attempt without one was leased with PLANARENA_WORKER_TOKEN."""

    attempt = models.OneToOneField(Attempt, on_delete=models.CASCADE, primary_key=True, related_name="leased_with")
    token = models.ForeignKey(WorkerToken, on_delete=models.PROTECT, related_name="attempts")

    def __str__(self) -> str:
        return f"{self.attempt_id} with {self.token_id}"


class VerificationVerdict(models.TextChoices):
    """What a verification came to."""

    OPEN = "open", "Under way"
    AGREES = "agrees", "Agrees"
    DISAGREES = "disagrees", "Does not agree"
    UNDECIDED = "undecided", "Needs more tasks"
    """The owner's scores lean to the better side: another verification, of more tasks, has followed."""
    IMPOSSIBLE = "impossible", "Could not be carried out"
    """Tasks could not be run again for reasons that are not the planner's: nothing was compared."""


class Verification(models.Model):
    """A random sample of the tasks of an evaluation that its owner ran, run again by a worker of the operator's."""

    evaluation = models.OneToOneField(
        Evaluation, on_delete=models.CASCADE, primary_key=True, related_name="verification"
    )
    """The further evaluation that runs the sample; it `verifies` the owner's."""
    tasks = models.JSONField()
    """Keys of the sampled tasks, in the suite's order."""
    ordered_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    """Who asked for it; null for the one that follows from the evaluation's end."""
    verdict = models.CharField(max_length=20, choices=VerificationVerdict, default=VerificationVerdict.OPEN)
    detail = models.TextField(blank=True)
    """The verdict as a sentence."""
    comparison = models.JSONField(null=True)
    """`{"tasks": [{"task", "finding", "contradicts", "own_outcome", "own_score", "outcome", "score", "samples",
    "differing"}], "p_value": float}` (`comparing.py`); null where nothing was compared."""
    created = models.DateTimeField(auto_now_add=True)
    settled_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(verdict="open", settled_at=None)
                | ~models.Q(verdict="open") & models.Q(settled_at__isnull=False),
                name="a_settled_verification_has_a_verdict",
            ),
            models.CheckConstraint(
                condition=models.Q(verdict__in=VerificationVerdict.values), name="a_verification_has_a_known_verdict"
            ),
        ]
        indexes = [models.Index(fields=["created"], condition=models.Q(verdict="open"), name="open_verifications")]

    def __str__(self) -> str:
        return f"{self.evaluation_id}: {self.verdict}"


class OwnWorkerRun(models.Model):
    """Marks an evaluation that its owner runs on their own worker: nobody else leases it, and it is not ranked unless
    a verification agrees."""

    evaluation = models.OneToOneField(
        Evaluation, on_delete=models.CASCADE, primary_key=True, related_name="own_worker_run"
    )
    verified_by = models.OneToOneField(Verification, on_delete=models.RESTRICT, null=True, related_name="+")
    """The verification that agreed: from then on the evaluation is ranked."""
    uploaded_bytes = models.BigIntegerField(default=0)
    """Of the artefacts that its worker has sent and the site did not have."""
    created = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.evaluation_id} by its owner"


class AgentPresence(models.Model):
    """When the agent of an evaluation last called."""

    evaluation = models.OneToOneField(
        Evaluation, on_delete=models.CASCADE, primary_key=True, related_name="agent_presence"
    )
    seen_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"agent of {self.evaluation_id}"


class AgentTurn(models.Model):
    """One turn: opened by a worker, handed to the agent, answered by it. Deleted when its evaluation ends."""

    evaluation = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="agent_turns")
    task = models.CharField(max_length=200)
    """As planners are asked for it."""
    key = models.CharField(max_length=400)
    """Of the turn: a worker that opens it again gets the answer that it has."""
    request = models.TextField()
    """A `TurnRequest` as JSON."""
    opened_at = models.DateTimeField(auto_now_add=True)
    handed_at = models.DateTimeField(null=True)
    """When the agent last got it; null: it has not."""
    answered_at = models.DateTimeField(null=True)
    response = models.TextField(blank=True)
    """A `TurnResponse` as JSON; empty until it is answered."""
    end = models.TextField(blank=True)
    """The message to the agent at the end of the task, if this was its last turn."""
    end_is_error = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["evaluation", "key"], name="an_agents_turn_is_opened_once"),
            models.CheckConstraint(
                condition=models.Q(answered_at=None, response="")
                | models.Q(answered_at__isnull=False) & ~models.Q(response=""),
                name="an_answered_turn_has_an_answer",
            ),
        ]

    def __str__(self) -> str:
        return self.key


class JobState(models.TextChoices):
    """Where a job is. It only moves forward."""

    WAITING = "waiting", "Waiting"
    RUNNING = "running", "Running"
    DONE = "done", "Done"
    FAILED = "failed", "Failed"


class Job(models.Model):
    """Work for one user. Run at most once, by any web process."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="jobs")
    kind = models.CharField(max_length=20)
    """Name of a `JobKind`."""
    state = models.CharField(max_length=10, choices=JobState, default=JobState.WAITING)
    request = models.TextField()
    """JSON, encrypted: it may hold a secret header. Empty once the job has ended, unless its kind keeps it."""
    result = models.JSONField(null=True)
    """Of a job that is done."""
    problem = models.JSONField(null=True)
    """Why it failed: `status`, `code`, `detail` and perhaps `errors`, as in a problem document."""
    created = models.DateTimeField(default=timezone.now)
    started = models.DateTimeField(null=True)
    finished = models.DateTimeField(null=True)
    deadline = models.DateTimeField()
    """When it fails unless it was started, or has ended, before; by the database's clock, like all times here."""

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(state__in=JobState.values), name="a_job_has_a_known_state"),
            models.CheckConstraint(
                condition=models.Q(state=JobState.DONE, result__isnull=False, finished__isnull=False)
                | (models.Q(result=None) & ~models.Q(state=JobState.DONE)),
                name="a_job_that_is_done_has_a_result",
            ),
            models.CheckConstraint(
                condition=models.Q(state=JobState.FAILED, problem__isnull=False, finished__isnull=False)
                | (models.Q(problem=None) & ~models.Q(state=JobState.FAILED)),
                name="a_job_that_failed_has_a_problem",
            ),
        ]
        indexes = [
            models.Index(
                fields=["kind", "owner"],
                condition=models.Q(state__in=["waiting", "running"]),
                name="jobs_that_have_not_ended",
            ),
            models.Index(fields=["owner", "kind", "created"], name="jobs_by_owner"),
            models.Index(fields=["finished"], name="jobs_that_ended"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"

    @property
    def has_ended(self) -> bool:
        return self.state in {JobState.DONE, JobState.FAILED}
