"""What the tests of ControlLLM share: tools by name, subtasks, requests, and answering a conversation by hand."""

from collections.abc import Callable, Sequence

from evaluator.controlllm.strategies.planning import Toolbox
from evaluator.controlllm.strategies.subtasks import Resource, TypedSubtask
from evaluator.core.language_model import Answer, Call, Completion
from evaluator.core.planner import Expected, OfferedTool, PlannerRequest, RequestedTask
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.core.tools.types import ResourceType, Tool

ALL = tuple(CONTROLLLM.tools.values())
TOOLBOX = Toolbox.of(ALL)


def tools(*names: str) -> tuple[Tool, ...]:
    return tuple(CONTROLLLM[name] for name in names)


def kinds(*names: str) -> tuple[ResourceType, ...]:
    return tuple(ResourceType(name) for name in names)


def subtask(
    description: str,
    *,
    domains: Sequence[str] = ("image-perception",),
    returns: str = "mask",
    number: int = 0,
    **args: str,
) -> TypedSubtask:
    """A subtask with arguments by type: `subtask("...", image="a.png", text="dog")`."""
    return TypedSubtask(
        id=number,
        description=description,
        domains=tuple(domains),
        args=tuple(Resource(type=ResourceType(kind), value=value) for kind, value in args.items()),
        returns=(Resource(type=ResourceType(returns), value=f"<GENERATED>-{number}"),),
    )


def request(text: str, *, history: Sequence[dict] = (), **files: str) -> PlannerRequest:
    """A request with files by name without ending: `request("...", a_png="image")` gives `a.png`."""
    return PlannerRequest(
        suite="toolmini",
        task=RequestedTask(
            id="t", request=text, resources={name.replace("_", "."): kind for name, kind in files.items()}
        ),
        expects=Expected(type=None),
        tools=[
            OfferedTool(
                name=tool.name, description=tool.description, inputs=dict(tool.inputs), outputs=dict(tool.outputs)
            )
            for tool in ALL
        ],
        history=list(history),
    )


def said(text: str) -> Completion:
    return Completion(text=text)


def converse(conversation, answer: Callable[[Call], str]):
    """Answer every call of a conversation with a text; gives its result and the calls of each round."""
    rounds: list[Sequence[Call]] = []
    answers: list[Answer] | None = None
    while True:
        try:
            calls = next(conversation) if answers is None else conversation.send(answers)
        except StopIteration as end:
            return end.value, rounds
        rounds.append(calls)
        answers = [said(answer(call)) for call in calls]
