"""Prompts of OpenAGI's strategies. The wording is our own, and not taken from tasks of the suite.

Free text is requested in lines `Step n: ...`. Prompts of constrained generation equal those of `training.lessons`: the
request, optionally followed by the input to prepare or the plan so far.

Few-shot prompts contain built-in demonstrations, or those of the file in `PLANARENA_OPENAGI_DEMONSTRATIONS`: a JSON
list of objects with `request`, a text, and `steps`, a list of lines that each name a tool:

    [{"request": "Turn this wet scan into a caption.", "steps": ["Image Denoising", "Image Captioning"]}]
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluator.core import canonical_json
from evaluator.core.language_model import Message
from evaluator.core.planner import OfferedTool, PlannerRequest


class DemonstrationsError(ValueError):
    """Invalid file of demonstrations. The message names the problem, the place and the expected form."""


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A request, and the lines of a correct answer."""

    request: str
    steps: tuple[str, ...]


OWN = (
    Demonstration(
        "My scanned picture is full of grain and out of focus. Make it clean and sharp.",
        ("Image Denoising", "Image Deblurring"),
    ),
    Demonstration(
        "This stamp-sized black-and-white photo is all I have. Say in one German sentence what it shows.",
        ("Image Super Resolution", "Colorization", "Image Captioning", "Machine Translation"),
    ),
    Demonstration(
        "What kind of thing is in this picture, which is out of focus?",
        ("Image Deblurring", "Image Classification"),
    ),
    Demonstration(
        "List in English what can be seen in a grainy picture of few pixels.",
        ("Image Super Resolution", "Image Denoising", "Object Detection"),
    ),
    Demonstration(
        "A word of this sentence is blanked out. Paint what the sentence says.",
        ("Fill Mask", "Text to Image Generation"),
    ),
    Demonstration(
        "Give me the gist of an article, in German.",
        ("Text Summarization", "Machine Translation"),
    ),
    Demonstration(
        "Does this review, in which a word is blanked out, praise the film or not?",
        ("Fill Mask", "Sentiment Analysis"),
    ),
    Demonstration(
        "Here are a black-and-white picture and something I would like to know about it, with a word blanked out.",
        ("Colorization", "Fill Mask", "Visual Question Answering"),
    ),
    Demonstration(
        "Find in this report what I ask for, and tell me in German.",
        ("Question Answering", "Machine Translation"),
    ),
    Demonstration(
        "Words are blanked out both in the document and in the query that it is to answer.",
        ("Fill Mask on the document", "Fill Mask on the query", "Question Answering"),
    ),
)
"""Repairs follow the order of the suite's gold plans: resolution, noise, blur, colours; then texts."""


def read_demonstrations(path: Path) -> tuple[Demonstration, ...]:
    """Read demonstrations.

    Raises:
        DemonstrationsError: the file cannot be read, or is invalid.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise DemonstrationsError(f"demonstrations {path}: cannot be read ({error})") from None
    except ValueError as error:
        raise DemonstrationsError(f"demonstrations {path}: not valid JSON ({error})") from None
    if not isinstance(value, list) or not value:
        raise DemonstrationsError(f"demonstrations {path}: must be a list of one or more demonstrations")
    return tuple(_demonstration(raw, where=f"demonstrations {path}, [{index}]") for index, raw in enumerate(value))


def digest_of(demonstrations: Sequence[Demonstration]) -> str:
    """SHA-256 over the demonstrations, in hexadecimal."""
    return canonical_json.digest([[example.request, list(example.steps)] for example in demonstrations])


def _demonstration(raw: object, *, where: str) -> Demonstration:
    if not isinstance(raw, Mapping) or set(raw) != {"request", "steps"}:
        raise DemonstrationsError(f'{where}: must be an object with "request" and "steps" and nothing else')
    request, steps = raw["request"], raw["steps"]
    if not isinstance(request, str) or not request.strip():
        raise DemonstrationsError(f'{where}: "request" must be a text that is not empty')
    if not isinstance(steps, list) or not steps or not all(isinstance(line, str) and line.strip() for line in steps):
        raise DemonstrationsError(f'{where}: "steps" must be a list of one or more texts that are not empty')
    return Demonstration(request=request, steps=tuple(steps))


VERSION = 1
"""Version of the free-text prompts, recorded in the notes of a task."""
STEPS_ARE_OVER = ("\nRequest:",)
"""Stop sequence, because some models continue with another request."""
_ASKED = "Plan which models to run, in the order in which they must run. Write one line per model, as in `Step 1: ...`."
_NAMED = "Use the models' names. Where a model could work on several inputs, say on which one."
_NOTHING_ELSE = "Write nothing but the steps."


def zero_shot_prompt(*, request: PlannerRequest, names_tools: bool = True) -> tuple[Message, ...]:
    """The request, optionally with the offered tools."""
    parts = [_ASKED]
    if names_tools:
        parts += [_NAMED, _NOTHING_ELSE, "", "Models:", *(f"- {_described(tool)}" for tool in request.tools)]
    else:
        parts += [_NOTHING_ELSE]
    return _user([*parts, "", f"Request: {request.task.request}", "Plan:"])


def few_shot_prompt(*, request: PlannerRequest, demonstrations: Sequence[Demonstration]) -> tuple[Message, ...]:
    """Demonstrations, and the request in the same form."""
    parts = [f"{_ASKED} {_NOTHING_ELSE}"]
    for example in demonstrations:
        parts += ["", f"Request: {example.request}", "Plan:"]
        parts += [f"Step {number}: {line}" for number, line in enumerate(example.steps, start=1)]
    return _user([*parts, "", f"Request: {request.task.request}", "Plan:"])


def sequence_prompt(*, request: str, so_far: str = "") -> tuple[Message, ...]:
    """The request, and the plan so far as a tree (OpenAGI, section 5)."""
    return _user([f"{request} {so_far}".rstrip()])


def branch_prompt(*, request: str, resource: str) -> tuple[Message, ...]:
    """The request, and the input of the branch."""
    return _user([f"{request} Input: {resource}"])


def _described(tool: OfferedTool) -> str:
    return f"{tool.name} (from {_and(tool.inputs.values())} to {_and(tool.outputs.values())}): {tool.description}"


def _and(kinds: Iterable[str]) -> str:
    return " and ".join(kinds)


def _user(lines: Sequence[str]) -> tuple[Message, ...]:
    return (Message(role="user", content="\n".join(lines)),)


DEMONSTRATIONS = "PLANARENA_OPENAGI_DEMONSTRATIONS"


def configured_demonstrations() -> tuple[Demonstration, ...]:
    """The configured demonstrations, by default the built-in ones.

    Raises:
        DemonstrationsError: invalid file.
    """
    path = os.environ.get(DEMONSTRATIONS, "").strip()
    return read_demonstrations(Path(path)) if path else OWN
