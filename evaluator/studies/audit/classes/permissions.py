"""Can a planner ask a part of PlanArena about the requests that count?"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evaluator.core.planner import PlannerRequest
from evaluator.episodes.base import SettingError
from evaluator.planners.attacks.base import Attack, Flaw, PlansOf, Target
from evaluator.planners.attacks.public_plans import MostFrequent
from evaluator.rewards.function import PlanReward, SplitRefusedError, reward_function
from evaluator.studies.audit.classes.scoring_gaps import Guesses

_PLANS = 6
"""Plans of which the oracle chooses."""


class RewardOracle:
    """Asks the rewards of PlanArena for the best of several likely plans for a request.

    It names the request by its id, and asks for the rewards of the split that counts and of those for training.
    """

    def __init__(self, target: Target) -> None:
        self._most_frequent = MostFrequent(target.public.tasks)
        self._guesses = Guesses(target, count=_PLANS)
        self._rewards = list(_rewards(target))

    def __call__(self, request: PlannerRequest) -> object:
        plans: Sequence[Mapping[str, Any]] = self._guesses.plans(request)
        for rewards in self._rewards:
            try:
                values = rewards.of([(request.task.id, plan) for plan in plans])
            except (LookupError, SettingError):
                continue
            known = [(value, -place) for place, value in enumerate(values) if value is not None]
            if known:
                return plans[-max(known)[1]]
        return self._most_frequent(request)


def _rewards(target: Target) -> Iterator[PlanReward]:
    for split in (target.split, *target.public.training_splits):
        try:
            yield reward_function(suite=target.public.slug, split=split, samples=1)
        except (SplitRefusedError, SettingError, LookupError):
            continue


def _is_published(target: Target) -> str:
    if target.is_hidden:
        return ""
    return "The requests are a published list, and their rewards on the training split are offered for training."


FLAW = Flaw(
    name="permissions",
    title="Permissions",
    description="Can a planner ask a part of PlanArena about the requests that count?",
    attacks=(
        Attack(
            name="rewards as an oracle",
            description=f"Asks the rewards for the best of {_PLANS} likely plans for each request.",
            make=lambda target: PlansOf("oracle", RewardOracle(target)),
            applies=lambda target: target.executes and not target.in_turns,
            inherent=_is_published,
        ),
    ),
)
