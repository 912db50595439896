"""The causes of one task, from its result record and the suite's sufficient plans. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from evaluator.core.plans.abstaining import abstains
from evaluator.core.plans.model import Plan, PlanContext, PlanSyntaxError, Problem
from evaluator.core.records import Outcome, Reason, ResultRecord
from evaluator.core.suites.base import ABSTENTION, EXACT, Suite, Task, right_plans_of
from evaluator.replies.canonical import parse_canonical
from evaluator.replies.read import read_plan
from evaluator.scoring.causes.of_episodes import of_answers, of_endings, of_failures
from evaluator.scoring.causes.plan_differences import differences
from evaluator.scoring.causes.taxonomy import Cause, Finding, shortened

_BY_REASON: Mapping[Reason, Cause] = MappingProxyType(
    {
        Reason.INVALID_RESPONSE: Cause.NO_RESPONSE,
        Reason.RESPONSE_TOO_LARGE: Cause.LARGE_RESPONSE,
        Reason.PLANNER_TIMEOUT: Cause.TIMEOUT,
        Reason.REFUSED_BY_ENDPOINT: Cause.REFUSED,
        Reason.PROMPT_TOO_LONG: Cause.PROMPT_TOO_LONG,
        Reason.ADDRESS_REFUSED: Cause.ADDRESS_REFUSED,
        Reason.UNPARSABLE_PLAN: Cause.UNREADABLE,
        Reason.INVALID_PLAN: Cause.INVALID,
        Reason.ABSTAINED: Cause.ABSTAINED,
        Reason.NO_PLAN: Cause.NO_PLAN,
        Reason.LIMIT_EXCEEDED: Cause.LIMIT_EXCEEDED,
        Reason.UNFIT_INPUT: Cause.UNFIT_INPUT,
        Reason.MODEL_UNUSABLE: Cause.MODEL_UNUSABLE,
        Reason.ENDED_WORKER: Cause.ENDED_WORKER,
        Reason.ENDPOINT_UNAVAILABLE: Cause.UNAVAILABLE,
        Reason.MODEL_UNAVAILABLE: Cause.SITE_FAULT,
        Reason.EXPERT_FAILED: Cause.SITE_FAULT,
        Reason.SCORER_FAILED: Cause.SITE_FAULT,
        Reason.WORKER_LOST: Cause.SITE_FAULT,
        Reason.INTERNAL_ERROR: Cause.SITE_FAULT,
    }
)
EXPLAINED = frozenset({Outcome.SCORED, Outcome.PLANNER_FAULT, Outcome.INFRA_FAULT})
"""Outcomes of tasks that ran. Other outcomes are not due to the planner."""


def of_fault(record: ResultRecord) -> Finding:
    """The finding for a task that ended with a fault, by its reason alone."""
    return finding_of_fault(outcome=record.outcome, reason=record.reason, text=record.reason_text)


def finding_of_fault(*, outcome: str | None, reason: str | None, text: str) -> Finding:
    """The finding for a fault.

    Args:
        outcome: `planner_fault`, or another one for a fault of the site.
        reason: a value of `Reason`; None, or one that only other releases know.
        text: what happened; may be empty.
    """
    unknown = Cause.INVALID if outcome == Outcome.PLANNER_FAULT else Cause.SITE_FAULT
    cause = _BY_REASON.get(Reason(reason), unknown) if reason in set(Reason) else unknown
    return Finding(cause=cause, given=shortened(text) if text else None)


_BY_CODE: Mapping[str, Cause] = MappingProxyType(
    {
        "unknown_tool": Cause.INVENTED_TOOL,
        "tool_not_offered": Cause.INVENTED_TOOL,
        "unexpected_input": Cause.INVENTED_TOOL,
        "unknown_output": Cause.INVENTED_TOOL,
        "missing_input": Cause.WRONG_INPUT,
        "unknown_reference": Cause.INVENTED_RESOURCE,
        "type_conflict": Cause.TYPE_CONFLICT,
        "answer_type": Cause.TYPE_CONFLICT,
        "answer_count": Cause.WRONG_ANSWERS,
        "cycle": Cause.INVALID,
        "duplicate_id": Cause.INVALID,
        "duplicate_output": Cause.INVALID,
    }
)
"""By the codes of `check_plan`."""
_INPUT = re.compile(r'input "([^"]+)"')


def of_problems(*, problems: Sequence[Problem], plan: Plan | None) -> tuple[Finding, ...]:
    """A finding for each problem. A misnamed input is not also reported as missing.

    Args:
        problems: problems of `check_plan`.
        plan: the plan; None if unknown.
    """
    tools = {step.id: step.tool for step in plan.steps} if plan is not None else {}
    misnamed = {problem.step for problem in problems if problem.code == "unexpected_input"}
    findings = []
    for problem in problems:
        if problem.code == "missing_input" and problem.step in misnamed:
            continue
        name = _INPUT.search(problem.message)
        # The message without the name of the step.
        _, separator, message = problem.message.partition('"): ')
        findings.append(
            Finding(
                cause=_BY_CODE.get(problem.code, Cause.INVALID), step=problem.step and shortened(problem.step),
                tool=shortened(tools[problem.step]) if problem.step and problem.step in tools else None,
                input=shortened(name[1]) if name else None,
                given=shortened(message if separator else problem.message),
            )
        )  # fmt: skip
    return tuple(dict.fromkeys(findings))


_TEXTS = (
    ("<Solution>", "decomposition"), ("Action", "printed actions"), ("{", "JSON"), ("[", "JSON"), ("(", "tree"),
    ("```", "text in a code block"),
)  # fmt: skip


def unreadable(*, received: object, context: PlanContext, message: str) -> Finding:
    """The finding for an answer that no parser of plans accepted.

    Args:
        received: the planner's answer; a long text may be cut.
        context: the context of the parser.
        message: the message in the record.
    """
    where = ""
    try:
        read_plan(value=received, context=context)
    except PlanSyntaxError as error:
        where, message = error.where, error.message
    place = f"{form_of(received)}, {where}" if where else form_of(received)
    return Finding(cause=Cause.UNREADABLE, where=shortened(place), given=shortened(message))


def form_of(received: object) -> str:
    """The apparent form of an answer, in a few words."""
    if isinstance(received, Mapping):
        if "tool_calls" in received:
            return "tool calls"
        return "a ControlLLM solution" if "solution" in received else "plan/1"
    if isinstance(received, list):
        first = received[0] if received else None
        if isinstance(first, Mapping) and "function" in first:
            return "tool calls"
        return "task list" if isinstance(first, Mapping) and "task" in first else "list of actions"
    if not isinstance(received, str):
        return "neither text nor JSON"
    start = received.lstrip()
    return next((form for opening, form in _TEXTS if start.startswith(opening)), "list of tools" if start else "empty")


MOST_FINDINGS = 24
"""Findings of one task; plans have up to a hundred steps."""
_RELATIVE = "relative"
"""The indicator of `evaluator.episodes.beside_gold`, which would load the engine."""
_SAME = 1e-6
"""Tolerance for rounded scores, whose means differ in their last digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseContext:
    """The reference for the causes on a suite."""

    suite: Suite
    """The evaluated suite; on the hidden split `suite_on_split(suite=..., split=..., hidden_seed=...)`."""
    gold_scores: Mapping[str, float] = field(default_factory=dict)
    """Measured scores of the gold plan on the same samples, by task. Other tasks are at the gold score if `relative` is
    1, if their plan is the gold plan, or if their score is 1."""


def causes_of(record: ResultRecord, *, context: CauseContext) -> tuple[Finding, ...]:
    """Why a task is below the gold score, main cause first, at most `MOST_FINDINGS`.

    Texts in findings are untrusted. If the sufficient plans are withheld, show `Finding.without_reference()`.

    Args:
        record: record of a task of the suite.
        context: the reference.

    Returns:
        No finding for a task that is at the gold score or did not run; at least one for every other.

    Raises:
        LookupError: the suite has no such task.
    """
    if (by_reason := causes_by_reason(record)) is not None:
        return by_reason
    task = context.suite.task(record.task)
    if record.outcome is Outcome.SCORED and is_at_gold_score(record, context=context):
        return ()
    findings = tuple(dict.fromkeys(_causes(record, task=task, suite=context.suite)))
    return findings[:MOST_FINDINGS] or (of_fault(record),)


def causes_by_reason(record: ResultRecord) -> tuple[Finding, ...] | None:
    """The causes of a task that follow from its record without the suite; None for other tasks."""
    if record.outcome not in EXPLAINED:
        return ()
    is_about_plan = record.outcome is Outcome.SCORED or record.reason in {Reason.UNPARSABLE_PLAN, Reason.INVALID_PLAN}
    if record.outcome is not Outcome.INFRA_FAULT and is_about_plan:
        return None
    return (of_fault(record),)


def is_at_gold_score(record: ResultRecord, *, context: CauseContext) -> bool:
    """Whether a scored task reaches the score of the gold plan on the same samples."""
    score = record.score if record.score is not None else 0.0
    if score >= 1 - _SAME:
        return True
    if any(column.key == _RELATIVE for column in context.suite.metrics):
        # The indicator is absent if the gold plan scores 0: no score is lower.
        return record.indicators.get(_RELATIVE, 1.0) >= 1 - _SAME
    if record.task in context.gold_scores:
        return score >= context.gold_scores[record.task] - _SAME
    return record.indicators.get(EXACT) == 1.0


def _causes(record: ResultRecord, *, task: Task, suite: Suite) -> Iterator[Finding]:
    all_tools = suite.context(task=task, offered=frozenset(suite.catalogue.tools))
    if record.outcome is Outcome.PLANNER_FAULT and record.reason is Reason.UNPARSABLE_PLAN:
        if record.transcripts:
            place = f"turn {len(record.transcripts[0].turns)}"
            yield Finding(cause=Cause.UNREADABLE, step=place, where=place, given=shortened(record.reason_text))
            return
        yield unreadable(received=record.plan_received, context=all_tools, message=record.reason_text)
        return
    transcripts = [
        transcript for transcript in record.transcripts if transcript.score is None or transcript.score < 1 - _SAME
    ]
    yield from of_endings(transcripts)
    ended = [transcript for transcript in transcripts if not of_endings([transcript])]
    if record.transcripts and not suite.named_inputs:
        failed = [transcript for transcript in ended if of_failures([transcript], gold=task.gold)]
        yield from of_failures(failed, gold=task.gold)
        others = [transcript for transcript in ended if transcript not in failed]
        yield from of_answers(others, gold=task.gold, indicators=record.indicators)
    elif ended or not record.transcripts:
        yield from of_failures(ended, gold=task.gold)
        yield from _of_plan(record, task=task, suite=suite, context=all_tools)


def _of_plan(record: ResultRecord, *, task: Task, suite: Suite, context: PlanContext) -> Iterator[Finding]:
    try:
        plan = None if record.plan is None else parse_canonical(value=record.plan, context=context).plan
    except PlanSyntaxError:
        plan = None
    if plan is None:
        yield of_fault(record)
        return
    wants_nothing = task.metric == ABSTENTION or (task.gold is not None and not task.gold.steps)
    if wants_nothing or not plan.steps:
        without = Cause.ABSTAINED if abstains(plan) else Cause.EMPTY_PLAN
        yield Finding(cause=Cause.NEEDLESS_PLAN if plan.steps else without)
        return
    right = right_plans_of(suite=suite, record=record, plan=plan)
    problems = of_problems(problems=record.problems, plan=plan)
    doubts = tuple(_of_pairs(record))
    # The order of a cyclic plan cannot be compared.
    is_cyclic = any(problem.code == "cycle" for problem in record.problems)
    deviations = () if right.is_sufficient or is_cyclic else differences(
        plan=plan, right=right, catalogue=context.known or context.catalogue, resources=task.resources
    )  # fmt: skip
    findings = (*problems, *doubts, *_without_doubles(deviations, problems=problems))
    # Without differences the experts of an executed plan are the cause.
    is_weak = (right.is_sufficient or suite.conditions.experts) and bool(right.plans)
    yield from findings or (Finding(cause=Cause.WEAK_EXPERT if is_weak else Cause.WRONG_ANSWER),)


def _of_pairs(record: ResultRecord) -> Iterator[Finding]:
    """Findings for pairs of texts that are different or undecided."""
    for pair in record.pairs:
        if pair.verdict != "same":
            cause = Cause.UNDECIDED if pair.verdict == "undecided" else Cause.WRONG_LITERAL
            yield Finding(cause=cause, wanted=shortened(pair.wanted), given=shortened(pair.given))


def _without_doubles(findings: Sequence[Finding], *, problems: Sequence[Finding]) -> Iterator[Finding]:
    """The differences that no problem reports."""
    reported = {(problem.step, problem.input) for problem in problems}
    invented = [problem for problem in problems if problem.cause is Cause.INVENTED_TOOL]
    unknown_steps = {problem.step for problem in invented if problem.input is None}
    misnamed_steps = {problem.step for problem in invented if problem.input is not None}
    has_answers = any(problem.step is None for problem in problems)
    for finding in findings:
        at = finding.step, finding.input
        is_reported = finding.input is not None and (at in reported or finding.step in misnamed_steps)
        is_answer = finding.cause is Cause.WRONG_ANSWERS and has_answers
        if not (is_reported or is_answer or (finding.step is not None and finding.step in unknown_steps)):
            yield finding
