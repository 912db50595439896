"""Judges of plans and their verdicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.model import PlanContext
from evaluator.core.records import Reason, TextPair
from evaluator.core.suites.base import Suite, Task
from evaluator.episodes.parts import Planned
from evaluator.scoring.arbiters.base import Arbiter


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A judge's verdict on a plan."""

    score: float
    """The score for ranking."""
    indicators: Mapping[str, float]
    explanations: Mapping[str, str] = field(default_factory=dict)
    """By indicator, the reason in words; under `goal`, the goal of the request."""
    pairs: Sequence[TextPair] = ()
    """Undecided pairs of texts that the score depends on, at most `MOST_PAIRS`."""
    arbiter: Mapping[str, JsonValue] = field(default_factory=dict)
    """Identity of the arbiter that decided the pairs; empty if there was none."""


class JudgeFailedError(Exception):
    """A judge of a package gave no verdict on a plan; the message is a sentence."""


class Judge(Protocol):
    """Judges the plans of one suite."""

    def digest(self) -> str:
        """Digest of the rules; changes whenever the verdict on a plan may change."""
        ...

    def not_judged(self, suite: Suite) -> Mapping[str, tuple[Reason, str]]:
        """Reason and sentence of the tasks whose plans cannot be judged."""
        ...

    def __call__(self, *, suite: Suite, planned: Planned) -> Judgement:
        """Judge a plan; its task is not in `not_judged`."""
        ...


@runtime_checkable
class SettleableJudge(Judge, Protocol):
    """A judge whose rules may leave a pair of texts undecided."""

    def settled_by(self, arbiter: Arbiter) -> Judge:
        """A copy of the judge with an arbiter that decides only these pairs."""
        ...


def all_tools(*, suite: Suite, task: Task) -> PlanContext:
    """The context for parsing plans without experts: all tools of the suite's catalogue."""
    return suite.context(task=task, offered=frozenset(suite.catalogue.tools))
