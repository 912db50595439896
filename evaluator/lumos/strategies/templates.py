"""LUMOS's conversations as text, identical to the released code, including turn markers.

They are for checkpoints without a chat template. Results of actions are inserted without the action, as in LUMOS's
training data; its evaluators inserted the whole text after the last `=`.

The released code lacks the baselines. Their prompts (integrated, chain of thought and direct) follow its style.
"""

from collections.abc import Sequence

from evaluator.core.planner import OfferedTool, RequestedTask
from evaluator.core.turns import PastTurn
from evaluator.lumos.strategies.examples import Example

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
    """The request, followed by the names of its inputs. LUMOS appends captions of pictures likewise."""
    given = ", ".join(f"{name} ({kind})" for name, kind in task.resources.items())
    return f"{task.request} Given: {given}." if given else task.request


def plan_prompt(*, task: str, past: Sequence[PastTurn]) -> str:
    """The planning module's prompt: for the first turn, or after the results of the last subgoal."""
    text = USER + _PLAN.format(task) + ASSISTANT
    for turn in past:
        text += _next(turn, reply=_numbered(turn.subgoals, first=turn.index))
    return text


def ground_prompt(
    *, task: str, tools: Sequence[OfferedTool], past: Sequence[PastTurn], subgoals: Sequence[str], with_results: bool
) -> str:
    """The grounding module's prompt for the subgoals of a turn.

    Args:
        task: the request.
        tools: the offered tools.
        past: the earlier turns.
        subgoals: one subgoal, or all of a one-pass plan.
        with_results: whether to include the results of earlier subgoals, as for question answering.
    """

    def request(subgoals: Sequence[str], *, first: int) -> str:
        results = [
            f"The execution result for Subgoal {turn.index} is {result_of(turn)}."
            for turn in past
            if with_results and turn.index < first
        ]
        based = f" The grounding could be based on the following results: {' '.join(results)}" if results else ""
        word = "Subgoal" if len(subgoals) == 1 else "Subgoals"
        return f"{word} to be grounded: {_numbered(subgoals, first=first)}{based}{ASSISTANT}"

    text = USER + _GROUND.format(names=_names(tools), tools=_described(tools), task=task)
    for turn in past:
        text += f"{request(turn.subgoals, first=turn.index)}{_actions(turn)}\n{USER}"
    return text + request(subgoals, first=len(past) + 1)


def integrated_prompt(*, task: str, tools: Sequence[OfferedTool], past: Sequence[PastTurn]) -> str:
    """The prompt of a module that writes a subgoal with its actions."""
    text = USER + _INTEGRATED.format(task, names=_names(tools), tools=_described(tools)) + ASSISTANT
    for turn in past:
        text += _next(turn, reply=f"{_numbered(turn.subgoals, first=turn.index)} {ACTIONS}{_actions(turn)}")
    return text


def plan_examples(examples: Sequence[Example], *, at_once: bool) -> str:
    """Whole conversations of the planning module, before its prompt.

    Args:
        examples: solved tasks.
        at_once: whether a plan is made in one pass.
    """
    if at_once:
        return "".join(
            f"{plan_prompt(task=example.task, past=())}{_numbered(_subgoals(example), first=1)}\n"
            for example in examples
        )
    return "".join(f"{plan_prompt(task=example.task, past=example.turns)}{STOP}\n" for example in examples)


def ground_examples(
    examples: Sequence[Example], *, tools: Sequence[OfferedTool], at_once: bool, with_results: bool
) -> str:
    """Whole conversations of the grounding module, before its prompt. See `plan_examples` and `ground_prompt`."""
    text = ""
    for example in examples:
        *before, last = example.turns
        prompt = ground_prompt(
            task=example.task, tools=tools, past=() if at_once else before,
            subgoals=_subgoals(example) if at_once else last.subgoals, with_results=with_results,
        )  # fmt: skip
        text += f"{prompt}{'; '.join(map(_actions, example.turns)) if at_once else _actions(last)}\n"
    return text


def integrated_examples(examples: Sequence[Example], *, tools: Sequence[OfferedTool]) -> str:
    """Whole conversations of a module that writes subgoals with their actions, before its prompt."""
    return "".join(
        f"{integrated_prompt(task=example.task, tools=tools, past=example.turns)}{STOP}\n" for example in examples
    )


def reasoning_prompt(task: str) -> str:
    """The prompt of the chain-of-thought baseline."""
    return USER + _REASON.format(task) + ASSISTANT


def direct_prompt(task: str) -> str:
    """The prompt of the direct baseline."""
    return USER + _DIRECT.format(task) + ASSISTANT


def result_of(turn: PastTurn) -> str:
    """The result of a turn's last action, or its error."""
    if turn.error:
        return turn.error
    last = turn.results[-1] if turn.results else None
    if last is None:
        return "None"
    return last.error or list(last.outputs.values())[-1]


def _next(turn: PastTurn, *, reply: str) -> str:
    keep = KEEP if turn.index > 1 else ""
    question = f"The executed result for Subgoal {turn.index} is {result_of(turn)}. Should we stop planning?"
    return f"{keep}{reply}\n{USER}{question}{ASSISTANT}"


def _numbered(subgoals: Sequence[str], *, first: int) -> str:
    return "; ".join(f"Subgoal {number}: {text}" for number, text in enumerate(subgoals, start=first))


def _subgoals(example: Example) -> list[str]:
    return [subgoal for turn in example.turns for subgoal in turn.subgoals]


def _actions(turn: PastTurn) -> str:
    return "; ".join(result.action for result in turn.results)


def _names(tools: Sequence[OfferedTool]) -> str:
    return "{" + ", ".join(f"'{tool.name}'" for tool in tools) + "}"


def _described(tools: Sequence[OfferedTool]) -> str:
    described = (f"{tool.name}({', '.join(tool.inputs)}): {tool.description}" for tool in tools)
    return "{" + "; ".join(described) + "}"
