"""Records of results without a database: what a stranger's record must satisfy, and the fields of its row."""

import re
from math import fsum, inf
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError

from evaluator.core.records import Outcome, PlannerCall, ResultRecord
from evaluator.core.storable import keepable_text
from evaluator.core.suites.registry import suite_of
from evaluator.core.transcripts import summary_of
from evaluator.scoring.metrics.aggregate import indicators_of_samples, scores_of_samples
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.results.figures import mark_columns

_MOST_TOKENS = 2**31 - 1
"""Maximum of the database column."""
_MOST_SECONDS = 10_000_000
_MOST_INDICATORS = 30
_MOST_LABELS = 64
_LONGEST_LABEL = 80
_MOST_STEPS = 1000
"""More than any parser accepts."""
_SAME_SCORE = 1e-9
"""Tolerance for sums of the same numbers in another order."""


def problem_of(record: ResultRecord, *, suite: Suite, samples: int) -> str:
    """Why pages and boards cannot use a record, as the rest of a sentence; empty if they can.

    Args:
        record: whose outcome and score go together.
        suite: of the record's task.
        samples: of the evaluation.
    """
    measured = record.outcome in {Outcome.SCORED, Outcome.PLANNER_FAULT}
    if measured != (record.score is not None):
        rule = "needs a score" if measured else "must not have a score"
        return f"outcome {record.outcome} {rule}"
    if record.outcome is not Outcome.SCORED and record.reason is None:
        return f"outcome {record.outcome} needs a reason"
    return (
        _problem_of_figures(record=record, suite=suite)
        or _problem_of_shape(record, most_samples=samples)
        or _problem_of_samples(record)
    )


def seconds_of(record: ResultRecord) -> float:
    """Seconds of the planner and of all steps."""
    planning = record.planner.seconds if record.planner else 0.0
    return planning + sum(step.seconds for sample in record.samples for step in sample.steps)


def usage_fields(call: PlannerCall | None) -> dict[str, Any]:
    """The usage fields of a task's row; empty if its planner was not called."""
    if call is None:
        return {}
    # Planners report tokens; an impossible number must not cost a result.
    prompt, completion, cached = (
        tokens if tokens is not None and 0 <= tokens <= _MOST_TOKENS else None
        for tokens in (call.prompt_tokens, call.completion_tokens, call.cached_tokens)
    )
    return {
        "planning_seconds": call.seconds,
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "cached_tokens": None if prompt is None or not cached else min(cached, prompt),
    }


_MOST_ROLES = 16
_ROLE = re.compile(r"[a-z][a-z0-9_-]{0,39}")


def role_usage(call: PlannerCall | None) -> dict[str, dict[str, float]]:
    """Usage by role of a task's row, without names and numbers that no strategy has."""
    known = {} if call is None else {role: usage for role, usage in call.roles.items() if _ROLE.fullmatch(role)}
    return {
        role: {
            name: value
            for name, value in usage.model_dump().items()
            if value is not None and 0 <= value <= _MOST_TOKENS
        }
        for role, usage in sorted(known.items())[:_MOST_ROLES]
    }


class _Step(BaseModel):
    """The fields of a plan's step that pages use."""

    id: str
    tool: str
    inputs: dict[str, str] = {}
    outputs: dict[str, str] = {}


class _Plan(BaseModel):
    """The fields of a plan that pages use."""

    steps: Annotated[list[_Step], Field(max_length=_MOST_STEPS)]
    answers: Annotated[list[str], Field(max_length=_MOST_STEPS)]
    subgoals: list[str] | None = None


def _problem_of_figures(*, record: ResultRecord, suite: Suite) -> str:
    """The first impossible figure, as a sentence: it could outweigh all others in a mean."""
    further = [answer.score for sample in record.samples for answer in sample.further]
    for score in (record.score, *(sample.score for sample in record.samples), *further):
        if score is not None and not -1 <= score <= 1:
            return f"a score is {score}; scores are in [-1, 1]"
    steps = [step.seconds for sample in record.samples for step in sample.steps]
    for seconds in [*steps, record.planner.seconds if record.planner else 0.0]:
        if not 0 <= seconds <= _MOST_SECONDS:
            return f"something took {seconds} seconds; these are from 0 to {_MOST_SECONDS}"
    if record.outcome is not Outcome.SCORED:
        return ""
    marks = mark_columns(suite.columns)
    if missing := [column.key for column in marks if not 0 <= record.indicators.get(column.key, -1) <= 1]:
        return f"a judged plan needs {', '.join(missing)} in [0, 1]"
    for column in suite.columns:
        value = record.indicators.get(column.key) if column.indicator else None
        if value is None:
            continue
        by_sample = indicators_of_samples(record).get(column.key, [])
        high = inf if column.high is None else column.high
        if outside := [figure for figure in (value, *by_sample) if not column.low <= figure <= high]:
            return f"its {column.key} is {outside[0]}; it is from {column.low:g} to {high:g}"
        if by_sample and abs(fsum(by_sample) / len(by_sample) - value) > _SAME_SCORE:
            return f"its {column.key} is {value}, which is not the mean of its samples"
        if column.undecided and value > 0 and record.indicators.get(column.undecided, 0.0) > 0:
            return f"its {column.key} is {value}, although it is {column.undecided}: it counts 0 then"
    return ""


def _problem_of_samples(record: ResultRecord) -> str:
    """Why the samples are inconsistent with the score, as a sentence: boards compute means and intervals from samples
    and compare results with the same number of samples."""
    if record.outcome is not Outcome.SCORED:
        return ""
    if sorted(sample.index for sample in record.samples) != list(range(len(record.samples))):
        return "its samples are not numbered from 0, each once"
    scores = scores_of_samples(record)
    mean = fsum(scores) / len(scores) if scores else record.score
    if record.score is None or mean is None or abs(mean - record.score) > _SAME_SCORE:
        return f"its score is {record.score}; the mean of its samples is {mean}"
    return ""


def _problem_of_shape(record: ResultRecord, *, most_samples: int) -> str:
    """The first field that no evaluator produces and that pages could not show, as a sentence."""
    if record.plan is not None:
        try:
            _Plan.model_validate(record.plan)
        except ValidationError as error:
            first = error.errors()[0]
            return f"`plan` is not a plan/1: {'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
    if len(record.indicators) > _MOST_INDICATORS or any(len(name) > 40 for name in record.indicators):
        return f"it has more than {_MOST_INDICATORS} indicators, or one with a name of more than 40 characters"
    if len(record.samples) > most_samples:
        return f"it has {len(record.samples)} samples; the evaluation has {most_samples}"
    if any(len(sample.steps) > _MOST_STEPS for sample in record.samples):
        return f"a sample has more than {_MOST_STEPS} steps"
    return ""


def plan_summary(record: ResultRecord) -> str:
    """Tool names of the parsed plan in order, for tables; truncated to 400 characters."""
    steps = record.plan.get("steps") if isinstance(record.plan, dict) else None
    listed = steps if isinstance(steps, list) else []
    names = [str(step.get("tool", "?")) for step in listed if isinstance(step, dict)]
    text = keepable_text(" → ".join(names))
    return text if len(text) <= 400 else text[:399] + "…"


def episodes_of(record: ResultRecord) -> dict[str, Any]:
    """The summary of a record's episodes for its row; empty without episodes."""
    summary = summary_of(record.transcripts)
    if summary is None:
        return {}
    problems = [problem.model_copy(update={"tool": keepable_text(problem.tool)}) for problem in summary.problems]
    try:
        labels_of = suite_of(record.suite).labels
    except LookupError:
        labels_of = None
    labels = {
        name: [keepable_text(value)[:_LONGEST_LABEL] for value in values[:_MOST_LABELS]]
        for name, values in (labels_of(record) if labels_of else {}).items()
    }
    return summary.model_copy(update={"problems": problems, "labels": labels}).model_dump(mode="json")
