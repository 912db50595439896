"""Planners that come with PlanArena: anchors, and strategies that need only shipped models."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from django import forms

from evaluator.planners.language_models.shipped import shipped_folder, shipped_modules, shipped_names
from evaluator.planners.named import OfflinePlanner, offline_planners, samples_replies
from evaluator.planners.strategies.registry import split_name, split_roles, strategies
from evaluator.sandbox.admission.safetensors_headers import file_header
from gpu_jobs.contract import BundledModel, BundledPlanner
from leaderboard.people.models import User
from leaderboard.planners.data import Errors, PlannerData
from leaderboard.planners.kinds.base import Facts, Kind
from leaderboard.planners.kinds.language_models import MODEL_ID
from leaderboard.planners.models import Planner, PlannerKind
from leaderboard.platform.fields import Choice, Field

BUNDLED_PLANNERS: Mapping[str, str] = {name: planner.description for name, planner in offline_planners().items()}
"""Descriptions of the bundled planners by name."""


def _label(planner: OfflinePlanner) -> str:
    where = f" For {', '.join(planner.suites)}." if planner.suites else ""
    if planner.lacking and not planner.suites:
        where = f" Not for {', '.join(planner.lacking)}, which have none."
    return f"{planner.name}: {planner.description}{where}"


BUNDLED_NAME = Choice(
    "bundled_name",
    label="Planner",
    noun="bundled planner",
    help=f"One of {', '.join(BUNDLED_PLANNERS)}.",
    page_help="",
    example="gold",
    choices=[(name, _label(planner)) for name, planner in offline_planners().items()],
    widget=forms.RadioSelect,
    template="submissions/kinds/bundled.html",
)


class BundledKind(Kind):
    """Needs no canary: it is part of this release, always reachable, and follows the protocol."""

    kind = PlannerKind.BUNDLED
    role_message = BundledModel
    role_noun = "A bundled model"
    noun = "A bundled planner"
    choice = "A planner that comes with PlanArena"
    card = "For a first try: an anchor of every board, or a strategy with the bundled language model."
    guide = "how-it-runs"
    fields = (BUNDLED_NAME,)
    has_canary = False
    repeatable = True

    def samples(self, planner: Planner) -> bool:
        # The model of a role has no such name.
        return samples_replies(planner.bundled_name or planner.strategy)

    def check(self, data: PlannerData) -> Errors:
        if data[BUNDLED_NAME] in BUNDLED_PLANNERS:
            return {}
        return {BUNDLED_NAME.name: [f"Choose one of {', '.join(BUNDLED_PLANNERS)}."]}

    @property
    def role_fields(self) -> tuple[Field[Any], ...]:
        return (MODEL_ID,)

    def check_role(self, data: PlannerData) -> Errors:
        known = (*shipped_names(), *shipped_modules())
        return {} if data[MODEL_ID] in known else {MODEL_ID.name: [f"Choose one of {', '.join(known)}."]}

    def find_role_facts(self, *, data: PlannerData, owner: User) -> Facts:  # noqa: ARG002 - open to everyone
        return _facts_of_shipped(data[MODEL_ID])

    def lease_role(self, planner: Planner) -> BundledModel:
        return BundledModel(name=planner.model_id)

    def check_suites(self, *, data: PlannerData, suites: Sequence[str]) -> Errors:
        planner = offline_planners().get(data[BUNDLED_NAME])
        foreign = [slug for slug in suites if planner is not None and not planner.understands(slug)]
        if planner is None or not foreign:
            return {}
        if foreign[0] in planner.lacking:
            return {"suites": [f"{planner.name} answers with gold plans, and {foreign[0]} has none."]}
        made_for = ", ".join(planner.suites)
        return {"suites": [f"{planner.name} does not support requests of {foreign[0]}; it is made for {made_for}."]}

    def find_facts(self, *, data: PlannerData, owner: User) -> Facts:  # noqa: ARG002 - open to everyone
        """Facts about a shipped language model, read from its weights."""
        name = data[BUNDLED_NAME]
        entry = strategies().get(split_name(name)[0])
        model, roles = split_roles(name, roles=entry.role_names if entry else ())
        return _facts_of_shipped(model, *roles.values()) if model else Facts()

    def lease(self, *, planner: Planner, tasks: Sequence[str]) -> BundledPlanner:  # noqa: ARG002 - as the base class
        return BundledPlanner(name=planner.bundled_name)


@cache
def _facts_of_shipped(*models: str) -> Facts:
    """Facts of a model together with the models of its roles."""
    files = [shipped_folder(model) / "model.safetensors" for model in models]
    return Facts(
        model_name=models[0], parameters=sum(file_header(file).parameters for file in files), open_weights=True,
        weights_bytes=sum(file.stat().st_size for file in files),
    )  # fmt: skip
