"""Benchmarks of ControlLLM's stages: DeAcc of decomposers, and the ablation of search strategies (Table 5) with times.

Decomposers get the request with its files, as planners do. The search runs over their decompositions, or over the gold
ones to measure the search separately. Only this module reads gold decompositions; planners never see them.
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
from evaluator.episodes.judgement import all_tools
from evaluator.scoring.metrics.decomposition import FIELDS, judge_decomposition, right_fields
from evaluator.scoring.metrics.statistics import Interval, wilson

Decompose = Callable[[PlannerRequest], str]
"""Returns the decomposition of a request in the protocol of Table 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecompositionReport:
    """The quality of one decomposer on one suite."""

    suite: str
    digest: str
    decomposer: str
    deacc: Interval
    fields: dict[str, Interval]
    """For each field the share of requests in which it is right in every subtask."""
    but_description: Interval
    """The share of requests in which all fields except the description are right."""
    wrong: tuple[str, ...]
    """Keys of the requests with a wrong decomposition."""

    def to_json(self) -> dict[str, JsonValue]:
        """As JSON."""
        return asdict(self)


@cache
def _lexicon() -> Lexicon:
    return Lexicon(tuple(CONTROLLLM.tools.values()))


def decompose_by_rules(request: PlannerRequest) -> str:
    """The decomposition of a request by the offline rules, with all tools of the catalogue."""
    tools = tuple(CONTROLLLM.tools.values())
    return protocol_text(decompose_offline(request=request, tools=tools, lexicon=_lexicon()))


def measure_decompositions(*, suite: Suite, name: str, decompose: Decompose) -> DecompositionReport:
    """Compare a decomposer with the gold decompositions of a suite.

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
        milliseconds = [1000 * value for value in seconds]
        p95 = quantiles(milliseconds, n=20, method="inclusive")[-1] if len(milliseconds) > 1 else milliseconds[0]
        return cls(median=median(milliseconds), p95=p95, most=max(milliseconds))


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyFigures:
    """Quality and time of one strategy."""

    tasks: int
    subtasks: int
    threshold: float | None
    """The lowest score of tools to enter; None: the strategy has no threshold."""
    indicators: Mapping[str, float]
    """Means of the five indicators, and of `SE_best` for up to five plans."""
    se_by_level: Mapping[str, float]
    search_cpu: Times
    """Processor time of the search only."""
    search_wall: Times
    planning_cpu: Times
    """Processor time of assessing, searching, ranking and filling, as the mean over a request's subtasks."""
    solutions: float
    """Median number of solutions of a subtask."""
    unsolved: tuple[str, ...]
    """Keys of the tasks with SE 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchReport:
    """The figures of several strategies on the same tasks."""

    suite: str
    digest: str
    decompositions: str
    scores: str
    """`per step` if the score of a tool depends on the step of the search, else `per subtask`."""
    figures: Mapping[str, StrategyFigures] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    """Keys of tasks that no plan can meet, that have no goal, or whose gold decomposition has no valid types."""

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
    """Plan every task with a goal with each strategy, offline, and judge the plans.

    Args:
        suite: a suite that judges plans.
        gold: whether to use the gold decompositions, or the offline decomposer's.
        prior_knowledge: whether to use the descriptions of subtasks, or the request, as in the paper's Table 4.
        strategies: names of `STRATEGIES`.
        thresholds: thresholds of the adaptive strategy, which has a row for each; the default's row has no number.
        per_step: whether scores depend on the node of the search (`ranking.assess_step`).
    """
    rows = [
        _Row(name=name if least == GOOD else f"{name}@{least:g}", choose=partial(adaptive, least=least),
             threshold=float(least))
        if name == ADAPTIVE
        else _Row(name=name, choose=STRATEGIES[name])
        for name in strategies
        for least in (thresholds if name == ADAPTIVE else (GOOD,))
    ]  # fmt: skip
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
    """The subtasks of a task; None for a task to omit."""
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
    return subtasks if prior_knowledge else tuple(replace(subtask, description=task.text) for subtask in subtasks)


def _figures(*, suite: Suite, cases: Sequence[_Case], toolbox: Toolbox, row: "_Row", per_step: bool) -> StrategyFigures:
    planned: list[Planned] = []
    seconds: list[float] = []
    rows: list[dict[str, float]] = []
    for case in cases:
        start = process_time()
        own = plan_offline(subtasks=case.subtasks, toolbox=toolbox, choose=row.choose, per_step=per_step)
        seconds += [(process_time() - start) / max(1, len(own))] * len(own)
        planned += own
        judgements = []
        for plan in plans_of(own):
            try:
                judgements.append(judge(suite=suite, task=case.task, value=plan).judgement)
            except PlanSyntaxError as error:
                judgements.append(missing_plan(str(error)))
        best = max(judgement.SE for judgement in judgements)
        rows.append({**judgements[0].indicators(), "SE_best": best})
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
        search_cpu=Times.of([subtask.searching.cpu_seconds for subtask in planned]),
        search_wall=Times.of([subtask.searching.seconds for subtask in planned]),
        planning_cpu=Times.of(seconds),
        solutions=median(len(subtask.searching.result.paths) for subtask in planned),
        unsolved=tuple(case.task.key for case, row in zip(cases, rows, strict=True) if not row["SE"]),
    )
