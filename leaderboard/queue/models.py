"""Worker logs, tokens and sessions, verifications, agents' turns, and jobs."""

import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone

from leaderboard.evaluations.models import Attempt, Evaluation


class AttemptLog(models.Model):
    """The log of one attempt, and how much of it has arrived."""

    attempt = models.OneToOneField(Attempt, on_delete=models.CASCADE, primary_key=True, related_name="log")
    next_line = models.PositiveIntegerField(default=0)
    """Number of the next expected line; all before it have arrived."""
    size = models.PositiveIntegerField(default=0)
    """Stored characters."""
    cut = models.BooleanField(default=False)
    """Whether lines were dropped because the log was too long."""

    def __str__(self) -> str:
        return f"log of {self.attempt_id}"


class LogChunk(models.Model):
    """Lines of one call. Written once."""

    log = models.ForeignKey(AttemptLog, on_delete=models.CASCADE, related_name="chunks", db_index=False)
    first = models.PositiveIntegerField()
    """Number of the first line."""
    lines = models.JSONField()
    """`[[seconds since 1970, level, text], ...]`"""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["log", "first"], name="lines_come_once")]
        ordering = ["first"]

    def __str__(self) -> str:
        return f"{self.log_id} from {self.first}"


class WorkerToken(models.Model):
    """A worker's enrolment token, which only opens sessions (`WorkerSession`). Its text has 256 random bits; only the
    hash is stored."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="worker_tokens"
    )
    """Null: an operator's token, valid for every evaluation except those on self-hosted workers."""
    name = models.CharField(max_length=80)
    token_hash = models.CharField(max_length=64, unique=True)
    created = models.DateTimeField(auto_now_add=True)
    last_used = models.DateTimeField(null=True)
    """When a worker last requested tasks with it, to the minute."""
    revoked_at = models.DateTimeField(null=True)
    evaluation = models.UUIDField(null=True)
    """The only evaluation that its workers may lease; null: any."""
    suite = models.SlugField(blank=True)
    """The only suite that its workers may lease; empty: any."""
    pool = models.SlugField(blank=True, default="", db_default="")
    """The worker pool whose evaluations its workers may lease; empty: any."""
    expires_at = models.DateTimeField(null=True)
    """After this time it opens no session. Set on tokens that launchers mint; null: valid until revoked."""

    def __str__(self) -> str:
        return self.name


class WorkerSession(models.Model):
    """A short-lived credential that leases shards, opened with an enrolment token. Only its hash is stored."""

    token_hash = models.CharField(max_length=64, unique=True)
    enrolment = models.ForeignKey(WorkerToken, on_delete=models.CASCADE, null=True, related_name="sessions")
    """Null: opened with PLANARENA_WORKER_TOKEN."""
    enrolled_with = models.CharField(max_length=64)
    """Hash of the enrolment token: a session ends when PLANARENA_WORKER_TOKEN changes."""
    evaluation = models.UUIDField(null=True)
    """The only evaluation that the worker requested; null: all that its enrolment covers."""
    suites = models.JSONField(null=True)
    """Slugs of the only suites that the worker requested; null: all that its enrolment covers."""
    created = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"session of {self.enrolment_id or 'PLANARENA_WORKER_TOKEN'} until {self.expires_at}"


class AttemptToken(models.Model):
    """The enrolment token of an attempt's worker. Without one, the attempt was leased with PLANARENA_WORKER_TOKEN."""

    attempt = models.OneToOneField(Attempt, on_delete=models.CASCADE, primary_key=True, related_name="leased_with")
    token = models.ForeignKey(WorkerToken, on_delete=models.PROTECT, related_name="attempts")

    def __str__(self) -> str:
        return f"{self.attempt_id} with {self.token_id}"


class VerificationVerdict(models.TextChoices):
    """Outcome of a verification."""

    OPEN = "open", "Under way"
    AGREES = "agrees", "Agrees"
    DISAGREES = "disagrees", "Does not agree"
    UNDECIDED = "undecided", "Needs more tasks"
    """The owner's scores tend to be better: another verification, of more tasks, has followed."""
    IMPOSSIBLE = "impossible", "Could not be carried out"
    """Tasks could not be run again, through no fault of the planner: nothing was compared."""


class Verification(models.Model):
    """A random sample of the tasks of a self-hosted evaluation, run again by an operator's worker."""

    evaluation = models.OneToOneField(
        Evaluation, on_delete=models.CASCADE, primary_key=True, related_name="verification"
    )
    """The further evaluation that runs the sample; it `verifies` the owner's."""
    tasks = models.JSONField()
    """Keys of the sampled tasks, in the suite's order."""
    ordered_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    """Null for the verification that starts when the evaluation completes."""
    verdict = models.CharField(max_length=20, choices=VerificationVerdict, default=VerificationVerdict.OPEN)
    detail = models.TextField(blank=True)
    """The verdict as a sentence."""
    comparison = models.JSONField(null=True)
    """`{"tasks": [{"task", "finding", "contradicts", "own_outcome", "own_score", "outcome", "score", "samples",
    "differing", "exact", "exact_differing", "step"}], "p_value": float, "rule": {"one_class", "own", "again"} or null}`
    (`comparing.py`); null where nothing was compared. Older ones lack `rule`, `exact`, `exact_differing`, `step`."""
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
    """Marks an evaluation on its owner's self-hosted worker: no other worker leases it, and it is ranked only after a
    verification agrees."""

    evaluation = models.OneToOneField(
        Evaluation, on_delete=models.CASCADE, primary_key=True, related_name="own_worker_run"
    )
    verified_by = models.OneToOneField(Verification, on_delete=models.RESTRICT, null=True, related_name="+")
    """The verification that agreed; once set, the evaluation is ranked."""
    uploaded_bytes = models.BigIntegerField(default=0)
    """Size of the artefacts that its worker added to the store."""
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
    """One turn, opened by a worker and answered by the agent. Deleted when its evaluation ends."""

    evaluation = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="agent_turns", db_index=False)
    task = models.CharField(max_length=200)
    """The task's name in requests to planners."""
    key = models.CharField(max_length=400)
    """Idempotency key: a worker that opens the turn again gets the stored answer."""
    request = models.TextField()
    """A `TurnRequest` as JSON."""
    opened_at = models.DateTimeField(auto_now_add=True)
    handed_at = models.DateTimeField(null=True)
    """When it was last sent to the agent; null: never."""
    answered_at = models.DateTimeField(null=True)
    response = models.TextField(blank=True)
    """A `TurnResponse` as JSON; empty until answered."""
    end = models.TextField(blank=True)
    """Message to the agent at the end of the task, if this was the last turn."""
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
    """State of a job. It only moves forward."""

    WAITING = "waiting", "Waiting"
    RUNNING = "running", "Running"
    DONE = "done", "Done"
    FAILED = "failed", "Failed"


class Job(models.Model):
    """Work for one user. Run at most once, by any web process."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="jobs", db_index=False)
    kind = models.CharField(max_length=20)
    """Name of a `JobKind`."""
    state = models.CharField(max_length=10, choices=JobState, default=JobState.WAITING)
    request = models.TextField()
    """Encrypted JSON, which may hold a secret header. Empty once the job has ended, unless its kind keeps it."""
    result = models.JSONField(null=True)
    problem = models.JSONField(null=True)
    """Why it failed: `status`, `code`, `detail` and optionally `errors`, as in a problem document."""
    created = models.DateTimeField(default=timezone.now)
    started = models.DateTimeField(null=True)
    finished = models.DateTimeField(null=True)
    deadline = models.DateTimeField()
    """When a waiting or running job fails; by the database's clock, like all times here."""

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


class DoctorReport(models.Model):
    """The last report of `planarena doctor` about one class of devices and one profile."""

    device_class = models.CharField(max_length=64)
    """Digest of the properties of the class."""
    profile = models.CharField(max_length=120)
    weights = models.CharField(max_length=120)
    """`own`, or the size of random ones."""
    content = models.JSONField()
    """A `gpu_jobs.contract.DoctorReport`."""
    received = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["device_class", "profile", "weights"], name="one_doctor_report_per_device_class"
            )
        ]

    def __str__(self) -> str:
        return f"{self.profile} on {self.device_class[:12]}"
