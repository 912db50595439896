"""A fake of the `evaluator` package, as the site sees it: no profile, no network, means for metrics."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from evaluator.core.records import Outcome, Reason
from evaluator.core.suites.hidden import HiddenSeed, data_digest
from evaluator.core.suites.registry import suite_of
from evaluator.planners.trials import process as trial_process
from evaluator.planners.trials.trial import Trial
from evaluator.scoring.metrics.aggregate import TaskScore
from evaluator.scoring.metrics.statistics import LEAST_VALUES
from leaderboard.catalog.library import NO_PROFILE, AddressRefusedError, NotReadyError, PlansRead, RewardsRefusedError

PROFILE_DIGEST = "f" * 64
JUDGE_DIGEST = "e" * 64


class FakeEvaluator:
    """Tasks with the key prefix `x` cannot run; addresses with `private` in them are refused outside demo mode."""

    declared: ClassVar[dict[str, float]] = {}
    """Tolerances by tool, of every profile."""

    def tolerances(self, *, profile: str) -> Mapping[str, float]:
        return self.declared

    def rules_digest(self, *, suite: str, profile: str) -> str:
        return JUDGE_DIGEST if profile == NO_PROFILE else PROFILE_DIGEST

    def profiles_of_hubs(self) -> frozenset[str]:
        return frozenset({"paper"})

    def lock_problem(self, profile: str) -> str:
        return "it has no lock file"

    def data_digest(self, *, suite: str, profile: str, split: str, hidden: HiddenSeed | None = None) -> str:
        if hidden is not None:
            return hidden.data_digest(source=profile, suite=suite)
        return data_digest(source=profile, split=split)

    def not_run_reasons(
        self, *, suite: str, profile: str, split: str, hidden: HiddenSeed | None = None
    ) -> Mapping[str, tuple[Reason, str]]:
        from leaderboard.catalog.models import Task

        keys = Task.objects.filter(suite__slug=suite, key__startswith="x").values_list("key", flat=True)
        return dict.fromkeys(keys, (Reason.NO_EXPERT, "The fake profile has no expert for it."))

    def perturbed_tasks(self, *, suite: str, profile: str) -> Mapping[str, Sequence[str]]:
        """One perturbation that changes every task, and one that changes the first only."""
        return {"framed": ["0", "1", "2", "3"], "lower-case": ["0"]}

    def summarise(
        self, *, suite: str, results: Sequence[TaskScore], samples: int, is_deterministic: bool = False
    ) -> dict[str, Any]:
        scores = [result.score for result in results if result.score is not None]
        outcomes: dict[str, int] = {}
        for result in results:
            outcomes[result.outcome] = outcomes.get(result.outcome, 0) + 1
        mean = sum(scores) / len(scores) if scores else None
        end = mean if len(scores) >= LEAST_VALUES else None
        metrics = {} if mean is None else {"overall": {"mean": mean, "low": end, "high": end, "tasks": len(scores)}}
        assert set(outcomes) <= {outcome.value for outcome in Outcome}
        return {"metrics": metrics, "outcomes": outcomes}

    def check_endpoint(self, *, url: str, allow_private: bool, caller: str | None) -> None:
        if not url.startswith(("http://", "https://")):
            raise AddressRefusedError("The address must begin with http:// or https://.")
        if "private" in url and not allow_private:
            raise AddressRefusedError("The address is private; give one on the public internet.")

    def read_plans(self, *, suite: str, plans: Mapping[str, Any]) -> PlansRead:
        wrong = {task: "the fake cannot read it" for task, plan in plans.items() if plan == "garbage"}
        return PlansRead(unreadable=wrong, empty=[task for task, plan in plans.items() if not plan])

    def try_endpoint(self, *, suite: str, profile: str, settings: trial_process.TrialSettings) -> Trial:
        """Really sends a request, of openagi whatever the suite."""
        return trial_process.try_confined(
            suite=suite_of("openagi"), settings=settings, memory_bytes=trial_process.MEMORY_BYTES
        )

    def check_rewards(self, *, suite: str, profile: str, tasks: Sequence[str]) -> str:
        if any(task.startswith("x") for task in tasks):
            raise RewardsRefusedError("The fake has no such task.", field="plans")
        return "validation"

    def rewards(
        self, *, suite: str, profile: str, samples: int, proposals: Sequence[tuple[str, object]]
    ) -> list[float | None]:
        """1 for every plan with a text."""
        return [1.0 if plan else 0.0 for _, plan in proposals]


class UnpreparedEvaluator(FakeEvaluator):
    """An installation without weights."""

    def not_run_reasons(
        self, *, suite: str, profile: str, split: str, hidden: HiddenSeed | None = None
    ) -> Mapping[str, tuple[Reason, str]]:
        raise NotReadyError(suite=suite, why="there are no weights")


class BrokenEvaluator(FakeEvaluator):
    """A defect."""

    def not_run_reasons(
        self, *, suite: str, profile: str, split: str, hidden: HiddenSeed | None = None
    ) -> Mapping[str, tuple[Reason, str]]:
        raise RuntimeError("a defect")


class UnsummarisingEvaluator(FakeEvaluator):
    """Scores cannot be computed."""

    def summarise(
        self, *, suite: str, results: Sequence[TaskScore], samples: int, is_deterministic: bool = False
    ) -> dict[str, Any]:
        raise ArithmeticError("no mean")
