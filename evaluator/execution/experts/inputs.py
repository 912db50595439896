"""Reading the inputs of an item, with errors that say what an input is and what it must be. No torch here."""

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from PIL import Image as PillowImage

from evaluator.core.expert import ExpertError, InputError
from evaluator.core.values import Boxes, Clip, Labels, Masks, Value

Kind = TypeVar("Kind", bound=str | Boxes | Clip | Labels | Masks)
_NAMES: Mapping[type, str] = {
    str: "a text",
    Boxes: "boxes",
    Clip: "a clip",
    Labels: "labels",
    Masks: "masks",
    PillowImage.Image: "a picture",
}


def value_of(item: Mapping[str, Value], *, name: str, kind: type[Kind]) -> Kind:
    """An input of one kind.

    Raises:
        ExpertError: it is missing or of another kind.
    """
    value = item.get(name)
    if not isinstance(value, kind):
        raise ExpertError(f'the input "{name}" must be {_NAMES[kind]}, found {_described(value)}')
    return value


def pixels_of(item: Mapping[str, Value], *, name: str = "image") -> npt.NDArray[np.uint8]:
    """A picture as 8-bit RGB of shape (height, width, 3).

    Raises:
        ExpertError: it is missing or no picture.
    """
    value = item.get(name)
    if not isinstance(value, PillowImage.Image):
        raise ExpertError(f'the input "{name}" must be a picture, found {_described(value)}')
    return np.asarray(value.convert("RGB"), dtype=np.uint8)


def require_size(*, found: Boxes | Masks, name: str, pixels: npt.NDArray[np.uint8]) -> None:
    """Boxes or masks must be about a picture of the same size as the one that they are used on.

    Raises:
        InputError: they are not.
    """
    height, width = pixels.shape[:2]
    if found.size != (width, height):
        about = f"{found.size[0]}x{found.size[1]}"
        raise InputError(
            f'"{name}" is of a picture of {about} pixels, "image" has {width}x{height}; they must be equal'
        )


def _described(value: Value | None) -> str:
    if value is None:
        return "nothing"
    return next((words for kind, words in _NAMES.items() if isinstance(value, kind)), type(value).__name__)
