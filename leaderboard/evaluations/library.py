"""The one place where the site uses the `evaluator` package, so that tests can give a fake of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from django.conf import settings
from django.utils.module_loading import import_string

from evaluator.records import Outcome, Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOutcome:
    """What the summary needs to know of one task."""

    task: str
    metric: str
    outcome: Outcome
    score: float | None


class AddressRefusedError(Exception):
    """An endpoint address that may not be called; the message is a sentence for its owner."""


class EvaluatorLibrary(Protocol):
    """What the site needs of the `evaluator` package."""

    def profile_digest(self, name: str) -> str:
        """Digest of the profile with this name."""
        ...

    def not_run_reasons(self, *, suite: str, profile: str, split: str) -> Mapping[str, tuple[Reason, str]]:
        """Why tasks cannot run in this profile, by task key; tasks that can run are left out."""
        ...

    def summarise(self, *, suite: str, results: Sequence[TaskOutcome]) -> dict[str, Any]:
        """The metrics of an evaluation with intervals, as `Evaluation.summary` documents it."""
        ...

    def check_endpoint(self, *, url: str, allow_private: bool) -> None:
        """Refuse an address that may not be called.

        Raises:
            AddressRefusedError: it is refused.
        """
        ...


class Library:
    """The real thing. Nothing here imports torch."""

    def profile_digest(self, name: str) -> str:
        from evaluator.experts.profile import load_profile

        return load_profile(name).digest

    def not_run_reasons(self, *, suite: str, profile: str, split: str) -> Mapping[str, tuple[Reason, str]]:
        from evaluator.coverage import not_run_reasons
        from evaluator.experts.profile import load_profile
        from evaluator.suites.registry import suite_of
        from evaluator.suites.sources import sample_source

        samples = sample_source(suite=suite, profile=profile, split=split, hidden_seed=settings.HIDDEN_SEED or None)
        return not_run_reasons(suite=suite_of(suite), profile=load_profile(profile), samples=samples)

    def summarise(self, *, suite: str, results: Sequence[TaskOutcome]) -> dict[str, Any]:
        from evaluator.metrics.aggregate import TaskScore, summarise
        from evaluator.suites.registry import suite_of

        scores = [
            TaskScore(task=result.task, metric=result.metric, outcome=result.outcome, score=result.score)
            for result in results
        ]
        return summarise(suite=suite_of(suite), results=scores)

    def check_endpoint(self, *, url: str, allow_private: bool) -> None:
        from evaluator.planners.egress import EgressRefusedError, check_url

        try:
            check_url(url=url, allow_private=allow_private)
        except EgressRefusedError as error:
            raise AddressRefusedError(str(error)) from error


def library() -> EvaluatorLibrary:
    """The library that the settings name."""
    return _instance(settings.EVALUATOR)


@cache
def _instance(path: str) -> EvaluatorLibrary:
    made: EvaluatorLibrary = import_string(path)()
    return made
