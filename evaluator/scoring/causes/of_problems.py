"""From the problems that checks found in a plan to findings. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from evaluator.core.plans.model import Plan, Problem
from evaluator.scoring.causes.taxonomy import Cause, Finding, shortened

_CAUSES: Mapping[str, Cause] = MappingProxyType(
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
    """A finding for each problem. Of a misnamed input it says only that the name was invented, not that one is missing.

    Args:
        problems: as checks found them.
        plan: in which they were found; None where it is not known.
    """
    tools = {step.id: step.tool for step in plan.steps} if plan is not None else {}
    misnamed = {problem.step for problem in problems if problem.code == "unexpected_input"}
    kept = (one for one in problems if not (one.code == "missing_input" and one.step in misnamed))
    return tuple(dict.fromkeys(_findings(kept, tools=tools)))


def _findings(problems: Iterator[Problem], *, tools: Mapping[str, str]) -> Iterator[Finding]:
    for problem in problems:
        cause = _CAUSES.get(problem.code, Cause.INVALID)
        named = _INPUT.search(problem.message)
        yield Finding(
            cause=cause, step=problem.step and shortened(problem.step),
            tool=shortened(tools[problem.step]) if problem.step and problem.step in tools else None,
            input=shortened(named[1]) if named else None, given=_without_title(problem.message),
        )  # fmt: skip


def _without_title(message: str) -> str:
    """What is wrong, without which step it is about."""
    _, separator, rest = message.partition('"): ')
    return shortened(rest if separator else message)
