"""The result of a test call, formatted for the page."""

import json
from collections.abc import Mapping
from typing import NamedTuple

from evaluator.planners.trials.trial import Trial

_LONGEST_REQUEST = 6000


class ShownStep(NamedTuple):
    """A step of the plan as it was read."""

    tool: str
    inputs: str


class ShownTrial(NamedTuple):
    """A test call."""

    passed: bool
    verdict: str
    """In a few words."""
    problem: str
    """What is wrong, or what the plan would score, as a sentence."""
    problems: tuple[str, ...]
    suite: str
    task: str
    request_text: str
    """What the task asks for."""
    request: str
    """The whole body that was sent, as JSON."""
    status: str
    seconds: str
    answer: str
    cut: str
    """How much of the answer is not shown; empty: all is."""
    steps: tuple[ShownStep, ...]
    tolerated: tuple[str, ...]
    usage: str
    example: str
    """How a plan looks, as JSON, where the answer held none; empty: it held one."""


def shown_trial(trial: Trial) -> ShownTrial:
    """The call for the page."""
    request = json.dumps(trial.request.model_dump(mode="json"), ensure_ascii=False, indent=1)
    plan = trial.plan if isinstance(trial.plan, dict) else {}
    steps = plan.get("steps")
    shown = len(trial.answer.encode())
    return ShownTrial(
        passed=trial.passed,
        verdict=trial.verdict.label,
        problem=trial.problem or trial.judgement,
        problems=trial.problems,
        suite=trial.suite,
        task=trial.task,
        request_text=trial.request.task.request,
        request=request if len(request) <= _LONGEST_REQUEST else request[:_LONGEST_REQUEST] + "\n… (cut)",
        status="no answer" if trial.status is None else f"HTTP {trial.status}",
        seconds=f"{trial.seconds:.2f} s",
        answer=_pretty(trial.answer) if trial.answer_bytes == shown else trial.answer,
        cut=f"{shown:,} of {trial.answer_bytes:,} bytes" if trial.answer_bytes > shown else "",
        steps=tuple(_step(step) for step in steps if isinstance(step, dict)) if isinstance(steps, list) else (),
        tolerated=trial.tolerated,
        usage=_usage(trial),
        example="" if trial.example is None else json.dumps(trial.example, ensure_ascii=False, indent=1),
    )


def _step(step: Mapping[str, object]) -> ShownStep:
    inputs = step.get("inputs")
    named = ", ".join(f"{name}: {value}" for name, value in inputs.items()) if isinstance(inputs, dict) else ""
    return ShownStep(tool=str(step.get("tool", "?")), inputs=named)


def _pretty(text: str) -> str:
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=1)
    except (ValueError, RecursionError):
        return text


def _usage(trial: Trial) -> str:
    reported = [
        f"{count:,} {name} tokens"
        for name, count in (("prompt", trial.prompt_tokens), ("completion", trial.completion_tokens))
        if count is not None
    ]
    more = [f"{trial.alternatives} alternative{'' if trial.alternatives == 1 else 's'}"] if trial.alternatives else []
    return ", ".join([*reported, *more])
