"""Judges plans by ControlLLM's metrics, without executing them."""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Literal

import evaluator
from evaluator.controlllm.toolbench.indicators import INDICATORS, judge_plan, measures, missing_plan
from evaluator.controlllm.toolbench.indicators import Judgement as Indicators
from evaluator.controlllm.toolbench.meaning.guards import is_only_refused
from evaluator.controlllm.toolbench.meaning.sentences import base_forms, names_file
from evaluator.controlllm.toolbench.meaning.verdict import Pair, Verdict
from evaluator.controlllm.toolbench.tasks import ToolTask
from evaluator.core.canonical_json import digest
from evaluator.core.planner import MAX_ALTERNATIVES
from evaluator.core.plans.abstaining import WRONGLY
from evaluator.core.plans.checks import check_plan
from evaluator.core.plans.model import ParsedPlan, Plan, PlanSyntaxError
from evaluator.core.records import MOST_PAIRS, Reason, TextPair
from evaluator.core.suites.base import Suite
from evaluator.episodes.judgement import Judgement, all_tools
from evaluator.episodes.parts import Planned
from evaluator.replies.read import read_plan
from evaluator.scoring.arbiters.base import Arbiter, Question, Settled
from evaluator.scoring.arbiters.network import network_identity, shipped_network
from evaluator.scoring.causes.taxonomy import shortened

_NO_RULES = frozenset({"mini", "plan_scores.py", "released", "right_plans.py"})
"""Files of this folder that do not affect a judgement. Requests and gold are in the digest of the data."""
_FURTHER_RULES = ("core/plans", "replies", "scoring/metrics/planning.py")
"""Code that parses plans and compares them with gold, relative to the package."""
_SCORED_BY = ("scoring/metrics/results", "core/naming.py", "miniature/pictures")
"""Code that scores the results of executed plans, relative to the package."""
_PACKAGE = Path(evaluator.__file__).parent
_SUFFIXES = frozenset({".py", ".toml", ".bin"})
_VERDICTS = {"same": Verdict.SAME, "different": Verdict.DIFFERENT}


@cache
def judge_digest() -> str:
    """Digest of the rules, the lexicon and the network. For these suites it replaces the profile's digest."""
    own = [path for path in Path(__file__).parent.iterdir() if path.name not in _NO_RULES]
    further = [_PACKAGE / name for name in _FURTHER_RULES]
    network = dict(network_identity())
    return digest({"indicators": list(INDICATORS), "sources": _contents([*own, *further]), "network": network})


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else [file for file in sorted(path.rglob("*")) if file.suffix in _SUFFIXES]


def _contents(paths: Sequence[Path]) -> dict[str, str]:
    files = [file for path in paths for file in _files(path)]
    return {file.relative_to(_PACKAGE).as_posix(): _content(file) for file in files}


def _content(file: Path) -> str:
    """The text of a file, or the digest of a table."""
    if file.suffix == ".bin":
        return hashlib.sha256(file.read_bytes()).hexdigest()
    return file.read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class JudgedPlan:
    """A parsed plan with its judgement."""

    plan: Plan
    tolerated: tuple[str, ...]
    judgement: Indicators
    indicators: dict[str, float]
    """The paper's five, `undecided`, the range of SE by the rules, `valid`, and the agreement with the gold plan."""
    pairs: tuple[TextPair, ...] = ()
    """The undecided texts on which SE depends."""


def judge(*, suite: Suite, task: ToolTask, value: object, arbiter: Arbiter | None = None) -> JudgedPlan:
    """Parse a plan in any accepted form and judge it.

    Raises:
        PlanSyntaxError: the plan cannot be parsed.
        ValueError: the task has no goal.
    """
    parsed = read_plan(value=value, context=all_tools(suite=suite, task=task))
    return judge_parsed(suite=suite, task=task, parsed=parsed, arbiter=arbiter)


def judge_parsed(*, suite: Suite, task: ToolTask, parsed: ParsedPlan, arbiter: Arbiter | None = None) -> JudgedPlan:
    """Judge a parsed plan. A plan without steps abstains, whether it says so or not.

    Args:
        suite: has the catalogue that the plan calls.
        task: the request.
        parsed: the plan.
        arbiter: settles only what the rules leave undecided.

    Raises:
        ValueError: the task has no goal.
    """
    if task.goal is None or task.gold is None:
        raise ValueError(f"{suite.slug} {task.key} has no goal: {task.uncovered}")
    plan = parsed.plan
    if not task.goal.parts:
        return _judge_refusal(parsed, is_withheld=bool(task.withheld))
    rules = partial(
        judge_plan,
        plan=plan,
        goal=task.goal,
        catalogue=suite.catalogue,
        files=task.files,
        as_executed=suite.conditions.experts,
    )
    by_rules = rules()
    settled = settle_pairs(undecided=by_rules.undecided, request=task.text, arbiter=arbiter)

    def settle(pair: Pair) -> Verdict:
        answer = settled.get(pair)
        return Verdict.UNDECIDED if answer is None else _VERDICTS.get(answer.verdict, Verdict.UNDECIDED)

    judgement = rules(settle=settle) if settled else by_rules
    if overturned := overturned_pairs(refused=judgement.refused, request=task.text):
        settled |= overturned
        judgement = rules(settle=settle)
    if not any(step.tool in suite.catalogue for step in plan.steps):
        # Otherwise a plan without calls would be best in the columns that count wrong calls.
        tools = shortened(", ".join(dict.fromkeys(step.tool for step in plan.steps)))
        unknown = f"The plan calls only tools that do not exist ({tools}), so it counts as missing."
        judgement = missing_plan(unknown if plan.steps else WRONGLY)
    problems = check_plan(plan=plan, context=all_tools(suite=suite, task=task))
    is_undecided = float(bool(judgement.undecided))
    deciders = {answer.by for answer in settled.values()}
    last = "arbiter" if "arbiter" in deciders else "network" if "network" in deciders else "rules"
    indicators = {
        **{name: float(value) for name, value in judgement.indicators().items()},
        "undecided": is_undecided,
        **{f"decided_by_{who}": float(not is_undecided and who == last) for who in ("network", "arbiter")},
        "SE_low": float(by_rules.SE),
        "SE_high": float(by_rules.SE or bool(by_rules.undecided) or judgement.SE),
        "SE_best": float(judgement.SE),
        "valid": float(bool(plan.steps) and judgement.HR == 0 and not problems),
        **measures(plan=plan, gold=task.gold_profile, shortest=task.shortest, solves=bool(judgement.SE)),
    }
    if suite.may_abstain:
        reason = judgement.why["SE"] if plan.steps else WRONGLY
        judgement = replace(judgement, why={**judgement.why, "accuracy": reason})
        refusals = float(not plan.steps)
        indicators |= {"accuracy": indicators["SE"], "accuracy_undecided": is_undecided, "false_refusals": refusals}
    pairs = tuple(
        TextPair(
            kind=pair.kind,
            wanted=pair.wanted,
            given=pair.given,
            why=pair.why,
            verdict=answer.verdict,
            by=answer.by,
            answers=list(answer.answers),
            problem=answer.problem,
        )
        # A record has room for a few: those against the rules first.
        for pair, answer in sorted(settled.items(), key=lambda item: not item[0].refused)[:MOST_PAIRS]
    )
    return JudgedPlan(plan=plan, tolerated=parsed.tolerated, judgement=judgement, indicators=indicators, pairs=pairs)


def best_of(*, suite: Suite, task: ToolTask, judged: JudgedPlan, alternatives: Sequence[object]) -> float:
    """`SE_best`: SE of the best of a plan and its alternatives, which no arbiter settles.

    Beside a plan without steps, which abstains, alternatives are ignored: no plan could meet the request.

    Args:
        suite: has the catalogue that the plans call.
        task: the request.
        judged: the first plan.
        alternatives: further plans in any accepted form; unreadable ones are ignored.
    """
    solved = [judged.judgement.SE]
    for value in alternatives[:MAX_ALTERNATIVES] if judged.plan.steps else ():
        with suppress(PlanSyntaxError):
            solved.append(judge(suite=suite, task=task, value=value).judgement.SE)
    return float(max(solved))


def _judge_refusal(parsed: ParsedPlan, *, is_withheld: bool) -> JudgedPlan:
    """Judge the plan for a request that no plan can meet: SE is 1 if the planner abstained.

    Every call is irrelevant. No tool is necessary, so none is missing; resources and types do not matter.
    """
    abstained = not parsed.plan.steps
    right = "The planner abstained, and no plan can meet this request."
    missed = "No plan can meet this request; abstaining would have been right."
    why = dict.fromkeys(("SE", "accuracy"), right if abstained else missed)
    refusal = Indicators(IR=int(not abstained), NR=1, HR=0, CR=1, SE=int(abstained), why=why)
    indicators = {"accuracy": float(abstained), "accuracy_undecided": 0.0, "misses": float(not abstained)}
    if is_withheld:
        # The suite's other requests can be met: its columns are the five indicators.
        indicators |= {name: float(value) for name, value in refusal.indicators().items()}
    return JudgedPlan(plan=parsed.plan, tolerated=parsed.tolerated, judgement=refusal, indicators=indicators)


def settle_pairs(*, undecided: Sequence[Pair], request: str, arbiter: Arbiter | None) -> dict[Pair, Settled]:
    """Settle the pairs of one plan by the shipped network, and what it leaves undecided by an arbiter, if there is one.

    The network gets no text that is the whole request or names a file: the tool has no file but its own, and is asked
    for one thing. It can only refuse a text that names a thing where the whole picture is to be described or listed:
    some turnips are no description, which it does not know for certain. The same holds for texts that have little in
    common with what is wanted.
    Only the first `MOST_PAIRS` pairs are submitted; the others stay undecided. That bounds the cost of a plan.
    """
    settled: dict[Pair, Settled] = dict.fromkeys(undecided[:MOST_PAIRS], Settled(verdict="undecided"))
    deciders: tuple[tuple[Literal["network", "arbiter"], Arbiter | None], ...]
    deciders = ("network", shipped_network()), ("arbiter", arbiter)
    for who, decider in deciders:
        open_pairs = [
            pair
            for pair, answer in settled.items()
            if answer.verdict == "undecided" and not (who == "network" and _repeats(request, text=pair.given))
        ]
        if decider is None or not open_pairs:
            continue
        questions = [
            Question(kind=pair.kind, wanted=pair.wanted, given=pair.given, request=request) for pair in open_pairs
        ]
        for pair, answer in zip(open_pairs, decider.settle(questions), strict=True):
            if who == "network" and answer.verdict == "same" and is_only_refused(pair, request=request):
                answer = replace(answer, verdict="undecided", problem=_NOT_ACCEPTED)
            settled[pair] = replace(answer, by="" if answer.verdict == "undecided" else who)
    return settled


_NOT_ACCEPTED = "The network takes them for the same, which does not count for such texts."


def overturned_pairs(*, refused: Sequence[Pair], request: str) -> dict[Pair, Settled]:
    """The pairs of one plan that the rules refused and the shipped network accepts, by a threshold of its own."""
    open_pairs = [
        pair for pair in refused if not (_repeats(request, text=pair.given) or is_only_refused(pair, request=request))
    ][:MOST_PAIRS]
    questions = [
        Question(kind=pair.kind, wanted=pair.wanted, given=pair.given, request=request, refused=True)
        for pair in open_pairs
    ]
    answers = shipped_network().settle(questions)
    return {
        pair: replace(answer, by="network")
        for pair, answer in zip(open_pairs, answers, strict=True)
        if answer.verdict == "same"
    }


def _repeats(request: str, *, text: str) -> bool:
    return names_file(text) or base_forms(text) == base_forms(request)


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
        sentence = "The goal of this request is not known, so no plan can be judged: {}."
        return {
            task.key: (Reason.NO_GOAL, sentence.format(getattr(task, "uncovered", "") or "no right plan is known"))
            for task in suite.tasks
            if task.gold is None
        }

    def __call__(self, *, suite: Suite, planned: Planned) -> Judgement:
        """Judge the plan, and for `SE_best` the planner's alternatives."""
        task = planned.task
        assert isinstance(task, ToolTask)
        judged = judge_parsed(suite=suite, task=task, parsed=planned.plan, arbiter=self._arbiter)
        indicators = judged.indicators
        if "SE_best" in indicators:
            best = best_of(suite=suite, task=task, judged=judged, alternatives=planned.reply.alternatives)
            indicators = indicators | {"SE_best": best}
        goal = "; ".join(part.sentence() for part in task.goal.parts) if task.goal is not None else ""
        return Judgement(
            score=float(judged.judgement.SE),
            indicators=indicators,
            explanations={"goal": goal, **judged.judgement.why},
            pairs=judged.pairs,
            arbiter=self._arbiter.identity() if self._arbiter is not None and judged.pairs else {},
        )


class WorldJudge(ToolJudge):
    """The judge of suites that also execute plans; its digest covers the scores of results."""

    def digest(self) -> str:
        """Digest of the rules of judgements and scores."""
        return _executing_judge_digest()


@cache
def _executing_judge_digest() -> str:
    return digest({"judge": judge_digest(), "scores": _contents([_PACKAGE / name for name in _SCORED_BY])})
