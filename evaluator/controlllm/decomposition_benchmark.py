"""DeAcc of a decomposer on the requests of a suite that have a gold decomposition, and each field's share of it.

The decomposer sees what a planner sees: a request with its files. Only this module compares with the gold.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache

from evaluator.controlllm.strategies.offline_decomposing import decompose_offline
from evaluator.controlllm.strategies.subtasks import protocol_text
from evaluator.controlllm.strategies.words import Lexicon
from evaluator.controlllm.toolbench.tasks import ToolTask
from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import PlannerRequest, request_for
from evaluator.core.suites.base import Suite
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.core.tools.types import Tool
from evaluator.episodes.judgement import all_tools
from evaluator.scoring.metrics.decomposition import FIELDS, judge_decomposition, right_fields
from evaluator.scoring.metrics.statistics import Interval, wilson

Decompose = Callable[[PlannerRequest], str]
"""Gives the decomposition of a request by the protocol of Table 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecompositionReport:
    """What one decomposer reached on one suite."""

    suite: str
    digest: str
    decomposer: str
    deacc: Interval
    fields: dict[str, Interval]
    """The share of requests in which a field of every subtask is right, for each field."""
    but_description: Interval
    """The share in which every field but the description is right."""
    wrong: tuple[str, ...]
    """Keys of the requests whose decomposition is not right."""

    def to_json(self) -> dict[str, JsonValue]:
        """As JSON."""
        return asdict(self)


def decompose_by_rules(request: PlannerRequest) -> str:
    """The decomposition of a request by the offline rules, with all tools of the catalogue."""
    tools, lexicon = _words()
    return protocol_text(decompose_offline(request=request, tools=tools, lexicon=lexicon))


@cache
def _words() -> tuple[tuple[Tool, ...], Lexicon]:
    tools = tuple(CONTROLLLM.tools.values())
    return tools, Lexicon(tools)


def measure_decompositions(*, suite: Suite, name: str, decompose: Decompose) -> DecompositionReport:
    """Decompose every request of a suite that has a gold decomposition, and compare.

    Raises:
        ValueError: the suite has none.
    """
    right: dict[str, bool] = {}
    fields: list[dict[str, bool]] = []
    for task in suite.tasks:
        if not isinstance(task, ToolTask) or task.decomposition is None:
            continue
        predicted = decompose(request_for(suite=suite, task=task, context=all_tools(suite=suite, task=task)))
        verdict = judge_decomposition(predicted=predicted, gold=task.decomposition)
        right[task.key] = verdict.right
        fields.append(right_fields(predicted=predicted, gold=task.decomposition))
    if not right:
        raise ValueError(f"{suite.slug} has no gold decompositions")
    others = [field for field in FIELDS if field != "description"]
    return DecompositionReport(
        suite=suite.slug,
        digest=suite.digest,
        decomposer=name,
        deacc=wilson(successes=sum(right.values()), total=len(right)),
        fields={field: _share([row[field] for row in fields]) for field in FIELDS},
        but_description=_share([all(row[field] for field in others) for row in fields]),
        wrong=tuple(key for key, is_right in right.items() if not is_right),
    )


def _share(outcomes: list[bool]) -> Interval:
    return wilson(successes=sum(outcomes), total=len(outcomes))
