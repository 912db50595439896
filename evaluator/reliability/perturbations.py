"""Perturbations: other forms of a request that keep its meaning, and disturbances of tools. Pure.

A planner that understands one form of a request gives the same plan for another.
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
    """What a perturbation changes."""

    REQUEST = "request"
    TOOLS = "tools"
    INPUTS = "inputs"
    FAULTS = "faults"


@dataclass(frozen=True, slots=True)
class Perturbed:
    """A request in another form."""

    request: PlannerRequest
    names: Names | None = None
    """Under which the tools are offered; None: under their own."""


Change = Callable[[PlannerRequest, random.Random], Perturbed | None]
"""Returns None where it cannot be applied to a request."""
Variant = Callable[[Suite, frozenset[str]], Suite]
"""From a suite, as planners are asked, and the tools that plans may call, to the suite with other tasks; a task to
which it does not apply is the same object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Perturbation:
    """One way to perturb an evaluation. Exactly one of `change_for`, `variant_for` and `fault` is set."""

    name: str
    """Stable: it is stored, and is part of addresses and commands."""
    label: str
    """For headings and tables, in lower case."""
    kind: Kind
    definition: str
    """What it does, as a sentence."""
    change_for: Callable[[Suite], Change | None] | None = None
    """The change of the requests of a suite; returns None where the suite has no such form."""
    variant_for: Callable[[Suite], Variant | None] | None = None
    """Other tasks, in which something else may be right; returns None where the suite has none."""
    fault: Fault | None = None
    """What happens to an action of an episode in turns."""
    version: int = 1
    """Raised whenever the same request may be changed otherwise."""
    whole_plans: bool = True
    """Whether it applies where planners are asked for whole plans."""
    in_turns: bool = False
    """Whether it applies where planners are asked turn by turn."""
    without_form: str = ""
    """Why a suite may have no such form, as a sentence."""
    not_in_turns: str = ""
    """Why it does not apply in turns, as a sentence, if that is another reason than for others of its kind."""

    def is_of(self, suite: Suite, *, in_turns: bool) -> bool:
        """Whether it applies to a suite at all."""
        if not (self.in_turns if in_turns else self.whole_plans):
            return False
        forms = [make(suite) for make in (self.change_for, self.variant_for) if make is not None]
        return self.fault is not None or any(form is not None for form in forms)

    def applied_to(self, request: PlannerRequest, *, suite: Suite) -> Perturbed | None:
        """A request of a suite in another form; None where there is none. Turns stay turns.

        The draw depends on the perturbation's name and the task only, so that every planner gets the same form.
        """
        change = None if self.change_for is None else self.change_for(suite)
        # Not a secret: the same form in each run.
        seed = f"{self.name}/{request.suite}/{request.task.id}"
        return None if change is None else change(request, random.Random(seed))  # noqa: S311

    def variant(self, suite: Suite, *, offered: frozenset[str]) -> Suite:
        """The suite with the tasks that are evaluated; itself unless the perturbation has other tasks."""
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
    # What is quoted, and what has capitals inside of a sentence, may be meant as it is written.
    if not text[:1].isupper() or text[1:2].isupper():
        return None
    return _with_text(request, text=text[0].lower() + text[1:].removesuffix("."))


def paraphrased(suite: Suite) -> Change | None:
    """The change that the suite's own generator of wordings makes; None if it has none."""
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
    # Of a type that nothing given has: which of two pictures is meant would be anybody's guess.
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
    """The names, each distinct from all others and from the tools' own: a number is appended where needed."""
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
    one.name: one
    for one in (
        Perturbation(
            name="paraphrased", label="paraphrased requests", kind=Kind.REQUEST, in_turns=True,
            definition="Another wording with the same goal, by the suite's own generator. Suites without one leave it "
            "out.",
            change_for=paraphrased,
            without_form="No generator makes its requests, so that nothing can reword them and keep their goal.",
        ),
        Perturbation(
            name="framed", label="framed requests", kind=Kind.REQUEST, in_turns=True,
            definition="A sentence before and sometimes one after the request, which say nothing further.",
            change_for=_of_every_suite(framed),
        ),
        Perturbation(
            name="lower-case", label="requests in lower case", kind=Kind.REQUEST, in_turns=True,
            definition="The request begins with a small letter and has no full stop.",
            change_for=_of_every_suite(lower_case),
        ),
        Perturbation(
            name="renamed-tools", label="renamed tools", kind=Kind.TOOLS,
            definition="The same words in the names of tools, in another style: camelCase, snake_case and others.",
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
            definition="The tools come in another order.",
            change_for=_of_every_suite(shuffled_tools),
        ),
        Perturbation(
            name="distractor-tools", label="distractor tools", kind=Kind.TOOLS, in_turns=True,
            definition="Up to six further tools that no request needs; a call of one is an invented tool.",
            change_for=_of_every_suite(distracted),
        ),
        Perturbation(
            name="irrelevant-input", label="irrelevant input", kind=Kind.INPUTS,
            definition="A further input of a type that the request does not speak of.",
            change_for=_of_every_suite(further_input),
        ),
        Perturbation(
            name="tool-outage", label="tool outage", kind=Kind.TOOLS,
            definition="A tool of the gold plan is not offered. Where the others suffice, another plan must be found; "
            "elsewhere abstaining is right.",
            variant_for=lambda suite: suite.with_outage,
            without_form="It is not known which other tools suffice for its requests.",
            not_in_turns="In turns it is not known which other tools suffice.",
        ),
        _fault(
            Fault.ONCE, label="action that fails once",
            definition="The first action that runs does not answer. Repeated, it works.",
        ),
        _fault(
            Fault.ALWAYS, label="action that fails always",
            definition="The first action that runs does not answer, however often it is repeated. Others work.",
        ),
        _fault(
            Fault.LATE, label="late answer",
            definition="The first result comes after half of the time that an episode may take. Nobody waits for it: "
            "the time is only counted.",
        ),
        _fault(
            Fault.NONSENSE, label="nonsense answer",
            definition="The first result is a text without sense. Repeated, the action works.",
        ),
    )
})  # fmt: skip
"""By name, in the order of reports."""


def perturbation_named(name: str) -> Perturbation:
    """The perturbation with this name.

    Raises:
        LookupError: there is none; the message lists them.
    """
    try:
        return PERTURBATIONS[name]
    except KeyError:
        raise LookupError(f"there is no perturbation {name!r}; there are: {', '.join(PERTURBATIONS)}") from None


def perturbations_of(*, suite: Suite, in_turns: bool) -> tuple[Perturbation, ...]:
    """The perturbations that apply to a suite, in the order of reports.

    Args:
        suite: one of the registry's, or as planners are asked.
        in_turns: whether its planners are asked turn by turn.
    """
    return tuple(
        perturbation for perturbation in PERTURBATIONS.values() if perturbation.is_of(suite, in_turns=in_turns)
    )


_WHOLE_PLANS = "Planners of whole plans see no results of actions."
_TURNS = {
    Kind.TOOLS: "Actions in turns are read in the suite's names.",
    Kind.INPUTS: "Episodes in turns have exactly the inputs of their task.",
}
_OVER_MCP = "Agents get the suite's own list of tools over MCP."
_NO_REQUEST = "It changes no request of this suite."


@dataclass(frozen=True, slots=True, kw_only=True)
class Unavailable:
    """A perturbation that a suite, or a kind of planner, cannot have."""

    name: str
    label: str
    why: str
    """As a sentence."""


def unavailable(
    *, in_turns: bool, applied: Collection[str], lists_tools_itself: bool = False
) -> tuple[Unavailable, ...]:
    """The perturbations that a profile leaves out, with reasons, in the order of reports.

    Args:
        in_turns: whether planners of the suite are asked turn by turn.
        applied: names of the perturbations that the profile has runs of, or lacks by a fault.
        lists_tools_itself: whether the planner gets its tools by a list that no perturbation changes.
    """
    return tuple(
        Unavailable(
            name=perturbation.name,
            label=perturbation.label,
            why=_why(perturbation, in_turns=in_turns, lists_tools_itself=lists_tools_itself),
        )
        for perturbation in PERTURBATIONS.values()
        if perturbation.name not in applied
    )


def _why(perturbation: Perturbation, *, in_turns: bool, lists_tools_itself: bool) -> str:
    if perturbation.fault is not None and not in_turns:
        return _WHOLE_PLANS
    if in_turns and not perturbation.in_turns:
        return perturbation.not_in_turns or _TURNS[perturbation.kind]
    if lists_tools_itself and perturbation.kind is Kind.TOOLS:
        return _OVER_MCP
    return perturbation.without_form or _NO_REQUEST
