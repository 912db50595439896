"""Benchmarks of ControlLLM's stages: DeAcc of decomposers, and the ablation of search strategies (Table 5) with their
time.

Decomposers see what a planner sees: a request with its files. The search runs over their decompositions, or over the
gold ones, so that only the search is measured. Strategies never see the gold decompositions: only this module reads
them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from statistics import fmean, median, quantiles
from time import process_time

from evaluator.controlllm.strategies.offline_decomposing import decompose_offline
from evaluator.controlllm.strategies.planning import Planned, Toolbox, plan_offline, plans_of
from evaluator.controlllm.strategies.search import GOOD, CandidateFunction, adaptive, beam, exhaustive, greedy
from evaluator.controlllm.strategies.subtasks import TypedSubtask, protocol_text, typed_subtasks
from evaluator.controlllm.strategies.words import Lexicon
from evaluator.controlllm.toolbench.indicators import INDICATORS, missing_plan
from evaluator.controlllm.toolbench.judging import judge
from evaluator.controlllm.toolbench.tasks import ToolTask
from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import PlannerRequest, request_for
from evaluator.core.plans.model import PlanSyntaxError
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


STRATEGIES: Mapping[str, CandidateFunction] = {
    "greedy": greedy,
    "beam": beam,
    "adaptive": adaptive,
    "exhaustive": exhaustive,
}
ADAPTIVE = "adaptive"
LEVELS = ("easy", "medium", "hard")


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds for one subtask."""

    median: float
    p95: float
    most: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> "Times":
        milliseconds = [1000 * one for one in seconds]
        p95 = quantiles(milliseconds, n=20, method="inclusive")[-1] if len(milliseconds) > 1 else milliseconds[0]
        return cls(median=median(milliseconds), p95=p95, most=max(milliseconds))


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyFigures:
    """What one strategy reached."""

    tasks: int
    subtasks: int
    threshold: float | None
    """The least score of a tool that is entered; None: the strategy has none."""
    indicators: Mapping[str, float]
    """Means of the five indicators, and `SE_best` of up to five plans."""
    se_by_level: Mapping[str, float]
    search_cpu: Times
    """Processor time of the search alone."""
    search_wall: Times
    planning_cpu: Times
    """Processor time of assessing, searching, ranking and filling, as the mean over a request's subtasks."""
    solutions: float
    """Median number of solutions found for a subtask."""
    unsolved: tuple[str, ...]
    """Keys of the tasks with SE 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchReport:
    """All strategies on the same tasks."""

    suite: str
    digest: str
    decompositions: str
    scores: str
    """Whether a tool's score is the same in every step of a subtask."""
    figures: Mapping[str, StrategyFigures] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    """Keys of tasks that no plan can meet, without a goal, or without a gold decomposition that can be typed."""

    def to_json(self) -> dict[str, JsonValue]:
        """As JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Case:
    task: ToolTask
    subtasks: tuple[TypedSubtask, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    name: str
    choose: CandidateFunction
    threshold: float | None = None


def measure_search(
    *,
    suite: Suite,
    gold: bool,
    prior_knowledge: bool = True,
    strategies: Iterable[str] = tuple(STRATEGIES),
    thresholds: Sequence[float] = (GOOD,),
    per_step: bool = False,
) -> SearchReport:
    """Plan every task that has a goal with each strategy, offline, and judge the plans.

    Args:
        suite: one whose plans are judged.
        gold: whether to take the gold decompositions; else the offline decomposer's.
        prior_knowledge: whether descriptions stay as they are; else each is the request, as in the paper's Table 4.
        strategies: names of `STRATEGIES`.
        thresholds: of the adaptive strategy, which has a row for each; the default's row has no number in its name.
        per_step: whether scores depend on the node of the search (`ranking.assess_step`).
    """
    rows = [row for name in strategies for row in _rows(name=name, thresholds=thresholds)]
    toolbox = Toolbox.of(tuple(suite.catalogue.tools.values()))
    tasks = [task for task in suite.tasks if isinstance(task, ToolTask)]
    cases = [
        _Case(task, subtasks)
        for task in tasks
        if (subtasks := _subtasks(task=task, suite=suite, toolbox=toolbox, gold=gold, prior_knowledge=prior_knowledge))
        is not None
    ]
    judged = {case.task.key for case in cases}
    return SearchReport(
        suite=suite.slug,
        digest=suite.digest,
        decompositions=("gold" if gold else "offline") + ("" if prior_knowledge else ", described by the request"),
        scores="per step" if per_step else "per subtask",
        figures={row.name: _figures(suite=suite, cases=cases, toolbox=toolbox, row=row, per_step=per_step)
                 for row in rows} if cases else {},
        left_out=tuple(task.key for task in tasks if task.key not in judged),
    )  # fmt: skip


def _subtasks(
    *, task: ToolTask, suite: Suite, toolbox: Toolbox, gold: bool, prior_knowledge: bool
) -> tuple[TypedSubtask, ...] | None:
    """The subtasks to search for; None for a task to leave out."""
    if task.goal is None or not task.goal.parts:
        return None
    if not gold:
        request = request_for(suite=suite, task=task, context=all_tools(suite=suite, task=task))
        subtasks = decompose_offline(request=request, tools=toolbox.tools, lexicon=toolbox.lexicon)
    elif task.decomposition is None:
        return None
    else:
        try:
            subtasks = typed_subtasks(task.decomposition)
        except PlanSyntaxError:
            return None
    return subtasks if prior_knowledge else tuple(replace(one, description=task.text) for one in subtasks)


def _rows(*, name: str, thresholds: Sequence[float]) -> list["_Row"]:
    if name != ADAPTIVE:
        return [_Row(name=name, choose=STRATEGIES[name])]
    return [
        _Row(
            name=name if least == GOOD else f"{name}@{least:g}",
            choose=partial(adaptive, least=least),
            threshold=float(least),
        )
        for least in thresholds
    ]


def _figures(*, suite: Suite, cases: Sequence[_Case], toolbox: Toolbox, row: "_Row", per_step: bool) -> StrategyFigures:
    planned: list[Planned] = []
    seconds: list[float] = []
    rows: list[dict[str, float]] = []
    for case in cases:
        before = process_time()
        own = plan_offline(subtasks=case.subtasks, toolbox=toolbox, choose=row.choose, per_step=per_step)
        seconds += [(process_time() - before) / max(1, len(own))] * len(own)
        planned += own
        rows.append(_indicators(suite=suite, task=case.task, planned=own))
    levels = [case.task.level for case in cases]
    return StrategyFigures(
        tasks=len(cases),
        subtasks=len(planned),
        threshold=row.threshold,
        indicators={name: fmean(row[name] for row in rows) for name in (*INDICATORS, "SE_best")},
        se_by_level={
            level: fmean(row["SE"] for row, own in zip(rows, levels, strict=True) if own == level)
            for level in LEVELS
            if level in levels
        },
        search_cpu=Times.of([one.searching.cpu_seconds for one in planned]),
        search_wall=Times.of([one.searching.seconds for one in planned]),
        planning_cpu=Times.of(seconds),
        solutions=median(len(one.searching.result.paths) for one in planned),
        unsolved=tuple(case.task.key for case, row in zip(cases, rows, strict=True) if not row["SE"]),
    )


def _indicators(*, suite: Suite, task: ToolTask, planned: Sequence[Planned]) -> dict[str, float]:
    judgements = []
    for plan in plans_of(planned):
        try:
            judgements.append(judge(suite=suite, task=task, value=plan).judgement)
        except PlanSyntaxError as error:
            judgements.append(missing_plan(str(error)))
    best = max(judgement.SE for judgement in judgements)
    return {**{name: float(value) for name, value in judgements[0].indicators().items()}, "SE_best": float(best)}
