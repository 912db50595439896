"""A strategy with a language model of a model hub, pinned to the commit that its revision names on submission."""

from collections.abc import Mapping, Sequence

from django import forms
from django.conf import settings

from evaluator.planners.named import samples_replies
from evaluator.planners.strategies.registry import StrategyEntry
from evaluator.sandbox.admission.rules import ModelRefusedError
from gpu_jobs.contract import HubModel, HubPlanner
from leaderboard.catalog.library import TryLaterError
from leaderboard.people.models import User
from leaderboard.planners.data import Errors, PlannerData
from leaderboard.planners.kinds.base import Facts, Kind
from leaderboard.planners.kinds.language_models import (
    MODEL_ID,
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
from leaderboard.platform.database import give_connection_back
from leaderboard.platform.fields import Text
from leaderboard.platform.problems import FieldErrors

DEFAULT_REVISION = "main"
REVISION = Text(
    "revision",
    label="Revision",
    noun="revision",
    help=f"A branch, tag or commit; {DEFAULT_REVISION} if omitted. The evaluation uses its current commit, even if the "
    "branch later moves.",
    example=DEFAULT_REVISION,
    attributes={"placeholder": DEFAULT_REVISION, "autocapitalize": "none"},
)


class HubUnreachableError(TryLaterError):
    """The hub does not answer at present. The reason contains no secret and is shown to everyone."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.for_people = message


class HubKind(Kind):
    """The model's metadata is checked before anything is saved; workers download the pinned commit."""

    kind = PlannerKind.HUB
    role_message = HubModel
    noun = "A Hugging Face model"
    choice = "A Hugging Face model with a strategy"
    card = "For a public language model: a worker loads the current commit and runs the strategy you choose."
    guide = "a-hugging-face-model"
    fields = (MODEL_ID, REVISION, STRATEGY, OPTIONS, ROLES)
    needs_network = True
    needs_gpu = True
    loads_model = True
    asks_others = True

    def strategies(self) -> Mapping[str, StrategyEntry]:
        return worker_strategies()

    def fit_form(self, fields: dict[str, forms.Field]) -> None:
        fields[MODEL_ID.name].help_text = "ORG/NAME of a public model with safetensors."
        offer(self.strategies(), fields=fields)

    def samples(self, planner: Planner) -> bool:
        return samples_replies(planner.strategy)

    def check(self, data: PlannerData) -> Errors:
        # Only patterns: sends no request to the hub.
        from evaluator.sandbox.admission.hub_lookup import check_names

        errors = check_worker_strategy(data[STRATEGY])
        if not data[MODEL_ID]:
            return {**errors, MODEL_ID.name: ["Enter the model as ORG/NAME, as on its page on the hub."]}
        try:
            check_names(model_id=data[MODEL_ID], revision=DEFAULT_REVISION)
        except ModelRefusedError as error:
            return {**errors, MODEL_ID.name: [str(error)]}
        try:
            check_names(model_id=data[MODEL_ID], revision=data[REVISION] or DEFAULT_REVISION)
        except ModelRefusedError as error:
            errors[REVISION.name] = [str(error)]
        return errors

    def check_suites(self, *, data: PlannerData, suites: Sequence[str]) -> Errors:
        return check_understanding(strategy=data[STRATEGY], suites=suites)

    def find_facts(self, *, data: PlannerData, owner: User) -> Facts:  # noqa: ARG002 - the model is public
        """Look the model up on the hub.

        Raises:
            FieldErrors: there is no such model, or it cannot be evaluated here.
            HubUnreachableError: the hub does not answer; a later try may succeed.
        """
        from evaluator.sandbox.admission.hub_lookup import HubAwayError, look_up

        revision = data[REVISION] or DEFAULT_REVISION
        give_connection_back()
        try:
            found = look_up(
                model_id=data[MODEL_ID], revision=revision, hub=settings.HUB_URL, allow_private=settings.DEMO
            )
        except ModelRefusedError as error:
            raise FieldErrors({MODEL_ID.name: [str(error)]}) from None
        except HubAwayError as error:
            raise HubUnreachableError(str(error)) from None
        if problem := too_large(what=data[MODEL_ID], weights_bytes=found.weights_bytes):
            raise FieldErrors({MODEL_ID.name: [problem]})
        return Facts(
            model_name=data[MODEL_ID],
            parameters=found.parameters,
            open_weights=True,
            weights_bytes=found.weights_bytes,
            licence=found.licence,
            revision=revision,
            commit=found.commit,
        )

    def lease(self, *, planner: Planner, tasks: Sequence[str]) -> HubPlanner:  # noqa: ARG002 - as the base class
        return HubPlanner(model_id=planner.model_id, commit=planner.commit, strategy=planner.strategy)
