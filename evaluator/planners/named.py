"""Planners by name: a bundled one (`gold`), or a strategy with its language model (`hugginggpt:chat:URL#MODEL`)."""

from evaluator.core.language_model import LanguageModel
from evaluator.core.planner import Planner
from evaluator.core.suites.base import Suite
from evaluator.core.turns import Role
from evaluator.planners.bundled import bundled_names, bundled_planner
from evaluator.planners.driving import StrategyPlanner, UnfitModelError
from evaluator.planners.language_models.choosing import ModelNameError, language_model
from evaluator.planners.language_models.scripted import ScriptError
from evaluator.planners.strategies.registry import (
    PlannerNameError,
    has_strategy,
    split_modules,
    strategies,
    strategy_of,
)
from evaluator.planners.turns.strategies import strategy_planner_of


def planner_named(*, name: str, suite: Suite) -> Planner:
    """The bundled planner with this name, or the strategy with its language model.

    Raises:
        PlannerNameError: there is neither, or not for this suite; the message says what would be right.
    """
    if name in bundled_names():
        try:
            return bundled_planner(name=name, suite=suite)
        except LookupError as error:
            raise PlannerNameError(*error.args) from None
    if not has_strategy(name) and ":" not in name:
        raise PlannerNameError(
            f"there is no bundled planner {name!r}; there are: {', '.join(bundled_names())}; "
            f"nor a strategy of that name; there are: {', '.join(strategies())}"
        )
    return strategy_planner(name=name, suite=suite)


def strategy_planner(*, name: str, suite: Suite) -> StrategyPlanner:
    """The planner `STRATEGY[:MODEL[,MODULE=MODEL]]` for a suite. A language model on this machine is loaded when it is
    first asked.

    Raises:
        PlannerNameError: there is no such strategy or model, or they do not fit each other or the suite.
    """
    entry = strategy_of(name=name, suite=suite)
    model_name, named = split_modules(name, modules=entry.modules)
    strategy = entry.strategy(with_model=model_name is not None)
    try:
        model = None if model_name is None else language_model(model_name)
        modules: dict[Role, LanguageModel] = {Role(role): language_model(other) for role, other in named.items()}
        return strategy_planner_of(strategy=strategy, model=model, name=name, modules=modules)
    except (ModelNameError, ScriptError, UnfitModelError) as error:
        raise PlannerNameError(str(error).rstrip(".")) from error
