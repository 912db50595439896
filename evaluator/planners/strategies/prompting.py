"""Common parts of strategies' prompts: the request, its resources and its tools in words; drafts of completions.

Tools, types and resources come from the request alone; only aliases of arguments come from the installed suite.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Completion, GenerateCall, Message, ToolDefinition
from evaluator.core.marks import given_mark, in_words
from evaluator.core.planner import PlannerRequest
from evaluator.core.plans.abstaining import FORM as ABSTENTION
from evaluator.core.plans.abstaining import abstention
from evaluator.core.plans.model import ParsedPlan, PlanContext, PlanSyntaxError, plan_to_json
from evaluator.core.strategy import Draft
from evaluator.core.suites.registry import suite_of
from evaluator.core.tools.types import Catalogue, ResourceType, Tool

MAX_COMPLETION = 64 * 1024
"""Maximum number of characters of a completion, far more than a plan needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The messages of a prompt, with its name for the notes."""

    name: str
    """Versioned, as in `visprog/2`: changes with the wording."""
    messages: tuple[Message, ...]


def ask(
    prompt: Prompt,
    *,
    max_tokens: int = 1024,
    stop: tuple[str, ...] = (),
    tools: tuple[ToolDefinition, ...] = (),
    schema: Mapping[str, JsonValue] | None = None,
) -> GenerateCall:
    """The call that continues a prompt, by greedy decoding."""
    return GenerateCall(messages=prompt.messages, max_tokens=max_tokens, stop=stop, tools=tools, schema=schema)


def closed_object(properties: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """JSON schema of an object with exactly these properties."""
    return {
        "type": "object", "properties": dict(properties), "required": [*properties], "additionalProperties": False,
    }  # fmt: skip


def context_of(request: PlannerRequest) -> PlanContext:
    """The context in which a plan for a request is parsed and checked.

    Raises:
        ValueError: the request has a type that this release does not know.
    """
    return PlanContext(
        catalogue=Catalogue(
            name=request.suite,
            tools=MappingProxyType(
                {
                    tool.name: Tool(
                        name=tool.name,
                        domain="",
                        description=tool.description,
                        inputs={name: ResourceType(kind) for name, kind in tool.inputs.items()},
                        outputs={name: ResourceType(kind) for name, kind in tool.outputs.items()},
                    )
                    for tool in request.tools
                }
            ),
            argument_aliases=_argument_aliases(request.suite),
        ),
        resources={name: ResourceType(kind) for name, kind in request.task.resources.items()},
        expects=None if request.expects.type is None else ResourceType(request.expects.type),
        several=tuple(map(ResourceType, request.expects.types)),
    )


def _argument_aliases(suite: str) -> Mapping[str, tuple[str, ...]]:
    """The aliases of arguments that the catalogue of a suite declares; none for a suite that is not installed."""
    try:
        return suite_of(suite).catalogue.argument_aliases
    except LookupError:
        return {}


def reference_to(resource: str) -> str:
    """The reference to a resource of the request in plans and prompts: `$image`, or a file by its name, `cat.png`."""
    return f"${resource}" if resource.isidentifier() else resource


def resource_named(*, written: str, request: PlannerRequest) -> str | None:
    """The reference to the resource that a text names, with or without `$`; None if there is no such resource."""
    name = written.strip().removeprefix("$")
    return reference_to(name) if name in request.task.resources else None


def resource_lines(request: PlannerRequest) -> str:
    """The request's resources, one per line, with the places of marks; a sentence if there are none."""
    lines = [f"- {reference_to(name)} ({kind}){_place(name, request)}" for name, kind in request.task.resources.items()]
    return "\n".join(lines) or "- nothing but the words of the request"


def _place(name: str, request: PlannerRequest) -> str:
    """Where a resource is in a picture, if it is a mark."""
    mark = given_mark(request.task.given.get(name))
    return "" if mark is None else f": {in_words(mark)}, in pixels from the upper left (column,row)"


def tool_lines(request: PlannerRequest) -> str:
    """The offered tools with signatures and descriptions, one per line."""
    lines = []
    for tool in request.tools:
        arguments = ", ".join(f"{name}: {kind}" for name, kind in tool.inputs.items())
        lines.append(f"- {tool.name}({arguments}) -> {', '.join(tool.outputs.values())}: {tool.description}")
    return "\n".join(lines)


def answer_sentence(request: PlannerRequest) -> str:
    """A sentence about the types of the answers."""
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
    """The draft of a plan that a strategy parsed from completions, with the common notes.

    Args:
        parsed: the plan or its syntax error.
        completions: the completions of all turns.
        prompt: the prompt's name.
        notes: further notes of the strategy.
    """
    texts = [shortened(completion.transcript()) for completion in completions]
    common: dict[str, JsonValue] = {"prompt": prompt, "completions": list(texts), **notes}
    if any(completion.truncated for completion in completions):
        common["truncated"] = True
    if isinstance(parsed, PlanSyntaxError):
        common["unreadable"] = str(parsed)
        return Draft(plan=shortened("\n".join(texts)), unreadable=str(parsed), tolerated=parsed.tolerated, notes=common)
    common["form"] = parsed.form
    plan = abstention(parsed.reason) if parsed.form == ABSTENTION else plan_to_json(parsed.plan)
    return Draft(plan=plan, tolerated=parsed.tolerated, notes=common)


def shortened(text: str) -> str:
    """A completion for the notes, truncated to `MAX_COMPLETION`."""
    return text if len(text) <= MAX_COMPLETION else text[:MAX_COMPLETION] + f" ... ({len(text)} characters)"


def refuse_too_long(text: str) -> None:
    """Raise PlanSyntaxError for a completion longer than `MAX_COMPLETION`, before parsing it."""
    if len(text) > MAX_COMPLETION:
        raise PlanSyntaxError(f"{len(text)} characters; at most {MAX_COMPLETION} are read")
