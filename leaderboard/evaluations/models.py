"""Submissions, evaluations and the queue. Every change of state is a compare-and-set in PostgreSQL.

Only `states.py`, which lists the allowed transitions, writes a `state`. The constraints below and the triggers of
migration 0003 refuse impossible states: final states never change, a live attempt holds a leased shard, a leased shard
of a running evaluation has a live attempt, and a ranked submission stays public.
"""

import uuid
from typing import ClassVar, NamedTuple

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import QuerySet, Subquery

from evaluator.core.records import Outcome
from gpu_jobs.contract import Phase
from leaderboard.catalog.models import MeasuringConditions, Suite, Task
from leaderboard.people.models import Team
from leaderboard.planners.models import Planner


class EvaluationReason(models.TextChoices):
    """Machine-readable reason; its label is the sentence, with `{}` fields that `sentence` fills."""

    WAITING = "waiting", "Waiting in the queue."
    STARTING_WORKER = "starting_worker", "A worker is being started."
    WAITING_FOR_WORKER = "waiting_for_worker", "Waiting for a worker to take the first tasks."
    WAITING_FOR_OWN_WORKER = (
        "waiting_for_own_worker",
        "Waiting for the owner's self-hosted worker: run `./planarena worker --url` with this site's address "
        "and a worker token.",
    )
    WAITING_FOR_AGENT = (
        "waiting_for_agent",
        "Waiting for its agent, which takes the tasks at this site's /mcp/ with a token of its owner.",
    )
    LAUNCH_FAILED = "launch_failed", "No worker could be started: {detail} Retrying."
    PROFILE_MISMATCH = (
        "profile_mismatch",
        "A worker refused the tasks: {detail} The operator has to start a worker of the same release.",
    )
    RUNNING = "running", "Workers are running the tasks."
    CANARY = "canary", "The canary task is running; the other tasks follow when the planner has answered it."
    SECOND_CANARY = (
        "second_canary",
        "The canary task ended without a valid response: {detail} A second canary task runs before the others.",
    )
    CANARY_RETRY = (
        "canary_retry",
        "The canary task failed with an infrastructure fault: {detail} It is retried before the others.",
    )
    WORKER_LOST = "worker_lost", "A worker was lost ({detail}); its unfinished tasks go to another worker."
    WORKER_FAILED = "worker_failed", "A worker gave up its tasks ({detail}); they are retried."
    SET_ASIDE = (
        "set_aside",
        "Its time slice ended after {seconds} seconds, and its worker went to other users' tasks. Its remaining "
        "tasks run when a worker is free for slow planners.",
    )
    AGGREGATING = "aggregating", "All tasks have finished; the scores are being computed."
    AGGREGATE_RETRY = "aggregate_retry", "The scores could not be computed ({detail}). Retrying."
    INFRA_FAULTS = (
        "infra_faults",
        "{count} of {total} tasks failed with infrastructure faults. Resume them, or accept them as faults "
        "of the planner; until then the evaluation is not ranked.",
    )
    PLANNER_UNAVAILABLE = (
        "planner_unavailable",
        "The planner is not available: {detail} {count} of {total} tasks have no score. Resume them when it answers "
        "again; one task is asked first. Or accept them as faults of the planner; until then the evaluation is "
        "not ranked.",
    )
    WORKERS_LOST = (
        "workers_lost",
        "{count} of {total} tasks have no score, because their workers were lost: {detail} Resume them, or accept them "
        "as faults of the planner; until then the evaluation is not ranked.",
    )
    RESUMED = "resumed", "{count} tasks were resumed by {who}."
    ACCEPTED = "accepted", "{count} tasks were accepted as faults of the planner by {who}."
    PUBLISHED = "published", "Completed and published."
    NOT_PUBLIC = "not_public", "Completed. It is not public, so no board shows it."
    INCOMPLETE = (
        "incomplete",
        "Completed. Not ranked, because {count} of {total} tasks have no stored plan: a board compares means over the "
        "same tasks.",
    )
    LOCK_NOT_SIGNED = (
        "lock_not_signed",
        "Completed. Not ranked, because no operator vouches for the checkpoints of the profile {profile}: {detail}. "
        "An operator signs the lock file with `planarena profiles sign {profile}` and runs `manage accept_lock` here.",
    )
    NOT_VERIFIED = (
        "not_verified",
        "Completed on the owner's self-hosted worker. Not ranked, because this site has not verified the results.",
    )
    AWAITING_VERIFICATION = (
        "awaiting_verification",
        "Completed on the owner's self-hosted worker. A worker of this site repeats {count} tasks; the evaluation is "
        "ranked if the results agree.",
    )
    VERIFIED = ("verified", "Completed on the owner's self-hosted worker and verified: {detail}")
    VERIFICATION_FAILED = (
        "verification_failed",
        "Completed on the owner's self-hosted worker. Not ranked, because the verification contradicts it: {detail}",
    )
    NOT_VERIFIABLE = (
        "not_verifiable",
        "Completed on the owner's self-hosted worker. Not ranked, because it could not be verified: {detail} The "
        "owner can request verification again.",
    )
    RUN_AGAIN = "run_again", "The sampled tasks were repeated."
    NOT_RUN_AGAIN = (
        "not_run_again",
        "{count} of {total} tasks could not be repeated because of infrastructure faults: {detail}",
    )
    MEMBER_MEASURED = "member_measured", "Completed as part of a reliability profile. No board shows it."
    ASKED_AGAIN = (
        "asked_again",
        "All tasks have finished. The planner is asked again for {count} of them, drawn at random, to measure how much "
        "it varies. The scores follow.",
    )
    FURTHER_RUN = "further_run", "Completed as a further run of another evaluation. No board shows it."
    CANCELLED_BY_OWNER = "cancelled_by_owner", "Cancelled by {who}."
    CANCELLED_TOO = "cancelled_too", "Cancelled with the evaluation of which it is a further run."
    ABANDONED = "abandoned", "Cancelled: its owner did not resume or accept its failed tasks within {days} days."
    NO_WORKER = "no_worker", "Failed: no worker took its tasks within {hours} hours. Please submit again."
    OTHER_RULES = (
        "other_rules",
        "Failed: the site was upgraded, and its new release asks or scores otherwise than the one under which part of "
        "the tasks were measured. Please submit again.",
    )
    STALLED = "stalled", "Failed: no task ended within {hours} hours. Please submit again."
    CANARY_FAILED = (
        "canary_failed",
        "Failed: the planner answered neither canary task, so the others were not run. {detail} Correct the "
        "planner and submit again.",
    )
    CANARY_ENDED_WORKERS = (
        "canary_ended_workers",
        "Failed: the planner crashed or hung its worker on both canary tasks, so the others were not run. {detail} "
        "Correct the planner and submit again.",
    )
    AGGREGATE_FAILED = "aggregate_failed", "Failed: its scores could not be computed. The operators have been notified."


def sentence(reason: EvaluationReason, **facts: object) -> str:
    """The reason as a sentence for the submitter.

    Raises:
        KeyError: a fact that the sentence needs is missing.
    """
    return str(reason.label).format(**facts)


class SubmitterPriority(models.IntegerChoices):
    """The order of a submitter's own evaluations. Does not affect other users."""

    LOW = -1, "Low"
    NORMAL = 0, "Normal"
    HIGH = 1, "High"


class Visibility(models.TextChoices):
    """Who sees a submission and its evaluations (`visibility.py`)."""

    PUBLIC = "public", "Public"
    EMBARGO = "embargo", "Embargo"
    """Private until a date, then public."""
    PRIVATE = "private", "Private"
    """Visible to users who may act on it, and to staff."""


class AskedAgain(models.TextChoices):
    """For how many of its tasks a planner is asked again (`queue/further_runs.py`)."""

    TENTH = "tenth", "A tenth of the tasks"
    HALF = "half", "Half of the tasks"
    ALL = "all", "All tasks"

    @property
    def share(self) -> float:
        """Share of the tasks."""
        return {"tenth": 0.1, "half": 0.5, "all": 1.0}[self.value]

    @property
    def charged(self) -> int:
        """As how many evaluations one is charged: one covers two further runs of a tenth."""
        return {"tenth": 1, "half": 2, "all": 3}[self.value]


class Submission(models.Model):
    """A planner entered for one or more suites at one moment."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    planner = models.ForeignKey(Planner, on_delete=models.PROTECT, related_name="submissions")
    submitted_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="submissions")
    created = models.DateTimeField(auto_now_add=True)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, related_name="submissions")
    """Charged as well; its members may act on the submission like the submitter."""
    priority = models.SmallIntegerField(choices=SubmitterPriority, default=SubmitterPriority.NORMAL)
    """Relative to the submitter's other evaluations; operators set `Evaluation.priority`."""
    rerun_of = models.ForeignKey("Evaluation", on_delete=models.PROTECT, null=True, related_name="reruns")
    """The evaluation that this submission reruns: final states never change, so a rerun is a new submission."""
    is_regrade = models.BooleanField(default=False, db_default=False)
    """Whether the stored plans of `rerun_of` are scored again and its planner is not asked."""
    visibility = models.CharField(max_length=10, choices=Visibility, default=Visibility.PUBLIC)
    version = models.CharField(max_length=80, blank=True, default="", db_default="")
    """The submitter's name for the version of the planner, such as a commit. Versions of one planner are one family."""
    embargo_until = models.DateTimeField(null=True)
    """When the embargo ends; null without one."""
    deterministic = models.BooleanField(default=False, db_default=False)
    """Whether the submitter declares that the planner answers the same request alike in every run. It is checked."""
    asked_again = models.CharField(
        max_length=10, choices=AskedAgain, default=AskedAgain.TENTH, db_default=AskedAgain.TENTH.value
    )
    """For how many tasks of each evaluation the planner is asked again, unless it is deterministic and this is the
    usual tenth."""
    public_since = models.DateTimeField(null=True)
    """When it became public; null if it was public from the start, or is not public yet."""

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(visibility__in=Visibility.values), name="a_submission_has_a_known_visibility"
            ),
            models.CheckConstraint(
                condition=models.Q(visibility="embargo", embargo_until__isnull=False)
                | ~models.Q(visibility="embargo") & models.Q(embargo_until=None),
                name="an_embargo_and_nothing_else_has_an_end",
            ),
            models.CheckConstraint(
                condition=models.Q(is_regrade=False) | models.Q(rerun_of__isnull=False),
                name="a_regrade_has_an_original",
            ),
            models.CheckConstraint(
                condition=models.Q(asked_again__in=AskedAgain.values),
                name="a_submission_is_asked_again_for_a_known_share",
            ),
        ]
        indexes = [
            models.Index(fields=["embargo_until"], condition=models.Q(visibility="embargo"), name="embargoes_by_end")
        ]

    def __str__(self) -> str:
        return str(self.id)


class IdempotencyKey(models.Model):
    """The idempotency key of a request to submit, and the submission that it created (`submissions/pending.py`)."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="idempotency_keys", db_index=False
    )
    key = models.CharField(max_length=255)
    digest = models.CharField(max_length=64)
    """Digest of the request, to recognise a repetition."""
    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, null=True)
    """Null only within the transaction that creates it."""
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="one_request_per_user_and_key")]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.key}"


class EvaluationState(models.TextChoices):
    """State of an evaluation. The last three are final."""

    QUEUED = "queued", "Queued"
    LAUNCHING = "launching", "Launching"
    RUNNING = "running", "Running"
    AGGREGATING = "aggregating", "Aggregating"
    ON_HOLD = "on_hold", "On hold"
    """Some tasks are `infra_fault`: the owner resumes them or accepts them as `planner_fault`."""
    COMPLETED = "completed", "Completed"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


class SubmittedEvaluations(models.Manager["Evaluation"]):
    """Evaluations that were submitted, for lists and boards.

    All other rows belong to one of these: verifications, further runs, and members of reliability profiles. They run
    some or all of its tasks and are reached only from its pages.
    """

    def get_queryset(self) -> models.QuerySet["Evaluation"]:
        return super().get_queryset().filter(verifies=None, member_of=None)


class Evaluation(MeasuringConditions):
    """A submission on one suite, under its conditions."""

    objects = SubmittedEvaluations()
    """The default, also for `submission.evaluations`, so that lists need not exclude other rows."""
    runs: ClassVar[models.Manager["Evaluation"]] = models.Manager()
    """All rows, including verifications and members: for the queue and for lookups by id."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    verifies = models.ForeignKey("self", on_delete=models.CASCADE, null=True, related_name="+")
    """The evaluation of which this one repeats a sample of tasks (`queue/verification.py`), if any."""
    member_of = models.ForeignKey("self", on_delete=models.CASCADE, null=True, related_name="+")
    """The evaluation to whose reliability profile this one belongs (`reliability`), or of which it is a further run on
    drawn tasks (`queue/further_runs.py`), if any."""
    is_further_run = models.BooleanField(default=False, db_default=False)
    """Whether a member is a further run on drawn tasks, which the evaluation waits for; False: of a profile."""
    perturbation = models.CharField(max_length=40, blank=True, default="", db_default="")
    """The perturbation of a member's requests (`evaluator.reliability.perturbations`); empty for unchanged requests."""
    repetition = models.PositiveSmallIntegerField(default=1, db_default=1)
    """Number of a member's run on these requests. The evaluation itself is the first run on unchanged requests."""
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="evaluations")
    suite = models.ForeignKey(Suite, on_delete=models.PROTECT, related_name="evaluations")
    state = models.CharField(max_length=20, choices=EvaluationState, default=EvaluationState.QUEUED)
    attempt = models.PositiveIntegerField(default=1)
    """The fence: incremented when the owner resumes or accepts, which returns to earlier states. A transition compares
    it with the value that was read."""
    state_since = models.DateTimeField()
    state_deadline = models.DateTimeField(null=True)
    """When the reconciler must act on this state; null for final states."""
    reason = models.CharField(max_length=40, blank=True)
    """Machine-readable reason for the current state (`EvaluationReason`)."""
    reason_text = models.TextField(blank=True)
    """The reason as a sentence for the submitter."""
    launch_handle = models.CharField(max_length=200, blank=True)
    """The launcher's handle of the worker that it started."""
    priority = models.SmallIntegerField(default=0)
    """Set by the operator; higher values go first among evaluations whose users have equal shares."""
    leasable_shards = models.PositiveIntegerField(null=True)
    """Number of the first shards that workers may lease while the canary runs; null: all."""
    canaries_from = models.PositiveIntegerField(default=0, db_default=0)
    """Number of the first canary shard; greater than 0 if a resumed evaluation has a new canary."""

    times_set_aside = models.PositiveIntegerField(default=0, db_default=0)
    """How often an attempt released its worker at the end of its time slice (`queue/leasing/time_slices.py`)."""
    set_aside_at = models.DateTimeField(null=True)
    """When an attempt last did so."""
    tasks_total = models.PositiveIntegerField(default=0)
    tasks_not_run = models.PositiveIntegerField(default=0)
    """Tasks without expert, data or goal under these conditions: coverage is (total - not_run) of total."""
    tasks_missing = models.PositiveIntegerField(default=0, db_default=0)
    """Of `tasks_not_run`, those that could run but whose stored run has no plan. With any, no board ranks it: a mean
    over other tasks cannot be compared."""
    provenance = models.JSONField(default=dict)
    summary = models.JSONField(null=True)
    """`evaluator.scoring.metrics.aggregate` over the results: `{"metrics": {key: {"mean", "low", "high", "tasks"}},
    "outcomes": {outcome: count}}`, `usage` as returned by `usage_of`, and `reading`, a
    `evaluator.scoring.readability.Reading` as JSON, which older ones lack."""
    causes_outdated_since = models.DateTimeField(null=True)
    """When gold scores arrived in a process that could not find causes of hidden data, so that the causes of the
    results are outdated. `find_causes` updates them in the web process's environment. Null: up to date."""
    created = models.DateTimeField(auto_now_add=True)
    finished = models.DateTimeField(null=True)
    first_ranked = models.DateTimeField(null=True)
    """When it first appeared in a snapshot. Snapshots are never rewritten, so it cannot become private any more."""
    hidden_at = models.DateTimeField(null=True)
    """When an operator removed it from the boards; null if visible."""
    hidden_reason = models.CharField(max_length=400, blank=True)
    """Why it was removed, as a sentence on its public page."""

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(hidden_at=None, hidden_reason="")
                | models.Q(hidden_at__isnull=False) & ~models.Q(hidden_reason=""),
                name="what_is_hidden_has_a_reason",
            ),
            models.UniqueConstraint(
                fields=["submission", "suite"],
                condition=models.Q(verifies=None, member_of=None),
                name="one_evaluation_per_submission_and_suite",
            ),
            models.UniqueConstraint(
                fields=["verifies"],
                condition=~models.Q(state__in=["completed", "failed", "cancelled"]),
                name="one_verification_at_a_time",
            ),
            models.UniqueConstraint(
                fields=["member_of", "is_further_run", "perturbation", "repetition"],
                condition=~models.Q(state__in=["failed", "cancelled"]),
                name="one_member_for_each_kind_and_condition",
            ),
            models.CheckConstraint(
                condition=models.Q(member_of__isnull=False, verifies=None) | models.Q(perturbation="", repetition=1),
                name="only_members_are_perturbed_or_repeated",
            ),
            models.CheckConstraint(
                condition=models.Q(is_further_run=False) | models.Q(member_of__isnull=False, perturbation=""),
                name="further_runs_are_unperturbed_members",
            ),
            models.CheckConstraint(
                condition=~models.Q(state="completed") | models.Q(summary__isnull=False),
                name="a_completed_evaluation_has_a_summary",
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=EvaluationState.values), name="an_evaluation_has_a_known_state"
            ),
            models.CheckConstraint(
                condition=models.Q(reason__in=["", *EvaluationReason.values]), name="an_evaluation_has_a_known_reason"
            ),
        ]
        indexes = [
            # Without the deadline, which changes with each result: PostgreSQL then need not update any index (HOT).
            models.Index(fields=["state"], name="evaluations_by_state"),
            models.Index(fields=["-created", "-id"], name="evaluations_by_time"),
            models.Index(
                fields=["set_aside_at"], condition=models.Q(set_aside_at__isnull=False), name="evaluations_set_aside"
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def is_submitted(self) -> bool:
        """Whether it is one of `objects`."""
        return self.verifies_id is None and self.member_of_id is None

    @property
    def verifications(self) -> models.QuerySet["Evaluation"]:
        """The runs that verify it, the oldest first."""
        return Evaluation.runs.filter(verifies=self).order_by("created", "pk")

    @property
    def members(self) -> models.QuerySet["Evaluation"]:
        """The runs that its reliability profile is measured from, the oldest first."""
        return Evaluation.runs.filter(member_of=self, is_further_run=False).order_by("created", "pk")

    @property
    def further_runs(self) -> models.QuerySet["Evaluation"]:
        """Its further runs on drawn tasks, in the order of their numbers."""
        return Evaluation.runs.filter(member_of=self, is_further_run=True).order_by("repetition", "created", "pk")

    def in_words(self) -> str:
        """The planner and the suite in words."""
        return f"{self.submission.planner.name} on {self.suite.title}"


class ShardState(models.TextChoices):
    """State of a shard."""

    PENDING = "pending", "Pending"
    LEASED = "leased", "Leased"
    DONE = "done", "Done"


class Shard(models.Model):
    """Some tasks of an evaluation, leased to one worker at a time."""

    evaluation = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="shards", db_index=False)
    number = models.PositiveIntegerField()
    task_keys = models.JSONField()
    state = models.CharField(max_length=20, choices=ShardState, default=ShardState.PENDING)
    tries = models.PositiveIntegerField(default=0)
    available_at = models.DateTimeField()
    """Earliest time of the next lease; backs off each time a worker gives up the shard."""

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["evaluation", "number"], name="shards_are_numbered"),
            models.CheckConstraint(condition=models.Q(state__in=ShardState.values), name="a_shard_has_a_known_state"),
        ]
        indexes = [models.Index(fields=["state", "evaluation"])]

    def __str__(self) -> str:
        return f"{self.evaluation_id}/{self.number}"


class AttemptState(models.TextChoices):
    """State of an attempt at a shard. All except `live` are final."""

    LIVE = "live", "Live"
    COMPLETED = "completed", "Completed"
    LOST = "lost", "Lost"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


class Loss(models.TextChoices):
    """How an attempt was lost."""

    ENDED = "ended", "The worker's process ended"
    SILENT = "silent", "No heartbeat came any more"
    STALLED = "stalled", "There was no progress until the deadline, whatever the heartbeats said"
    DISRUPTED = "disrupted", "The cluster took the worker away, or other workers were lost at the same time"
    TAKEN = "taken", "Somebody took the tasks away"


ATTRIBUTABLE = frozenset({Loss.ENDED, Loss.SILENT, Loss.STALLED})
"""Losses that the tasks themselves may have caused."""

OWN_WORKER = "own:"
"""Prefix of the names of self-hosted workers, so that none can impersonate a worker of the site's launcher."""


class Attempt(models.Model):
    """One attempt at a shard: the lease. Its token is valid only for this shard and until the attempt ends."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    shard = models.ForeignKey(Shard, on_delete=models.CASCADE, related_name="attempts", db_index=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+", db_index=False
    )
    """The evaluation's submitter, denormalised because each lease sums up the usage of all users."""
    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    """The evaluation's team, for the same reason."""
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=20, choices=AttemptState, default=AttemptState.LIVE)
    worker = models.CharField(max_length=120)
    pool = ArrayField(models.CharField(max_length=100), default=list, db_default=[])
    """Suites whose evaluations its worker may lease, `*` for all, or `@` and its pool's name; empty for a worker that
    serves a single evaluation or user."""
    token_hash = models.CharField(max_length=64)
    leased_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    """End of the lease, extended by each heartbeat."""
    phase = models.CharField(max_length=20, default=Phase.PREPARING, db_default=Phase.PREPARING.value)
    """The last phase reported by the worker; an attempt never returns to an earlier phase."""
    allowances = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()))
    """Seconds that each phase may last without a new result (`deadlines.py`); set with the lease."""
    stalls_at = models.DateTimeField(null=True)
    """Deadline for progress, extended by new results and new phases but not by heartbeats. Null: no limit."""
    ended_at = models.DateTimeField(null=True)
    reason = models.TextField(blank=True)
    loss = models.CharField(max_length=20, choices=Loss, blank=True, db_default="")
    """Set for lost attempts."""

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["shard", "number"], name="attempts_are_numbered"),
            models.UniqueConstraint(fields=["token_hash"], name="a_token_is_good_for_one_attempt"),
            models.UniqueConstraint(
                fields=["shard"], condition=models.Q(state="live"), name="one_live_attempt_per_shard"
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=AttemptState.values), name="an_attempt_has_a_known_state"
            ),
        ]
        indexes = [
            models.Index(fields=["leased_at"], include=["user", "team"], name="leases_by_time_and_whose"),
            models.Index(fields=["user", "team"], condition=models.Q(state="live"), name="live_leases_by_whose"),
        ]

    def __str__(self) -> str:
        return f"{self.shard}#{self.number}"

    @property
    def is_by_own_worker(self) -> bool:
        """Whether a self-hosted worker holds it, whose data is not trusted."""
        return self.worker.startswith(OWN_WORKER)


class TaskResult(models.Model):
    """The result of one task. The whole record is an object in the store, named by `record_digest`."""

    evaluation = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="results", db_index=False)
    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="results")
    outcome = models.CharField(max_length=20)
    """`evaluator.core.records.Outcome`."""
    reason = models.CharField(max_length=60, blank=True)
    reason_text = models.TextField(blank=True)
    score = models.FloatField(null=True)
    """The task's metric, averaged over its samples; null if nothing was measured."""
    sample_scores = ArrayField(models.FloatField(), default=list, db_default=[])
    """The score of each sample, in order; empty for plans that were judged or not executed."""
    indicators = models.JSONField(default=dict, blank=True)
    """Indicators of the plan or of its answers, in [0, 1]; empty without a plan to judge."""
    sample_indicators = models.JSONField(default=dict, db_default={}, blank=True)
    """Values of the indicators that differ between samples, in order, by name."""
    episodes = models.JSONField(default=dict, db_default={}, blank=True)
    """`EpisodeSummary` for suites in turns; empty for others."""
    causes = models.JSONField(null=True)
    """Findings of `evaluator.scoring.causes` as JSON: why the task is below the gold score. Empty at the gold score,
    and for tasks that never ran. Null: not known yet."""
    reading = models.JSONField(default=list, db_default=[], blank=True)
    """Keys of the envelopes and dialects that the reader tolerated (`evaluator.scoring.readability.keys_of`)."""
    seconds = models.FloatField(default=0.0)
    planning_seconds = models.FloatField(null=True)
    """The planner's response time; null if it was not called."""
    prompt_tokens = models.PositiveIntegerField(null=True)
    """As reported by the planner."""
    completion_tokens = models.PositiveIntegerField(null=True)
    cached_tokens = models.PositiveIntegerField(null=True)
    """Those of the prompt that were read from a cache; null if none are reported."""
    role_usage = models.JSONField(default=dict, db_default={}, blank=True)
    """Calls, seconds and tokens by role of the planner's strategy (`RoleUsage`); empty without roles."""
    plan_summary = models.CharField(max_length=400, blank=True)
    """Tool names in order, for the table."""
    record_digest = models.CharField(max_length=64, blank=True)
    attempt = models.ForeignKey(Attempt, on_delete=models.SET_NULL, null=True, related_name="results")
    accepted = models.BooleanField(default=False)
    """The owner accepted an `infra_fault` as `planner_fault`."""
    updated = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["evaluation", "task"], name="one_result_per_evaluation_and_task"),
            models.CheckConstraint(
                condition=models.Q(outcome__in=["scored", "planner_fault"]) | models.Q(score__isnull=True),
                name="only_scored_and_planner_fault_have_a_score",
            ),
            models.CheckConstraint(
                condition=models.Q(outcome__in=[outcome.value for outcome in Outcome]),
                name="a_result_has_a_known_outcome",
            ),
        ]
        indexes = [models.Index(fields=["evaluation", "outcome"])]

    def __str__(self) -> str:
        return f"{self.evaluation_id}/{self.task_id}: {self.outcome}"


class Conditions(NamedTuple):
    """The conditions that evaluations on one board of a suite share."""

    profile_digest: str
    split: str
    samples: int
    data_digest: str
    device_class: str = ""


def conditions_of_board(of: MeasuringConditions) -> Conditions:
    """The conditions of the board of an evaluation or a snapshot."""
    return Conditions(of.profile_digest, of.split, of.samples, of.data_digest, of.device_class)


def lock_board(slug: str) -> None:
    """Lock a suite against `publish` until the end of the transaction. Callers lock several suites in the order of
    their slugs."""
    _first_version(slug).select_for_update(no_key=True).get()


def lock_for_publishing(slug: str) -> bool:
    """Lock a suite for `publish` until the end of the transaction; False if it is already locked."""
    return _first_version(slug).select_for_update(no_key=True, skip_locked=True).first() is not None


def _first_version(slug: str) -> QuerySet[Suite]:
    """The version of the suite whose row serves as the lock of all versions, which share one sequence of snapshots.

    Submissions, which only refer to a suite, do not wait for this lock.
    """
    return Suite.objects.filter(pk=Subquery(Suite.objects.filter(slug=slug).order_by("pk").values("pk")[:1]))
