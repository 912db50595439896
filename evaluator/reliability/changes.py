"""Changes of requests that keep their meaning: a planner that understands one gives the same plan. Pure."""

import random
import re
from collections.abc import Callable, Mapping, Sequence

from evaluator.core.planner import OfferedTool, PlannerRequest, RequestedTask
from evaluator.core.suites.base import Suite
from evaluator.reliability.perturbation import Change, Perturbed
from evaluator.reliability.renaming import Names

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
    there = set(request.task.resources.values())
    kind = next((kind for kind in _UNUSED_INPUTS if kind not in there), None)
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
    """The same, with a number behind a name that another tool has already, or has of its own."""
    found: dict[str, str] = {}
    for old, new in names.items():
        taken = {*found.values(), *(name for name in names if name != old)}
        number, candidate = 2, new
        while candidate in taken:
            candidate, number = f"{new}_{number}", number + 1
        found[old] = candidate
    return found
