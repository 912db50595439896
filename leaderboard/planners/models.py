"""Planners: what is evaluated."""

from collections.abc import Mapping
from functools import reduce
from operator import or_

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Lower


class PlannerKind(models.TextChoices):
    """The kinds as rows name them, with their labels. `kinds/` has a module with the rules of each."""

    BUNDLED = "bundled", "Bundled with PlanArena"
    ENDPOINT = "endpoint", "HTTP endpoint"
    A2A = "a2a", "A2A agent"
    CHAT = "chat", "Chat endpoint"
    HUB = "hub", "Hugging Face model"
    CHECKPOINT = "checkpoint", "Uploaded checkpoint"
    ROLES = "roles", "Model for each role"
    PLANS = "plans", "Plans file"
    AGENT = "agent", "Agent over MCP"


NEEDED: Mapping[PlannerKind, tuple[str, ...]] = {
    PlannerKind.BUNDLED: ("bundled_name",),
    PlannerKind.ENDPOINT: ("endpoint_url",),
    PlannerKind.A2A: ("endpoint_url",),
    PlannerKind.CHAT: ("endpoint_url", "model_id", "strategy"),
    PlannerKind.HUB: ("model_id", "revision", "commit", "strategy"),
    PlannerKind.CHECKPOINT: ("checkpoint_digest", "strategy"),
    PlannerKind.ROLES: ("strategy",),
    PlannerKind.PLANS: ("plans_digest",),
    PlannerKind.AGENT: (),
}
"""The text columns that a planner of each kind must have; those of other kinds are empty. PostgreSQL enforces it."""


def is_bundled(kind: str) -> bool:
    """Whether planners of a kind are named among those that come with PlanArena."""
    return "bundled_name" in NEEDED[PlannerKind(kind)]


def _has_what_its_kind_needs() -> models.Q:
    known = sorted({field for fields in NEEDED.values() for field in fields})
    return reduce(or_, (_has_exactly(kind=kind, fields=fields, known=known) for kind, fields in NEEDED.items()))


def _has_exactly(*, kind: PlannerKind, fields: tuple[str, ...], known: list[str]) -> models.Q:
    found = models.Q(kind=kind.value, **{field: "" for field in known if field not in fields})
    for field in fields:
        found &= ~models.Q(**{field: ""})
    return found


class Planner(models.Model):
    """A system that answers requests with plans, entered by one owner under one name."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="planners", db_index=False
    )
    name = models.CharField(max_length=80)
    description = models.TextField(blank=True)
    kind = models.CharField(max_length=20, choices=PlannerKind)
    bundled_name = models.CharField(max_length=100, blank=True)
    """For `bundled`: a name such as `gold` or `controlllm/adaptive` (`evaluator.planners.named` has them all)."""
    endpoint_url = models.URLField(max_length=500, blank=True)
    """For `endpoint`: where one JSON POST per turn goes; for `a2a`: agent or card; for `chat`: the base of the API.
    Shown to the owner only."""
    timeout_seconds = models.PositiveIntegerField(default=30)
    """For the whole of one answer; for `chat`: for one try of one call."""
    model_id = models.CharField(max_length=200, blank=True)
    """For `hub`: `ORG/NAME`; for `chat`: the name by which the endpoint is asked for the model."""
    revision = models.CharField(max_length=200, blank=True)
    """For `hub`: the branch, tag or commit that was asked for."""
    commit = models.CharField(max_length=64, blank=True)
    """For `hub`: the commit that the revision named when the planner was entered. Every evaluation uses this one."""
    checkpoint_digest = models.CharField(max_length=64, blank=True)
    """For `checkpoint`: SHA-256 of the zip."""
    plans_digest = models.CharField(max_length=64, blank=True)
    """For `plans`: digest of a `PlansFile` of the owner's."""
    is_imported = models.BooleanField(default=False, db_default=False)
    """For `plans`: whether the file is a run of another harness."""
    strategy = models.CharField(max_length=500, blank=True)
    """For `hub`, `checkpoint`, `chat` and `roles`: what asks the language model (`evaluator.planners.strategies`), with
    options that are not the default: `arc-experts@samples=1`."""
    roles = models.JSONField(default=dict, blank=True, db_default={})
    """Models of the strategy's roles, by role: the fields of their kinds as entered, without secrets, and `facts` as
    found (`roles.py`)."""
    role_kinds = ArrayField(models.CharField(max_length=20), default=list, blank=True, db_default=[])
    """Kinds of these models, for queries."""
    role_checkpoints = ArrayField(models.CharField(max_length=64), default=list, blank=True, db_default=[])
    """Digests of the checkpoints among them."""
    api = models.CharField(max_length=20, default="auto", db_default="auto")
    """For `chat`: the API (`gpu_jobs.contract.ChatApi`)."""
    reasoning_effort = models.CharField(max_length=20, blank=True, default="", db_default="")
    """For `chat`: sent with every call; empty: the service's default."""
    answer_tokens = models.PositiveIntegerField(null=True, blank=True)
    """For `chat`: limit of an answer in tokens, including reasoning; null: the strategy's."""
    streamed = models.BooleanField(default=False, db_default=False)
    """For `chat`: whether answers are requested as streams."""
    model_name = models.CharField(max_length=200, blank=True)
    """The language model, as boards show it; empty: none or unknown."""
    parameters = models.BigIntegerField(null=True, blank=True)
    """Of the language model; None: unknown."""
    open_weights = models.BooleanField(null=True, blank=True)
    """Whether the language model's weights are public; None: unknown, or no language model."""
    weights_bytes = models.BigIntegerField(null=True, blank=True)
    """Of its safetensors."""
    prompt_price = models.FloatField(null=True, blank=True)
    """US dollars per million prompt tokens, as its owner declares; None: not declared."""
    completion_price = models.FloatField(null=True, blank=True)
    """The same for completion tokens."""
    cached_price = models.FloatField(null=True, blank=True)
    """The same for prompt tokens that the service read from its cache; None: they cost as much as others."""
    licence = models.CharField(max_length=100, blank=True)
    """As its card says."""
    proven = models.BooleanField(default=False, db_default=False)
    """Whether it has answered the tasks of a shard on a worker of the operator's, whatever the answers were worth."""
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint("owner", Lower("name"), name="one_planner_per_owner_and_name"),
            models.CheckConstraint(condition=_has_what_its_kind_needs(), name="a_planner_has_what_its_kind_needs"),
        ]

    def __str__(self) -> str:
        return self.name


class EndpointSecret(models.Model):
    """The header with a secret that a planner's endpoint asks for. `secret_headers.py` alone reads the value."""

    planner = models.OneToOneField(Planner, on_delete=models.CASCADE, related_name="secret")
    name = models.CharField(max_length=100)
    sealed = models.TextField()
    """The value as `encryption.encrypt` leaves it."""
    ending = models.CharField(max_length=4, blank=True)
    """The last characters of the value, for its owner to recognise it; empty if they would reveal too much."""
    updated = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"{self.name} of {self.planner_id}"


class RoleSecret(models.Model):
    """The secret header of an endpoint that is the model of a role. `secret_headers.py` alone reads the value."""

    planner = models.ForeignKey(Planner, on_delete=models.CASCADE, related_name="role_secrets", db_index=False)
    role = models.CharField(max_length=40)
    name = models.CharField(max_length=100)
    sealed = models.TextField()
    """As of `EndpointSecret`."""
    ending = models.CharField(max_length=4, blank=True)
    """The same."""
    updated = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint("planner", "role", name="one_header_per_planner_and_role")]

    def __str__(self) -> str:
        return f"{self.name} of {self.role} of {self.planner_id}"


class PlansFile(models.Model):
    """A plans file that was uploaded. Equal files of one owner are one."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="plans_files", db_index=False
    )
    digest = models.CharField(max_length=64)
    """Of its plans (`evaluator.core.plans_file.PlansFile.digest`)."""
    count = models.PositiveIntegerField()
    """Tasks with a plan."""
    source = models.JSONField(default=dict, blank=True, db_default={})
    """Of an imported run (`evaluator.interop.imports`): what it says about itself. Its tasks without a plan are not
    run. Empty: a plans file, whose missing plans are faults."""
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "digest"], name="one_plans_file_per_owner_and_digest")]

    def __str__(self) -> str:
        return f"{self.digest[:12]} of {self.owner_id}"


class FilePlan(models.Model):
    """What a plans file says of one task."""

    file = models.ForeignKey(PlansFile, on_delete=models.CASCADE, related_name="plans", db_index=False)
    task = models.CharField(max_length=200)
    plan = models.TextField()
    """JSON as it was received, so that not even the order of its keys changes."""
    alternatives = models.TextField(default="[]")
    """A JSON list of the further candidates."""
    usage = models.JSONField(default=dict, blank=True, db_default={})
    """Token counts that an imported run reports, named as in a `PlannerCall`."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["file", "task"], name="one_plan_per_file_and_task")]

    def __str__(self) -> str:
        return f"{self.file_id}: {self.task}"


class CheckpointUpload(models.Model):
    """A checkpoint that somebody uploaded. Its bytes are in a store of their own (`checkpoints.py`)."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="checkpoints", db_index=False
    )
    digest = models.CharField(max_length=64)
    """SHA-256 of the zip."""
    bytes = models.BigIntegerField()
    """Of the zip."""
    architecture = models.CharField(max_length=60)
    parameters = models.BigIntegerField()
    weights_bytes = models.BigIntegerField()
    created = models.DateTimeField(auto_now_add=True)
    wanted_at = models.DateTimeField()
    """When it was last uploaded or submitted. A day later it is deleted unless a planner of its owner uses it."""

    class Meta:
        constraints = [models.UniqueConstraint("owner", "digest", name="one_upload_per_owner_and_digest")]

    def __str__(self) -> str:
        return f"{self.architecture} {self.digest[:12]}"


class WorkerGpu(models.Model):
    """A size of GPUs, or MIG slices, that workers of the site's operators have."""

    memory_bytes = models.BigIntegerField(unique=True)
    seen_at = models.DateTimeField()
    """When a worker last reported one, by the database's clock."""

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(memory_bytes__gt=0), name="a_worker_gpu_has_memory"),
        ]

    def __str__(self) -> str:
        return f"GPU of {self.memory_bytes} bytes"
