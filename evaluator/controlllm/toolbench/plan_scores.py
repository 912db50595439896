"""Scores a file of plans for a suite that judges plans."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evaluator.controlllm.toolbench.indicators import INDICATORS, LOWER_IS_BETTER, missing_plan
from evaluator.controlllm.toolbench.judging import JudgedPlan, best_of, judge
from evaluator.controlllm.toolbench.tasks import ToolTask
from evaluator.core.plans.model import PlanSyntaxError
from evaluator.core.plans_file import GivenPlan
from evaluator.core.records import Outcome
from evaluator.core.suites.base import Suite
from evaluator.scoring.arbiters.base import Arbiter
from evaluator.scoring.metrics.aggregate import TaskScore, summarise
from evaluator.scoring.metrics.statistics import Interval, wilson


@dataclass(frozen=True, slots=True)
class ScoredPlan:
    """The scores of one task's plan."""

    task: ToolTask
    judged: JudgedPlan | None
    """None if there is no readable plan or no goal."""
    indicators: Mapping[str, float | None]
    why: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Report:
    """The scores of a file."""

    rows: tuple[ScoredPlan, ...]
    missing: tuple[str, ...]
    """Tasks with a goal and no plan; they count against the planner."""
    summary: Mapping[str, Any]
    by_level: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    by_group: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    not_covered: int = 0
    """Tasks of the suite without a goal."""


def score_given(
    *, suite: Suite, plans: Mapping[str, GivenPlan], active_only: bool = False, arbiter: Arbiter | None = None
) -> Report:
    """Judge the plans and aggregate over the whole suite; tasks without a plan count as the worst plan.

    Args:
        suite: a suite that judges plans.
        plans: by the keys of its tasks (`PlansFile.check`).
        active_only: omit tasks with defects that excuse a planner.
        arbiter: settles what the rules leave undecided.
    """
    tasks = [task for task in suite.tasks if isinstance(task, ToolTask) and (task.active or not active_only)]
    rows = tuple(
        _score(suite=suite, task=task, given=plans[task.key], arbiter=arbiter) for task in tasks if task.key in plans
    )
    missing = [task for task in tasks if task.goal is not None and task.key not in plans]
    scores = [(row.task, _task_score(row.task, row)) for row in rows if row.task.goal is not None]
    scores += [(task, _task_score(task, None)) for task in missing]
    # The five indicators are not defined for requests that no plan can meet.
    solvable = [(task, score) for task, score in scores if task.goal is not None and task.goal.parts]
    return Report(
        rows=rows,
        missing=tuple(task.key for task in missing),
        summary=summarise(suite=suite, results=[score for _, score in scores]),
        by_level=_breakdown([(task.level, score) for task, score in solvable], names=("easy", "medium", "hard")),
        by_group=_breakdown(
            [(task.group, score) for task, score in solvable], names=sorted({task.group for task, _ in solvable})
        ),
        not_covered=sum(task.goal is None for task in tasks),
    )


def _score(*, suite: Suite, task: ToolTask, given: GivenPlan, arbiter: Arbiter | None) -> ScoredPlan:
    if task.goal is None:
        why = {"error": f"there is no goal to judge by: {task.uncovered}"}
        return ScoredPlan(task=task, judged=None, indicators=dict.fromkeys(INDICATORS), why=why)
    try:
        judged = judge(suite=suite, task=task, value=given.plan, arbiter=arbiter)
    except PlanSyntaxError as error:
        missing = missing_plan(f"the plan cannot be read: {error}")
        worst: dict[str, float | None] = {name: float(value) for name, value in missing.indicators().items()}
        return ScoredPlan(task, None, worst | {"SE_best": 0.0}, missing.why)
    indicators = judged.indicators
    if "SE_best" in indicators:
        best = best_of(suite=suite, task=task, judged=judged, alternatives=given.alternatives)
        indicators = indicators | {"SE_best": best}
    return ScoredPlan(task, judged, indicators, judged.judgement.why)


def _task_score(task: ToolTask, row: ScoredPlan | None) -> TaskScore:
    scored = row is not None and row.judged is not None
    indicators = {name: value for name, value in row.indicators.items() if value is not None} if row and scored else {}
    return TaskScore(
        task=task.key,
        metric=task.metric,
        outcome=Outcome.SCORED if scored else Outcome.PLANNER_FAULT,
        score=indicators.get("SE", 0.0),
        indicators=indicators,
    )


def _breakdown(scores: Sequence[tuple[str, TaskScore]], *, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The five indicators for each level or group."""
    rows: dict[str, dict[str, Any]] = {}
    for name in names:
        group = [score for key, score in scores if key == name]
        if group:
            shares = {key: _share(key=key, scores=group) for key in INDICATORS}
            rows[name] = {
                "count": len(group),
                **{key: share.mean for key, share in shares.items()},
                "undecided": _share(key="undecided", scores=group).mean,
                "intervals": {key: [share.low, share.high] for key, share in shares.items()},
            }
    return rows


def _share(*, key: str, scores: Sequence[TaskScore]) -> Interval:
    worst = 1.0 if key in LOWER_IS_BETTER else 0.0
    values = [score.indicators.get(key, worst) for score in scores]
    share = wilson(successes=round(sum(values)), total=len(values))
    undecided = sum(score.indicators.get("undecided", 0.0) for score in scores) if key == "SE" else 0.0
    return replace(share, high=wilson(successes=round(sum(values) + undecided), total=len(values)).high)


def report_to_json(report: Report) -> dict[str, Any]:
    """The report as `planarena score-plans --json` prints it."""
    metrics = report.summary["metrics"]
    return {
        "metrics": {key: value["mean"] for key, value in metrics.items()},
        "intervals": {key: [value["low"], value["high"]] for key, value in metrics.items()},
        "counts": {"plans": len(report.rows), "missing": len(report.missing), "not_covered": report.not_covered},
        "by_level": report.by_level,
        "by_group": report.by_group,
        "tasks": [_row_to_json(row) for row in report.rows],
    }


def _row_to_json(row: ScoredPlan) -> dict[str, Any]:
    numbers = {
        name: int(value) if value in {0.0, 1.0} else None if value is None else round(value, 6)
        for name, value in row.indicators.items()
    }
    tolerated = list(row.judged.tolerated) if row.judged is not None else []
    pairs = [pair.model_dump(mode="json") for pair in row.judged.pairs] if row.judged is not None else []
    notes = {"why": dict(row.why), "tolerated": tolerated, **({"pairs": pairs} if pairs else {})}
    return {"task": row.task.key, **numbers, **notes}
