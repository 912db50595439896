"""Judging plans by ControlLLM's metrics. Nothing is executed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import evaluator
from evaluator.controlllm.toolbench.abstain.judging import (
    judge_refusal,
    refusal_indicators,
    solvable_indicators,
    with_accuracy_explained,
)
from evaluator.controlllm.toolbench.indicators import INDICATORS, judge_plan, missing_plan
from evaluator.controlllm.toolbench.indicators import Judgement as Indicators
from evaluator.controlllm.toolbench.measures import measures
from evaluator.controlllm.toolbench.settling import settlement
from evaluator.controlllm.toolbench.tasks import ToolTask
from evaluator.core.canonical_json import digest
from evaluator.core.planner import MAX_ALTERNATIVES
from evaluator.core.plans.abstaining import WRONGLY
from evaluator.core.plans.checks import check_plan
from evaluator.core.plans.model import ParsedPlan, Plan, PlanSyntaxError
from evaluator.core.records import Reason, TextPair
from evaluator.core.suites.base import Suite
from evaluator.episodes.judgement import Judgement, all_tools
from evaluator.episodes.parts import Planned
from evaluator.replies.read import read_plan
from evaluator.scoring.arbiters.base import Arbiter
from evaluator.scoring.causes.taxonomy import shortened

_NO_RULES = frozenset(
    {
        "levels.py", "mini", "plan_scores.py", "released", "right_plans.py",
    }
)  # fmt: skip
"""What of this folder has no say in a judgement; requests and gold are in the digest of the data."""
_FURTHER_RULES = ("core/plans", "replies", "scoring/metrics/planning.py")
"""In the package: how plans are read and compared with gold."""


@cache
def judge_digest() -> str:
    """What evaluations must share to stand on one board of such a suite, in the place of a profile's digest.

    Computed from the sources and the lexicon, so that nobody has to remember to change it.
    """
    package = Path(evaluator.__file__).parent
    own = [path for path in Path(__file__).parent.iterdir() if path.name not in _NO_RULES]
    further = [package / name for name in _FURTHER_RULES]
    files = [file for path in (*own, *further) for file in _files(path)]
    contents = {file.relative_to(package).as_posix(): file.read_text(encoding="utf-8") for file in files}
    return digest({"indicators": list(INDICATORS), "sources": contents})


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else [file for file in sorted(path.rglob("*")) if file.suffix in {".py", ".toml"}]


def _calls_nothing(plan: Plan) -> str:
    called = shortened(", ".join(dict.fromkeys(step.tool for step in plan.steps)))
    return f"No step calls a tool that there is, only {called}, so that the plan counts like a missing one."


@dataclass(frozen=True, slots=True)
class JudgedPlan:
    """A plan as it was read, with its judgement."""

    plan: Plan
    tolerated: tuple[str, ...]
    judgement: Indicators
    indicators: dict[str, float]
    """The five of the paper, those of `undecided_indicators`, `valid`, and the agreement with the gold plan."""
    pairs: tuple[TextPair, ...] = ()
    """The texts on which the rules are undecided and SE depends."""


def judge(*, suite: Suite, task: ToolTask, value: object, arbiter: Arbiter | None = None) -> JudgedPlan:
    """Read a plan in any accepted form and judge it.

    Raises:
        PlanSyntaxError: it cannot be read.
        ValueError: the task has no goal.
    """
    return judge_parsed(
        suite=suite,
        task=task,
        parsed=read_plan(value=value, context=all_tools(suite=suite, task=task)),
        arbiter=arbiter,
    )


def judge_parsed(*, suite: Suite, task: ToolTask, parsed: ParsedPlan, arbiter: Arbiter | None = None) -> JudgedPlan:
    """Judge a plan that was read.

    Args:
        suite: whose catalogue the plan calls.
        task: the request.
        parsed: the plan.
        arbiter: settles what the rules leave undecided; it changes nothing else.

    Raises:
        ValueError: the task has no goal.
    """
    if task.goal is None or task.gold is None:
        raise ValueError(f"{suite.slug} {task.key} has no goal: {task.uncovered}")
    if not task.goal.parts:
        refusal = judge_refusal(parsed.plan)
        indicators = refusal_indicators(parsed.plan)
        if task.withheld:
            # The task is one of a suite in which plans can meet every request: its columns are the five figures.
            indicators |= {name: float(value) for name, value in refusal.indicators().items()}
        return JudgedPlan(parsed.plan, parsed.tolerated, refusal, indicators)
    context = all_tools(suite=suite, task=task)
    judged = partial(
        judge_plan,
        plan=parsed.plan,
        goal=task.goal,
        catalogue=suite.catalogue,
        files=task.files,
        as_executed=suite.conditions.experts,
    )
    by_rules = judged()
    found = settlement(undecided=by_rules.undecided, arbiter=arbiter)
    judgement = judged(settle=found.settle) if found.settled else by_rules
    if not any(step.tool in suite.catalogue for step in parsed.plan.steps):
        # Nothing to do wrong would be a virtue in the columns that count wrong calls.
        judgement = missing_plan(_calls_nothing(parsed.plan) if parsed.plan.steps else WRONGLY)
    if suite.may_abstain:
        judgement = with_accuracy_explained(judgement, plan=parsed.plan)
    valid = bool(parsed.plan.steps) and judgement.HR == 0 and not check_plan(plan=parsed.plan, context=context)
    return JudgedPlan(
        plan=parsed.plan,
        tolerated=parsed.tolerated,
        judgement=judgement,
        indicators={
            **{name: float(value) for name, value in judgement.indicators().items()},
            **undecided_indicators(by_rules=by_rules, settled=judgement),
            "SE_best": float(judgement.SE),
            "valid": float(valid),
            **measures(plan=parsed.plan, gold=task.gold_profile, shortest=task.shortest, solves=bool(judgement.SE)),
            **(solvable_indicators(plan=parsed.plan, judgement=judgement) if suite.may_abstain else {}),
        },
        pairs=found.for_record(),
    )


def undecided_indicators(*, by_rules: Indicators, settled: Indicators) -> dict[str, float]:
    """Whether SE is still undecided, and its lower and upper end by the rules alone."""
    return {
        "undecided": float(bool(settled.undecided)),
        "SE_low": float(by_rules.SE),
        "SE_high": float(by_rules.SE or bool(by_rules.undecided)),
    }


class ToolJudge:
    """ControlLLM's metrics as a judge (`evaluator.episodes.judgement`)."""

    def __init__(self, *, arbiter: Arbiter | None = None) -> None:
        self._arbiter = arbiter

    def settled_by(self, arbiter: Arbiter) -> "ToolJudge":
        """See `SettleableJudge`."""
        return ToolJudge(arbiter=arbiter)

    def digest(self) -> str:
        """Digest of the rules."""
        return judge_digest()

    def not_judged(self, suite: Suite) -> Mapping[str, tuple[Reason, str]]:
        """The tasks without a goal."""
        return {
            task.key: (Reason.NO_GOAL, _why(getattr(task, "uncovered", "")))
            for task in suite.tasks
            if task.gold is None
        }

    def __call__(self, *, suite: Suite, planned: Planned) -> Judgement:
        """Judge the plan, and for `SE_best` the planner's alternatives: these at their lower ends by the rules."""
        task = planned.task
        assert isinstance(task, ToolTask)
        found = judge_parsed(suite=suite, task=task, parsed=planned.plan, arbiter=self._arbiter)
        best = max([found.judgement.SE, *self._alternatives(suite=suite, task=task, values=planned.reply.alternatives)])
        goal = "; ".join(part.sentence() for part in task.goal.parts) if task.goal is not None else ""
        return Judgement(
            score=float(found.judgement.SE),
            indicators=found.indicators | ({"SE_best": float(best)} if "SE_best" in found.indicators else {}),
            explanations={"goal": goal, **found.judgement.why},
            pairs=found.pairs,
            arbiter=self._arbiter.identity() if self._arbiter is not None and found.pairs else {},
        )

    def _alternatives(self, *, suite: Suite, task: ToolTask, values: Sequence[object]) -> Iterator[int]:
        for value in values[:MAX_ALTERNATIVES]:
            try:
                yield judge(suite=suite, task=task, value=value).judgement.SE
            except PlanSyntaxError:
                yield 0


def _why(why: str) -> str:
    return f"What this request wants is not known, so that no plan can be judged: {why or 'no right plan is known'}."
