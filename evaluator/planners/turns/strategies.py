"""Strategies in turns with their language models as planners: each answer is a conversation of its own."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, cast, runtime_checkable

from pydantic import ValidationError

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import LanguageModel
from evaluator.core.planner import PlannerError, PlannerReply
from evaluator.core.records import PlannerCall, Reason
from evaluator.core.strategy import Strategy
from evaluator.core.turns import Formulation, Role, TurnReply, TurnRequest, TurnResponse
from evaluator.planners.driving import ReseededStrategy, StrategyPlanner

_NO_ANSWER = PlannerError(
    reason=Reason.INTERNAL_ERROR, message="The planner neither answered nor failed.", call=PlannerCall(seconds=0.0)
)


@runtime_checkable
class TurnStrategy(Strategy, Protocol):
    """A strategy that acts step by step: its requests are turns, and its drafts the fields of a `TurnResponse`."""

    @property
    def formulation(self) -> Formulation:
        """How planning and acting take turns."""
        ...


class StrategyTurnPlanner(StrategyPlanner):
    """A strategy in turns (`BatchTurnPlanner`). Roles may have models of their own."""

    def __init__(
        self,
        *,
        strategy: TurnStrategy,
        model: LanguageModel | None = None,
        name: str | None = None,
        modules: Mapping[Role, LanguageModel] | None = None,
    ) -> None:
        """Args:
        strategy: what is asked and what is made of the answers.
        model: who answers.
        name: of the planner.
        modules: who answers instead in these roles.

        Raises:
            UnfitModelError: a model lacks an ability that the strategy needs.
        """
        super().__init__(strategy=strategy, model=model, name=name)
        self.formulation = strategy.formulation
        self._modules = {
            role: StrategyPlanner(strategy=strategy, model=module) for role, module in (modules or {}).items()
        }

    def identity(self) -> dict[str, JsonValue]:
        """See `StrategyPlanner.identity`, with the models of roles that have their own."""
        modules: dict[str, JsonValue] = {
            str(role): planner.identity()["language_model"] for role, planner in self._modules.items()
        }
        return {**super().identity(), **({"modules": modules} if modules else {})}

    def turn(self, request: TurnRequest) -> TurnReply:
        """See `TurnPlanner`."""
        (end,) = self.turn_all([request])
        if isinstance(end, PlannerError):
            raise end
        return end

    def reseeded(self, run: int) -> "ReseededTurns":
        """See `ReseedablePlanner`."""
        return ReseededTurns(self, run)

    def turn_all(self, requests: Iterable[TurnRequest], *, run: int = 0) -> list[TurnReply | PlannerError]:
        """See `BatchTurnPlanner`; what is drawn differs between runs."""
        asked = list(requests)
        ends: list[TurnReply | PlannerError] = [_NO_ANSWER] * len(asked)
        planners: tuple[StrategyPlanner, ...] = (self, *self._modules.values())
        for planner in planners:
            own = [place for place, request in enumerate(asked) if self._modules.get(request.role, self) is planner]
            for number, end in planner.plan_all([asked[place] for place in own], run=run):
                ends[own[number]] = end if isinstance(end, PlannerError) else _turn(end)
        return ends

    def close(self) -> None:
        """See `StrategyPlanner.close`."""
        super().close()
        for planner in self._modules.values():
            planner.close()


@dataclass(frozen=True, slots=True)
class ReseededTurns(ReseededStrategy):
    """A strategy in turns in one of several runs."""

    planner: StrategyTurnPlanner

    @property
    def formulation(self) -> Formulation:
        """See `TurnPlanner`."""
        return self.planner.formulation

    def turn(self, request: TurnRequest) -> TurnReply:
        """See `TurnPlanner`."""
        (end,) = self.turn_all([request])
        if isinstance(end, PlannerError):
            raise end
        return end

    def turn_all(self, requests: Iterable[TurnRequest]) -> list[TurnReply | PlannerError]:
        """See `BatchTurnPlanner`."""
        return self.planner.turn_all(requests, run=self.run)


def strategy_planner_of(
    *,
    strategy: Strategy,
    model: LanguageModel | None,
    name: str,
    modules: Mapping[Role, LanguageModel] | None = None,
) -> StrategyPlanner:
    """The planner of a strategy and its models: one that acts in turns if the strategy does.

    Raises:
        UnfitModelError: a model lacks an ability that the strategy needs.
    """
    if isinstance(strategy, TurnStrategy):
        return StrategyTurnPlanner(strategy=strategy, model=model, name=name, modules=modules)
    return StrategyPlanner(strategy=strategy, model=model, name=name)


def _turn(reply: PlannerReply) -> TurnReply | PlannerError:
    try:
        response = TurnResponse.model_validate(cast("dict[str, JsonValue]", reply.plan))
    except ValidationError as error:
        problem = error.errors()[0]["msg"].removeprefix("Value error, ")
        message = f"The answer is no turn: {problem}."
        return PlannerError(reason=Reason.INVALID_RESPONSE, message=message, call=reply.call)
    return TurnReply(response=response, call=reply.call)
