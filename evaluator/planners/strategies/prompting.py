"""What the prompts of several strategies share: the request, its resources and its tools in words; texts read back.

Nothing here knows more than the request does: tools, types and resources come from it alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Completion, GenerateCall, Message
from evaluator.core.planner import OfferedTool, PlannerRequest
from evaluator.core.plans.model import ParsedPlan, PlanContext, PlanSyntaxError, plan_to_json
from evaluator.core.strategy import Draft
from evaluator.core.tools.types import Catalogue, ResourceType, Tool

MAX_COMPLETION = 64 * 1024
"""Characters of a completion that are read; no plan needs as many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What is asked, and under which name it stands in the notes."""

    name: str
    """Changed whenever the words change, as in `visprog/2`."""
    messages: tuple[Message, ...]


def ask(prompt: Prompt, *, max_tokens: int = 1024, stop: tuple[str, ...] = ()) -> GenerateCall:
    """The call that continues a prompt, always the same for the same prompt."""
    return GenerateCall(messages=prompt.messages, max_tokens=max_tokens, stop=stop)


def context_of(request: PlannerRequest) -> PlanContext:
    """What a plan for a request is read against: the facts in the request.

    Raises:
        ValueError: a type in the request is none that this release knows.
    """
    return PlanContext(
        catalogue=Catalogue(
            name=request.suite, tools=MappingProxyType({tool.name: _tool(tool) for tool in request.tools})
        ),
        resources={name: ResourceType(kind) for name, kind in request.task.resources.items()},
        expects=None if request.expects.type is None else ResourceType(request.expects.type),
        several=tuple(map(ResourceType, request.expects.types)),
    )


def reference_to(resource: str) -> str:
    """How plans and prompts name a resource of the request: `$image`, or a file by its name, `cat.png`."""
    return f"${resource}" if resource.isidentifier() else resource


def resource_named(*, written: str, request: PlannerRequest) -> str | None:
    """The reference to the resource that a text names, with or without `$`; None if it names none."""
    name = written.strip().removeprefix("$")
    return reference_to(name) if name in request.task.resources else None


def given_lines(request: PlannerRequest) -> str:
    """What the request gives, a line for each; a sentence if it gives nothing."""
    lines = [f"- {reference_to(name)} ({kind})" for name, kind in request.task.resources.items()]
    return "\n".join(lines) or "- nothing but the words of the request"


def tool_lines(request: PlannerRequest) -> str:
    """The offered tools with names, types and what they do, a line for each."""
    return "\n".join(f"- {_signature(tool)}: {tool.description}" for tool in request.tools)


def wanted(request: PlannerRequest) -> str:
    """A sentence on what the answer must be."""
    if request.expects.types:
        answers = ", ".join(request.expects.types)
        return f"The plan must have {len(request.expects.types)} answers, in the order of the request: {answers}."
    if request.expects.type is None:
        return "The request may want one result or several, of any type."
    return f"The answer must be one result of the type {request.expects.type}."


def read_draft(
    *,
    parsed: ParsedPlan | PlanSyntaxError,
    completions: Sequence[Completion],
    prompt: str,
    notes: Mapping[str, JsonValue] = MappingProxyType({}),
) -> Draft:
    """The draft for what a strategy's own parser made of completions, with the notes that all such strategies keep.

    Args:
        parsed: the plan, or why there is none.
        completions: what the language model wrote, turn by turn.
        prompt: the prompt's name.
        notes: further notes of the strategy.
    """
    texts = [shortened(completion.text) for completion in completions]
    common: dict[str, JsonValue] = {"prompt": prompt, "completions": list(texts), **notes}
    if any(completion.truncated for completion in completions):
        common["truncated"] = True
    if isinstance(parsed, PlanSyntaxError):
        common |= {"tolerated": list(parsed.tolerated), "unreadable": str(parsed)}
        return Draft(plan=shortened("\n".join(texts)), unreadable=str(parsed), notes=common)
    common |= {"form": parsed.form, "tolerated": list(parsed.tolerated)}
    return Draft(plan=plan_to_json(parsed.plan), notes=common)


def shortened(text: str) -> str:
    """A completion as it is kept: cut where it is longer than any plan needs."""
    return text if len(text) <= MAX_COMPLETION else text[:MAX_COMPLETION] + f" ... ({len(text)} characters)"


def refuse_too_long(text: str) -> None:
    """Refuse a completion that is longer than any plan needs, before any of it is read.

    Raises:
        PlanSyntaxError: it is.
    """
    if len(text) > MAX_COMPLETION:
        raise PlanSyntaxError(f"{len(text)} characters; at most {MAX_COMPLETION} are read")


def _signature(tool: OfferedTool) -> str:
    takes = ", ".join(f"{name}: {kind}" for name, kind in tool.inputs.items())
    return f"{tool.name}({takes}) -> {', '.join(tool.outputs.values())}"


def _tool(offered: OfferedTool) -> Tool:
    return Tool(
        name=offered.name,
        domain="",
        description=offered.description,
        inputs={name: ResourceType(kind) for name, kind in offered.inputs.items()},
        outputs={name: ResourceType(kind) for name, kind in offered.outputs.items()},
    )
