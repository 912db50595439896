"""A strategy with a language model whose checkpoint its owner uploaded."""

import re
from collections.abc import Mapping, Sequence

from django import forms

from evaluator.planners.named import samples_replies
from evaluator.planners.strategies.registry import StrategyEntry
from gpu_jobs.contract import CheckpointModel, CheckpointPlanner
from leaderboard.people.models import User
from leaderboard.planners.checkpoints import checkpoint_store, wanted
from leaderboard.planners.data import Errors, PlannerData
from leaderboard.planners.kinds.base import Facts, Kind
from leaderboard.planners.kinds.language_models import (
    OPTIONS,
    ROLES,
    STRATEGY,
    check_understanding,
    check_worker_strategy,
    offer,
    too_large,
    worker_strategies,
)
from leaderboard.planners.models import Planner, PlannerKind
from leaderboard.platform.fields import Text
from leaderboard.platform.problems import FieldErrors

_DIGEST = re.compile(r"[0-9a-f]{64}")

CHECKPOINT_DIGEST = Text(
    "checkpoint_digest",
    label="Or an uploaded checkpoint",
    noun="checkpoint",
    help="The digest of a checkpoint that you uploaded, as `POST checkpoints/` answers.",
    page_help="",
    example="9b27625e462a" + "0" * 52,
    widget=forms.Select,
    template="submissions/kinds/checkpoint.html",
)


class CheckpointKind(Kind):
    """Only the operator's workers and the owner's get the weights."""

    kind = PlannerKind.CHECKPOINT
    role_message = CheckpointModel
    noun = "An uploaded checkpoint"
    choice = "A checkpoint of mine with a strategy"
    card = "For your own weights: a worker loads a zip with safetensors and runs the strategy you choose."
    guide = "a-checkpoint-of-your-own"
    fields = (CHECKPOINT_DIGEST, STRATEGY, OPTIONS, ROLES)
    needs_gpu = True
    loads_model = True
    has_secret = True

    def strategies(self) -> Mapping[str, StrategyEntry]:
        return worker_strategies()

    def fit_form(self, fields: dict[str, forms.Field]) -> None:
        offer(self.strategies(), fields=fields)

    def samples(self, planner: Planner) -> bool:
        return samples_replies(planner.strategy)

    def check(self, data: PlannerData) -> Errors:
        errors = check_worker_strategy(data[STRATEGY])
        if not _DIGEST.fullmatch(data[CHECKPOINT_DIGEST]):
            errors[CHECKPOINT_DIGEST.name] = ["Upload a checkpoint first, and give its digest: 64 hexadecimal digits."]
        return errors

    def check_suites(self, *, data: PlannerData, suites: Sequence[str]) -> Errors:
        return check_understanding(strategy=data[STRATEGY], suites=suites)

    def find_facts(self, *, data: PlannerData, owner: User) -> Facts:
        """The facts that were found when the checkpoint was uploaded.

        Raises:
            FieldErrors: its owner uploaded no such checkpoint, or it is too large for the GPU.
        """
        upload = wanted(owner=owner, digest=data[CHECKPOINT_DIGEST])
        if upload is None:
            sentence = "You uploaded no checkpoint with this digest, or did not submit it within a day: upload it."
            raise FieldErrors({CHECKPOINT_DIGEST.name: [sentence]})
        if problem := too_large(what="The checkpoint", weights_bytes=upload.weights_bytes):
            raise FieldErrors({CHECKPOINT_DIGEST.name: [problem]})
        return Facts(
            model_name=f"{upload.architecture} checkpoint {upload.digest[:8]}",
            parameters=upload.parameters,
            open_weights=False,
            weights_bytes=upload.weights_bytes,
        )

    def lease(self, *, planner: Planner, tasks: Sequence[str]) -> CheckpointPlanner:  # noqa: ARG002 - as the base class
        return CheckpointPlanner(
            digest=planner.checkpoint_digest,
            bytes=checkpoint_store().size(planner.checkpoint_digest),
            strategy=planner.strategy,
        )
