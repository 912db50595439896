"""The words that a language model is given. They are our own, and none of them is taken from a task of the suite.

Free text (`zero_shot`, `few_shot`) is asked for in lines `Step n: ...`. Constrained generation asks as its models are
taught (`teaching`): with the request alone, behind it at most the input that is to be prepared or the plan so far.
"""

from collections.abc import Iterable, Sequence

from evaluator.core.language_model import Message
from evaluator.core.planner import OfferedTool, PlannerRequest
from evaluator.openagi.strategies.demonstrations import Demonstration

VERSION = 1
"""Raised whenever the words for free text change; the notes of a task name it."""
STEPS_ARE_OVER = ("\nRequest:",)
"""What follows is no longer the answer: some models go on with a request of their own."""
_ASKED = "Plan which models to run, in the order in which they must run. Write one line per model, as in `Step 1: ...`."
_NAMED = "Use the models' names. Where a model could work on several inputs, say on which one."
_NOTHING_ELSE = "Write nothing but the steps."


def zero_shot_prompt(*, request: PlannerRequest, names_tools: bool = True) -> tuple[Message, ...]:
    """The request, and what there is to be run.

    Args:
        names_tools: without them, what is written can only be mapped by what it says.
    """
    parts = [_ASKED]
    if names_tools:
        parts += [_NAMED, _NOTHING_ELSE, "", "Models:", *(f"- {_described(tool)}" for tool in request.tools)]
    else:
        parts += [_NOTHING_ELSE]
    return _user([*parts, "", f"Request: {request.task.request}", "Plan:"])


def few_shot_prompt(*, request: PlannerRequest, demonstrations: Sequence[Demonstration]) -> tuple[Message, ...]:
    """Demonstrations, and the request in the same form."""
    parts = [f"{_ASKED} {_NOTHING_ELSE}"]
    for shown in demonstrations:
        parts += ["", f"Request: {shown.request}", "Plan:"]
        parts += [f"Step {number}: {line}" for number, line in enumerate(shown.steps, start=1)]
    return _user([*parts, "", f"Request: {request.task.request}", "Plan:"])


def sequence_prompt(*, request: str, so_far: str = "") -> tuple[Message, ...]:
    """The request, and the plan so far as a tree, for the names that follow.

    OpenAGI, section 5: the sequences that were generated are appended to the request.
    """
    return _user([f"{request} {so_far}".rstrip()])


def branch_prompt(*, request: str, resource: str) -> tuple[Message, ...]:
    """The request, and which of its inputs the names are for."""
    return _user([f"{request} Input: {resource}"])


def _described(tool: OfferedTool) -> str:
    return f"{tool.name} (from {_and(tool.inputs.values())} to {_and(tool.outputs.values())}): {tool.description}"


def _and(kinds: Iterable[str]) -> str:
    return " and ".join(kinds)


def _user(lines: Sequence[str]) -> tuple[Message, ...]:
    return (Message(role="user", content="\n".join(lines)),)
