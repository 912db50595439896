"""A strategy each of whose roles has a language model of its own, so that no other model is asked for."""

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType

from django import forms

from evaluator.planners.named import samples_replies
from evaluator.planners.strategies.registry import StrategyEntry
from gpu_jobs.contract import RolesPlanner
from leaderboard.planners.data import Errors, PlannerData
from leaderboard.planners.kinds.base import Kind
from leaderboard.planners.kinds.language_models import (
    OPTIONS,
    ROLES,
    STRATEGY,
    chat_strategies,
    check_understanding,
    offer,
)
from leaderboard.planners.models import Planner, PlannerKind


@cache
def strategies_of_roles() -> Mapping[str, StrategyEntry]:
    """The strategies whose calls all have a role, by name. Each kind of model of a role can answer them."""
    return MappingProxyType({name: entry for name, entry in chat_strategies().items() if entry.all_in_roles})


class RolesKind(Kind):
    """Networks, GPUs and secrets follow from the models of the roles."""

    kind = PlannerKind.ROLES
    noun = "A planner with a model for each role"
    choice = "A strategy with a model for each role"
    card = "For systems of several models, such as LUMOS's two modules. No other model is needed."
    guide = "a-model-for-each-role"
    fields = (STRATEGY, OPTIONS, ROLES)
    has_main_model = False

    def strategies(self) -> Mapping[str, StrategyEntry]:
        return strategies_of_roles()

    def fit_form(self, fields: dict[str, forms.Field]) -> None:
        fields[STRATEGY.name].help_text = "Turns the models' answers into a plan. Each of its roles needs a model."
        offer(self.strategies(), fields=fields)

    def samples(self, planner: Planner) -> bool:
        return samples_replies(planner.strategy)

    def check(self, data: PlannerData) -> Errors:
        entry = self.strategies().get(data[STRATEGY].partition("@")[0])
        if entry is None:
            return {STRATEGY.name: [f"Choose one of {', '.join(self.strategies())}."]}
        missing = [role for role in entry.roles if role.name not in (data[ROLES] or {})]
        return {
            f"{ROLES.name}.{role.name}.kind": [f"Choose a model for {role.label.lower()} ({role.name})."]
            for role in missing
        }

    def check_suites(self, *, data: PlannerData, suites: Sequence[str]) -> Errors:
        return check_understanding(strategy=data[STRATEGY], suites=suites)

    def lease(self, *, planner: Planner, tasks: Sequence[str]) -> RolesPlanner:  # noqa: ARG002 - as the base class
        return RolesPlanner(strategy=planner.strategy)
