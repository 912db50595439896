"""Evaluating a planner on a suite that judges plans: ask for plans, read them, judge them. Nothing is executed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evaluator.asking import ask_all, faulty, new_record, not_run
from evaluator.canonical_json import digest
from evaluator.metrics.planning import INDICATORS, Judgement, agreement, depth, judge_plan
from evaluator.planners.protocol import Planner, PlannerReply
from evaluator.plans import Plan, PlanContext, PlanSyntaxError, check_plan, plan_to_json, read_plan
from evaluator.records import Outcome, Reason, ResultRecord
from evaluator.suites.model import Suite, Task
from evaluator.suites.toolbench.suite import ToolTask

JUDGE_VERSION = "2"
"""Changed by hand whenever the same plan may be judged differently; part of what makes evaluations comparable."""
MAX_CANDIDATES = 5


def judge_digest() -> str:
    """What evaluations must share to stand on one board of such a suite, in the place of a profile's digest."""
    return digest({"judge": JUDGE_VERSION, "indicators": list(INDICATORS)})


@dataclass(frozen=True, slots=True)
class JudgedPlan:
    """A plan as it was read, with its judgement."""

    plan: Plan
    tolerated: tuple[str, ...]
    judgement: Judgement
    indicators: dict[str, float]
    """The five of the paper, `valid`, and the agreement with the gold plan."""


def plan_context(*, suite: Suite, task: Task) -> PlanContext:
    """What plans for a task of such a suite are read against: all tools of its catalogue."""
    return suite.context(task=task, offered=frozenset(suite.catalogue.tools))


def judge(*, suite: Suite, task: ToolTask, value: object) -> JudgedPlan:
    """Read a plan in any accepted form and judge it.

    Raises:
        PlanSyntaxError: it cannot be read.
        ValueError: the task has no goal.
    """
    if task.goal is None or task.gold is None:
        raise ValueError(f"{suite.slug} {task.key} has no goal: {task.uncovered}")
    context = plan_context(suite=suite, task=task)
    parsed = read_plan(value=value, context=context)
    judgement = judge_plan(plan=parsed.plan, goal=task.goal, catalogue=suite.catalogue, files=task.files)
    near = agreement(plan=parsed.plan, gold=task.gold)
    valid = bool(parsed.plan.steps) and judgement.HR == 0 and not check_plan(plan=parsed.plan, context=context)
    return JudgedPlan(
        plan=parsed.plan,
        tolerated=parsed.tolerated,
        judgement=judgement,
        indicators={
            **{name: float(value) for name, value in judgement.indicators().items()},
            "SE_best": float(judgement.SE),
            "valid": float(valid),
            "node_f1": near.node_f1,
            "edge_f1": near.edge_f1,
            "parameter_f1": near.parameter_f1,
            "length": float(len(parsed.plan.steps)),
            "depth": float(depth(parsed.plan)),
        },
    )


class PlanningEvaluator:
    """Evaluates planners on one suite that judges plans."""

    def __init__(self, *, suite: Suite) -> None:
        self.suite = suite

    def run(self, *, planner: Planner, tasks: Sequence[str]) -> Iterator[ResultRecord]:
        """Evaluate a planner on the named tasks and yield each task's record as soon as it is complete.

        Raises:
            LookupError: a key names no task of the suite.
        """
        wanted = [self.suite.task(key) for key in tasks]
        for task in wanted:
            if task.gold is None:
                message = "No right plan is known for this request."
                yield not_run(new_record(suite=self.suite, task=task), reason=Reason.NO_GOAL, message=message)
        runnable = [task for task in wanted if task.gold is not None]
        for task, record, reply in ask_all(planner=planner, suite=self.suite, tasks=runnable, context=self._context):
            yield record if reply is None else self._judged(record, task=task, reply=reply)

    def _context(self, task: Task) -> PlanContext:
        return plan_context(suite=self.suite, task=task)

    def _judged(self, record: ResultRecord, *, task: Task, reply: PlannerReply) -> ResultRecord:
        assert isinstance(task, ToolTask)
        try:
            found = judge(suite=self.suite, task=task, value=reply.plan)
        except PlanSyntaxError as error:
            record = record.model_copy(update={"tolerated": list(error.tolerated)})
            return faulty(record, reason=Reason.UNPARSABLE_PLAN, message=f"The plan cannot be read: {error}.")
        best = max([found.judgement.SE, *self._alternatives(task=task, reply=reply)])
        goal = "; ".join(part.sentence() for part in task.goal.parts) if task.goal is not None else ""
        return record.model_copy(
            update={
                "outcome": Outcome.SCORED,
                "score": float(found.judgement.SE),
                "plan": plan_to_json(found.plan),
                "tolerated": list(found.tolerated),
                "problems": list(check_plan(plan=found.plan, context=self._context(task))),
                "indicators": {**found.indicators, "SE_best": float(best)},
                "explanations": {"goal": goal, **found.judgement.why},
            }
        )

    def _alternatives(self, *, task: ToolTask, reply: PlannerReply) -> Iterator[int]:
        for value in reply.alternatives[: MAX_CANDIDATES - 1]:
            try:
                yield judge(suite=self.suite, task=task, value=value).judgement.SE
            except PlanSyntaxError:
                yield 0
