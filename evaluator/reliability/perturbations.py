"""Perturbations: changes of requests that preserve their meaning, and faults of tools. Pure functions.

A robust planner returns the same plan for every form of a request.
"""

import random
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from evaluator.core.planner import OfferedTool, PlannerRequest, RequestedTask
from evaluator.core.suites.base import Suite
from evaluator.episodes.turns.faults import Fault
from evaluator.reliability.renaming import Names


class Kind(StrEnum):
    """The part that a perturbation changes."""

    REQUEST = "request"
    TOOLS = "tools"
    INPUTS = "inputs"
    FAULTS = "faults"


@dataclass(frozen=True, slots=True)
class Perturbed:
    """A perturbed request."""

    request: PlannerRequest
    names: Names | None = None
    """New names of the tools; None: unchanged."""


Change = Callable[[PlannerRequest, random.Random], Perturbed | None]
"""Returns None if it does not apply to a request."""
Variant = Callable[[Suite, frozenset[str]], Suite]
"""From a suite and the tools that plans may call to the suite with other tasks. A task to which it does not apply
remains the same object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Perturbation:
    """A perturbation of evaluations. Exactly one of `change_for`, `variant_for` and `fault` is set."""

    name: str
    """Stable: it is stored, and part of addresses and commands."""
    label: str
    """For headings and tables, in lower case."""
    kind: Kind
    definition: str
    """Description for users, as a sentence."""
    change_for: Callable[[Suite], Change | None] | None = None
    """Returns the change of a suite's requests, or None if it does not apply."""
    variant_for: Callable[[Suite], Variant | None] | None = None
    """Returns the change of a suite's tasks, possibly with other right answers, or None if it does not apply."""
    fault: Fault | None = None
    """Fault of an action in an episode in turns."""
    version: int = 1
    """Incremented whenever the perturbed form of a request may change."""
    whole_plans: bool = True
    """Whether it applies to planners of whole plans."""
    in_turns: bool = False
    """Whether it applies to planners in turns."""
    without_form: str = ""
    """Why it may not apply to a suite, as a sentence."""
    not_in_turns: str = ""
    """Why it does not apply in turns, as a sentence, if not for the usual reason of its kind."""

    def is_of(self, suite: Suite, *, in_turns: bool) -> bool:
        """Whether it applies to a suite."""
        if not (self.in_turns if in_turns else self.whole_plans):
            return False
        forms = [make(suite) for make in (self.change_for, self.variant_for) if make is not None]
        return self.fault is not None or any(form is not None for form in forms)

    def applied_to(self, request: PlannerRequest, *, suite: Suite) -> Perturbed | None:
        """The perturbed request, or None if the perturbation does not apply. Turns remain turns.

        The seed depends on the perturbation's name and the task only, so that every planner gets the same form.
        """
        change = None if self.change_for is None else self.change_for(suite)
        seed = f"{self.name}/{request.suite}/{request.task.id}"
        return None if change is None else change(request, random.Random(seed))  # noqa: S311

    def variant(self, suite: Suite, *, offered: frozenset[str]) -> Suite:
        """The suite with the perturbed tasks, or itself if the perturbation does not change tasks."""
        make = None if self.variant_for is None else self.variant_for(suite)
        return suite if make is None else make(suite, offered)


_FRAMES = (
    "Please do the following for me. {} Thank you!",
    "Hello! I need help with one thing: {}",
    "Here is what I want to have done: {} That is all.",
    "Could you take care of this? {}",
)
_DISTRACTORS = (
    ("Currency Converter", "Converts an amount of money into another currency.", {"text": "text"}, {"text": "text"}),
    ("Calendar Lookup", "Returns the appointments of a day.", {"text": "text"}, {"text": "text"}),
    ("Barcode Reader", "Reads the number of a barcode in a picture.", {"image": "image"}, {"text": "text"}),
    ("Print Preview", "Renders a picture as it will be printed.", {"image": "image"}, {"image": "image"}),
    ("Spell Out Numbers", "Writes the digits of a text as words.", {"text": "text"}, {"text": "text"}),
    ("File Size Report", "Says how many bytes a picture has.", {"image": "image"}, {"text": "text"}),
)
_UNUSED_INPUTS = ("text", "image", "audio", "video", "location")
WORDS_KEPT = 3


def framed(request: PlannerRequest, rng: random.Random) -> Perturbed:
    return _with_text(request, text=rng.choice(_FRAMES).format(request.task.request))


def lower_case(request: PlannerRequest, rng: random.Random) -> Perturbed | None:
    del rng
    text = request.task.request
    # Quotations and acronyms at the beginning may depend on case.
    if not text[:1].isupper() or text[1:2].isupper():
        return None
    return _with_text(request, text=text[0].lower() + text[1:].removesuffix("."))


def paraphrased(suite: Suite) -> Change | None:
    """The change by the suite's generator of wordings; None if it has none."""
    reworded = suite.reworded
    if reworded is None:
        return None

    def change(request: PlannerRequest, rng: random.Random) -> Perturbed | None:
        text = reworded(suite.task(request.task.id), rng)
        return None if text is None or text == request.task.request else _with_text(request, text=text)

    return change


def styled_tools(request: PlannerRequest, rng: random.Random) -> Perturbed:
    style = rng.choice(_STYLES)
    names = _distinct({tool.name: style(_words(tool.name)) for tool in request.tools})
    return _renamed(request, names=Names(tools=names))


def renamed_arguments(request: PlannerRequest, rng: random.Random) -> Perturbed:
    prefix, suffix = rng.choice((("the_", ""), ("", "_in"), ("arg_", "")))
    return _renamed(
        request,
        names=Names(
            tools={tool.name: tool.name for tool in request.tools},
            inputs={tool.name: {name: f"{prefix}{name}{suffix}" for name in tool.inputs} for tool in request.tools},
            outputs={tool.name: {name: f"new_{name}" for name in tool.outputs} for tool in request.tools},
        ),
    )


def cut_descriptions(request: PlannerRequest, rng: random.Random) -> Perturbed | None:
    del rng
    tools = [
        tool.model_copy(update={"description": " ".join(tool.description.split()[:WORDS_KEPT])})
        for tool in request.tools
    ]
    return None if tools == request.tools else _with_tools(request, tools=tools)


def shuffled_tools(request: PlannerRequest, rng: random.Random) -> Perturbed | None:
    tools = rng.sample(request.tools, len(request.tools))
    return None if tools == request.tools else _with_tools(request, tools=tools)


def distracted(request: PlannerRequest, rng: random.Random) -> Perturbed:
    taken = {_key(tool.name) for tool in request.tools}
    tools = list(request.tools)
    for name, description, inputs, outputs in _DISTRACTORS:
        if _key(name) not in taken:
            tool = OfferedTool(name=name, description=description, inputs=inputs, outputs=outputs)
            tools.insert(rng.randint(0, len(tools)), tool)
    return _with_tools(request, tools=tools)


def further_input(request: PlannerRequest, rng: random.Random) -> Perturbed | None:
    # Of an unused type: with two pictures, the request would be ambiguous.
    types = set(request.task.resources.values())
    kind = next((kind for kind in _UNUSED_INPUTS if kind not in types), None)
    if kind is None or not request.task.resources:
        return None
    resources = list(request.task.resources.items())
    resources.insert(rng.randint(0, len(resources)), (f"attachment_{rng.randint(10, 99)}", kind))
    return Perturbed(_with_task(request, resources=dict(resources)))


def _with_text(request: PlannerRequest, *, text: str) -> Perturbed:
    return Perturbed(_with_task(request, request=text))


def _with_task(request: PlannerRequest, /, **update: object) -> PlannerRequest:
    task = RequestedTask.model_validate({**request.task.model_dump(), **update})
    return request.model_copy(update={"task": task})


def _with_tools(request: PlannerRequest, *, tools: Sequence[OfferedTool]) -> Perturbed:
    return Perturbed(request.model_copy(update={"tools": list(tools)}))


def _renamed(request: PlannerRequest, *, names: Names) -> Perturbed:
    return Perturbed(request.model_copy(update={"tools": list(map(names.offered, request.tools))}), names=names)


def _words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W_]+", name)] or [name]


def _key(name: str) -> str:
    return "".join(_words(name))


_STYLES: Sequence[Callable[[list[str]], str]] = (
    lambda words: words[0] + "".join(word.capitalize() for word in words[1:]),
    lambda words: "".join(word.capitalize() for word in words),
    lambda words: "_".join(words) + "_tool",
    lambda words: "-".join(words),
    lambda words: " ".join(word.upper() for word in words),
)


def _distinct(names: Mapping[str, str]) -> dict[str, str]:
    """The new names, made distinct from each other and from the original names by numbers."""
    unique: dict[str, str] = {}
    for old, new in names.items():
        taken = {*unique.values(), *(name for name in names if name != old)}
        number, candidate = 2, new
        while candidate in taken:
            candidate, number = f"{new}_{number}", number + 1
        unique[old] = candidate
    return unique


def _of_every_suite(change: Change) -> Callable[[Suite], Change]:
    return lambda _: change


def _fault(fault: Fault, *, label: str, definition: str) -> Perturbation:
    return Perturbation(
        name=f"fault-{fault}", label=label, kind=Kind.FAULTS, definition=definition, fault=fault, whole_plans=False,
        in_turns=True,
    )  # fmt: skip


PERTURBATIONS: Mapping[str, Perturbation] = MappingProxyType({
    perturbation.name: perturbation
    for perturbation in (
        Perturbation(
            name="paraphrased", label="paraphrased requests", kind=Kind.REQUEST, in_turns=True,
            definition="Another wording with the same goal, from the suite's own generator.",
            change_for=paraphrased,
            without_form="Its requests have no generator that could reword them without changing the goal.",
        ),
        Perturbation(
            name="framed", label="framed requests", kind=Kind.REQUEST, in_turns=True,
            definition="Adds a sentence without information before, and sometimes after, the request.",
            change_for=_of_every_suite(framed),
        ),
        Perturbation(
            name="lower-case", label="requests in lower case", kind=Kind.REQUEST, in_turns=True,
            definition="The request begins with a lower-case letter and has no full stop.",
            change_for=_of_every_suite(lower_case),
        ),
        Perturbation(
            name="renamed-tools", label="renamed tools", kind=Kind.TOOLS,
            definition="The names of tools keep their words in another style: camelCase, snake_case and others.",
            change_for=_of_every_suite(styled_tools),
        ),
        Perturbation(
            name="renamed-arguments", label="renamed arguments", kind=Kind.TOOLS,
            definition="Arguments and results of tools have longer names.",
            change_for=_of_every_suite(renamed_arguments),
        ),
        Perturbation(
            name="cut-descriptions", label="cut descriptions", kind=Kind.TOOLS, in_turns=True,
            definition=f"Descriptions of tools end after {WORDS_KEPT} words.",
            change_for=_of_every_suite(cut_descriptions),
        ),
        Perturbation(
            name="shuffled-tools", label="shuffled tools", kind=Kind.TOOLS, in_turns=True,
            definition="The tools are listed in another order.",
            change_for=_of_every_suite(shuffled_tools),
        ),
        Perturbation(
            name="distractor-tools", label="distractor tools", kind=Kind.TOOLS, in_turns=True,
            definition="Up to six further tools that no request needs; a call of one is an invented tool.",
            change_for=_of_every_suite(distracted),
        ),
        Perturbation(
            name="irrelevant-input", label="irrelevant input", kind=Kind.INPUTS,
            definition="An additional input of a type that the request does not mention.",
            change_for=_of_every_suite(further_input),
        ),
        Perturbation(
            name="tool-outage", label="tool outage", kind=Kind.TOOLS,
            definition="A tool of the gold plan is not offered. If the others suffice, another plan is right; "
            "otherwise abstaining is.",
            variant_for=lambda suite: suite.with_outage,
            without_form="It is unknown which other tools suffice for its requests.",
            not_in_turns="In turns it is unknown which other tools suffice.",
        ),
        _fault(
            Fault.ONCE, label="action that fails once",
            definition="The first action that runs does not respond. A repetition works.",
        ),
        _fault(
            Fault.ALWAYS, label="action that fails always",
            definition="The first action that runs never responds, even when repeated. Others work.",
        ),
        _fault(
            Fault.LATE, label="late answer",
            definition="The first result takes half of the episode's time limit, which is counted without waiting.",
        ),
        _fault(
            Fault.NONSENSE, label="nonsense answer",
            definition="The first result is nonsense. A repetition of the action works.",
        ),
    )
})  # fmt: skip
"""By name, in the order of reports."""


def perturbation_named(name: str) -> Perturbation:
    """The perturbation with this name; LookupError if there is none."""
    try:
        return PERTURBATIONS[name]
    except KeyError:
        raise LookupError(f"there is no perturbation {name!r}; there are: {', '.join(PERTURBATIONS)}") from None


def perturbations_of(*, suite: Suite, in_turns: bool) -> tuple[Perturbation, ...]:
    """The perturbations that apply to a suite, in the order of reports.

    Args:
        suite: the suite.
        in_turns: whether its planners act in turns.
    """
    return tuple(
        perturbation for perturbation in PERTURBATIONS.values() if perturbation.is_of(suite, in_turns=in_turns)
    )


_WHOLE_PLANS = "Planners of whole plans see no results of actions."
_TURNS = {
    Kind.TOOLS: "Actions in turns use the suite's names.",
    Kind.INPUTS: "Episodes in turns have exactly the inputs of their task.",
}
_OVER_MCP = "Agents get the suite's unchanged list of tools over MCP."
_NO_REQUEST = "It changes no request of this suite."


@dataclass(frozen=True, slots=True, kw_only=True)
class Unavailable:
    """A perturbation that does not apply to a suite or kind of planner."""

    name: str
    label: str
    why: str
    """Reason, as a sentence."""


def unavailable(
    *, in_turns: bool, applied: Collection[str], lists_tools_itself: bool = False
) -> tuple[Unavailable, ...]:
    """The perturbations that are absent from a profile, with reasons, in the order of reports.

    Args:
        in_turns: whether the suite's planners act in turns.
        applied: names of the perturbations with runs, or whose runs failed.
        lists_tools_itself: whether the planner gets its tools from a list that perturbations do not change.
    """
    absent = []
    for perturbation in PERTURBATIONS.values():
        if perturbation.name in applied:
            continue
        if perturbation.fault is not None and not in_turns:
            why = _WHOLE_PLANS
        elif in_turns and not perturbation.in_turns:
            why = perturbation.not_in_turns or _TURNS[perturbation.kind]
        elif lists_tools_itself and perturbation.kind is Kind.TOOLS:
            why = _OVER_MCP
        else:
            why = perturbation.without_form or _NO_REQUEST
        absent.append(Unavailable(name=perturbation.name, label=perturbation.label, why=why))
    return tuple(absent)
