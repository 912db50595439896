"""Planners that come with PlanArena: anchors, and strategies that need nothing that is not shipped."""

from collections.abc import Mapping, Sequence
from functools import cache

from django import forms

from evaluator.planners.language_models.admission.safetensors_headers import file_header
from evaluator.planners.language_models.shipped import shipped_folder
from evaluator.planners.offline import OfflinePlanner, offline_planners
from gpu_jobs.contract.lease import BundledPlanner
from leaderboard.accounts.models import User
from leaderboard.planners.data import Errors, PlannerData
from leaderboard.planners.fields import Choice
from leaderboard.planners.kinds.base import Facts, Kind
from leaderboard.planners.models import Planner, PlannerKind

BUNDLED_PLANNERS: Mapping[str, str] = {name: planner.description for name, planner in offline_planners().items()}
"""Descriptions of the bundled planners by name."""


def _label(planner: OfflinePlanner) -> str:
    return f"{planner.name}: {planner.description}" + (f" For {', '.join(planner.suites)}." if planner.suites else "")


BUNDLED_NAME = Choice(
    "bundled_name",
    label="Planner",
    noun="bundled planner",
    help=f"One of {', '.join(BUNDLED_PLANNERS)}.",
    page_help="",
    example="gold",
    choices=[(name, _label(planner)) for name, planner in offline_planners().items()],
    widget=forms.RadioSelect,
    template="planners/kinds/bundled.html",
)


class BundledKind(Kind):
    """Has no canary: it is part of this release, so that it is always reachable and follows the protocol."""

    kind = PlannerKind.BUNDLED
    noun = "A bundled planner"
    choice = "A planner that comes with PlanArena"
    card = "An anchor of every board, or a strategy with the bundled language model."
    fields = (BUNDLED_NAME,)
    has_canary = False
    repeatable = True

    def check(self, data: PlannerData) -> Errors:
        if data[BUNDLED_NAME] in BUNDLED_PLANNERS:
            return {}
        return {BUNDLED_NAME.name: [f"Choose one of {', '.join(BUNDLED_PLANNERS)}."]}

    def check_suites(self, *, data: PlannerData, suites: Sequence[str]) -> Errors:
        planner = offline_planners().get(data[BUNDLED_NAME])
        foreign = [slug for slug in suites if planner is not None and not planner.understands(slug)]
        if planner is None or not foreign:
            return {}
        made_for = ", ".join(planner.suites)
        return {"suites": [f"{planner.name} does not support requests of {foreign[0]}; it is made for {made_for}."]}

    def find_facts(self, *, data: PlannerData, owner: User) -> Facts:  # noqa: ARG002 - open to everyone
        """Facts about a shipped language model, read from its weights."""
        _, _, model = data[BUNDLED_NAME].partition(":")
        return _facts_of_shipped(model) if model else Facts()

    def lease(self, *, planner: Planner, tasks: Sequence[str]) -> BundledPlanner:  # noqa: ARG002 - as the base class
        return BundledPlanner(name=planner.bundled_name)


@cache
def _facts_of_shipped(model: str) -> Facts:
    weights = shipped_folder(model) / "model.safetensors"
    parameters = file_header(weights).parameters
    return Facts(model_name=model, parameters=parameters, open_weights=True, weights_bytes=weights.stat().st_size)
