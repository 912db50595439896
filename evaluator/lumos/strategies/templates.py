"""LUMOS's conversations as texts: exactly those of the released code, turn markers included.

They are for checkpoints without a chat template. The results of actions are the bare results, as in LUMOS's training
data; its evaluators fed back the whole text after the last `=`.

Not from the released code are the prompts of the baselines, which it does not have: integrated, chain of thought and
direct, in the same style.
"""

from collections.abc import Sequence

from evaluator.core.planner import OfferedTool, RequestedTask
from evaluator.core.turns import PastTurn

USER, ASSISTANT = "<|user|>\n", "\n<|assistant|>\n"
KEEP, STOP = "No, I will keep planning. ", "Yes, I will stop planning."
ANSWER_IS = "The answer is "
ACTIONS = "Actions: "
_TASK = "Task: {}; Initial Environment Description: None."
_PLAN = "Please provide a reasonable subgoal-based plan to solve the given task.\n" + _TASK
_GROUND = (
    "Please ground the given subgoal to corresponding executable actions for solving the given task. The grounded "
    "actions must be the one in available action list.\n\nThe available action list is {names}.\n{tools}\n\n"
    "Task: {task} \n"
)
_INTEGRATED = (
    "Please provide a reasonable subgoal with its executable actions to solve the given task step by step. The actions "
    "must be the one in available action list.\n\nThe available action list is {names}.\n{tools}\n\n" + _TASK
)
_REASON = "Please reason step by step to solve the given task.\n" + _TASK
_DIRECT = "Please answer the given task.\n" + _TASK


def task_text(task: RequestedTask) -> str:
    """The request, with the names of what it gives behind it, as LUMOS appends captions of pictures."""
    given = ", ".join(f"{name} ({kind})" for name, kind in task.resources.items())
    return f"{task.request} Given: {given}." if given else task.request


def plan_prompt(*, task: str, past: Sequence[PastTurn]) -> str:
    """The planning module's prompt: the first turn, or the one after the results of the last subgoal."""
    text = USER + _PLAN.format(task) + ASSISTANT
    for turn in past:
        text += _next(turn, reply="; ".join(_numbered(turn)))
    return text


def ground_prompt(
    *, task: str, tools: Sequence[OfferedTool], past: Sequence[PastTurn], subgoals: Sequence[str], with_results: bool
) -> str:
    """The grounding module's prompt for the subgoals of a turn.

    Args:
        task: the request.
        tools: what is offered.
        past: the turns before.
        subgoals: one, or all of a one-pass plan.
        with_results: whether the results of earlier subgoals are told, as for questions and answers.
    """
    text = USER + _GROUND.format(names=_names(tools), tools=_described(tools), task=task)
    for turn in past:
        text += f"{_wanted(turn.subgoals, first=turn.index)}{_based(past, before=turn.index) if with_results else ''}"
        text += f"{ASSISTANT}{_actions(turn)}\n{USER}"
    number = len(past) + 1
    return f"{text}{_wanted(subgoals, first=number)}{_based(past, before=number) if with_results else ''}{ASSISTANT}"


def integrated_prompt(*, task: str, tools: Sequence[OfferedTool], past: Sequence[PastTurn]) -> str:
    """The prompt of a module that gives a subgoal and its actions together."""
    text = USER + _INTEGRATED.format(task, names=_names(tools), tools=_described(tools)) + ASSISTANT
    for turn in past:
        text += _next(turn, reply=f"{'; '.join(_numbered(turn))} {ACTIONS}{_actions(turn)}")
    return text


def reasoning_prompt(task: str) -> str:
    """The prompt of the chain-of-thought baseline."""
    return USER + _REASON.format(task) + ASSISTANT


def direct_prompt(task: str) -> str:
    """The prompt of the baseline that answers at once."""
    return USER + _DIRECT.format(task) + ASSISTANT


def result_of(turn: PastTurn) -> str:
    """The bare result of a turn: that of its last action, or why there is none."""
    if turn.error:
        return turn.error
    last = turn.results[-1] if turn.results else None
    if last is None:
        return "None"
    return last.error or list(last.outputs.values())[-1]


def _next(turn: PastTurn, *, reply: str) -> str:
    keep = KEEP if turn.index > 1 else ""
    told = f"The executed result for Subgoal {turn.index} is {result_of(turn)}. Should we stop planning?"
    return f"{keep}{reply}\n{USER}{told}{ASSISTANT}"


def _numbered(turn: PastTurn) -> list[str]:
    return [f"Subgoal {number}: {text}" for number, text in enumerate(turn.subgoals, start=turn.index)]


def _wanted(subgoals: Sequence[str], *, first: int) -> str:
    word = "Subgoal" if len(subgoals) == 1 else "Subgoals"
    listed = "; ".join(f"Subgoal {number}: {text}" for number, text in enumerate(subgoals, start=first))
    return f"{word} to be grounded: {listed}"


def _based(past: Sequence[PastTurn], *, before: int) -> str:
    told = [
        f"The execution result for Subgoal {turn.index} is {result_of(turn)}." for turn in past if turn.index < before
    ]
    return f" The grounding could be based on the following results: {' '.join(told)}" if told else ""


def _actions(turn: PastTurn) -> str:
    return "; ".join(result.action for result in turn.results)


def _names(tools: Sequence[OfferedTool]) -> str:
    return "{" + ", ".join(f"'{tool.name}'" for tool in tools) + "}"


def _described(tools: Sequence[OfferedTool]) -> str:
    described = (f"{tool.name}({', '.join(tool.inputs)}): {tool.description}" for tool in tools)
    return "{" + "; ".join(described) + "}"
