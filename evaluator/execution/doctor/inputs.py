"""Inputs of any tool: drawn pictures, clips, sounds, findings in pictures, and sentences of different lengths."""

import json
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from PIL import Image as PillowImage

from evaluator.core.sounds import RATE, sound_of
from evaluator.core.tools.catalogues import CONTROLLLM, OPENAGI
from evaluator.core.tools.types import ResourceType, Tool
from evaluator.core.values import Box, Boxes, Clip, Label, Labels, Mask, Masks, Value

SIDE = 256
"""Of pictures, in pixels, as those of OpenAGI's samples are stored."""
_FRAMES = 8
_SENTENCES = (
    "A brown dog runs over the <mask> while [MASK] people watch it from a bench in the park.",
    "Who is standing beside the red car?",
    "The committee met on Tuesday to decide how much money the library may spend on new books, and after two hours "
    "of talks it agreed that children's books come first, that the roof can wait, and that nobody will be dismissed.",
    "Two cats sleep.",
    "What colour is the umbrella of the woman in front of the station?",
)


def item_for(tool: str, *, number: int) -> Mapping[str, Value]:
    """Inputs of a tool; LookupError if no catalogue has it.

    Args:
        tool: its name.
        number: equal numbers give equal inputs, different ones different inputs.
    """
    return {name: _value(kind, number=number) for name, kind in tool_named(tool).inputs.items()}


def tool_named(tool: str) -> Tool:
    """The signature of a tool; LookupError if no catalogue has it."""
    if tool not in OPENAGI.tools and tool not in CONTROLLLM.tools:
        raise LookupError(f'no catalogue of OpenAGI or ControlLLM has the tool "{tool}"')
    return OPENAGI[tool] if tool in OPENAGI.tools else CONTROLLLM[tool]


def _value(kind: ResourceType, *, number: int) -> Value:
    size = SIDE, SIDE
    edge = 40 + 13 * (number % 8)
    match kind:
        case ResourceType.TEXT | ResourceType.TITLE | ResourceType.LOCATION:
            return f"{_SENTENCES[number % len(_SENTENCES)]} {number}"
        case ResourceType.VIDEO:
            return Clip(np.stack([_pixels(number=number, moved=4 * frame) for frame in range(_FRAMES)]))
        case ResourceType.AUDIO:
            times = np.arange(RATE) / RATE
            return sound_of(0.3 * np.sin(2 * np.pi * (220 + 30 * (number % 8)) * times))
        case ResourceType.BBOX:
            return Boxes(size, (Box("thing", edge, edge, SIDE - edge, SIDE - 20, 0.9),))
        case ResourceType.CATEGORY | ResourceType.TAGS:
            return Labels((Label("thing", 0.9), Label(f"other {number}", 0.1)))
        case ResourceType.MASK:
            pixels = np.zeros(size, dtype=np.bool_)
            pixels[edge : SIDE - edge, edge : SIDE - 20] = True
            return Masks(size, (Mask("thing", pixels, 0.9),))
        case ResourceType.WEATHER:
            facts = {"place": f"Town {number}", "date": "2023-10-26", "weather": "sunny"}
            return json.dumps({**facts, "temperature_c": number % 30, "wind_kmh": 5})
        case ResourceType.POINT:
            return f"{SIDE // 2},{SIDE // 2 + number % 8}"
    return PillowImage.fromarray(_pixels(number=number))


def _pixels(*, number: int, moved: int = 0) -> npt.NDArray[np.uint8]:
    """A gradient with noise, a square and a disc: 8-bit RGB of shape (side, side, 3)."""
    random = np.random.default_rng(number)
    rows, columns = np.mgrid[:SIDE, :SIDE]
    angle = random.uniform(0, 2 * np.pi)
    slope = 0.5 + 0.5 * np.sin((np.cos(angle) * rows + np.sin(angle) * columns) / random.uniform(20, 90))
    picture = slope[..., None] * random.uniform(40, 255, size=3) + random.normal(0, 6, size=(SIDE, SIDE, 3))
    for colour in random.uniform(0, 255, size=(2, 3)):
        x, y = random.integers(40, SIDE - 40, size=2)
        radius = random.integers(15, 60)
        distance = np.hypot(rows - y, columns - (x + moved)) if colour[0] > colour[1] else np.maximum(
            abs(rows - y), abs(columns - (x + moved))
        )  # fmt: skip
        picture[distance < radius] = colour
    return np.asarray(picture.clip(0, 255), dtype=np.uint8)
