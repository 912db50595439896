"""Validated inputs of items and parameters of experts, and batches of one size. Imports no torch."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from PIL import Image as PillowImage

from evaluator.core.expert import ExpertError, ExpertSpec, InputError
from evaluator.core.sounds import Sound
from evaluator.core.values import Boxes, Clip, Labels, Masks, Value

Row = TypeVar("Row")
Result = TypeVar("Result")
Kind = TypeVar("Kind", bound=str | Boxes | Clip | Labels | Masks | Sound)
_NAMES: Mapping[type, str] = {
    str: "a text",
    Boxes: "boxes",
    Clip: "a clip",
    Labels: "labels",
    Masks: "masks",
    Sound: "a sound",
    PillowImage.Image: "a picture",
}


def value_of(item: Mapping[str, Value], *, name: str, kind: type[Kind]) -> Kind:
    """The input `name` of one kind; ExpertError if it is missing or of another kind."""
    value = item.get(name)
    if not isinstance(value, kind):
        raise ExpertError(f'the input "{name}" must be {_NAMES[kind]}, found {_described(value)}')
    return value


def pixels_of(item: Mapping[str, Value], *, name: str = "image") -> npt.NDArray[np.uint8]:
    """A picture as 8-bit RGB of shape (height, width, 3); ExpertError if it is missing or no picture."""
    value = item.get(name)
    if not isinstance(value, PillowImage.Image):
        raise ExpertError(f'the input "{name}" must be a picture, found {_described(value)}')
    return np.asarray(value.convert("RGB"), dtype=np.uint8)


def require_size(*, findings: Boxes | Masks, name: str, pixels: npt.NDArray[np.uint8]) -> None:
    """Raise InputError unless boxes or masks belong to a picture of this size."""
    height, width = pixels.shape[:2]
    if findings.size != (width, height):
        about = f"{findings.size[0]}x{findings.size[1]}"
        raise InputError(
            f'"{name}" is of a picture of {about} pixels, "image" has {width}x{height}; they must be equal'
        )


def _described(value: Value | None) -> str:
    if value is None:
        return "nothing"
    return next((words for kind, words in _NAMES.items() if isinstance(value, kind)), type(value).__name__)


def number(*, spec: ExpertSpec, name: str, default: float) -> float:
    """A numeric parameter of an expert; ExpertError if it is no number."""
    value = spec.parameters.get(name, default)
    if not isinstance(value, int | float):
        raise ExpertError(f'the parameter "{name}" of {spec.id} must be a number, not {value!r}')
    return float(value)


def whole_number(*, spec: ExpertSpec, name: str, default: int) -> int:
    """An integer parameter of an expert; ExpertError if it is no integer."""
    value = spec.parameters.get(name, default)
    if not isinstance(value, int):
        raise ExpertError(f'the parameter "{name}" of {spec.id} must be a whole number, not {value!r}')
    return value


def share(*, spec: ExpertSpec, name: str, default: float) -> float:
    """A parameter of an expert in [0, 1]; ExpertError otherwise."""
    value = spec.parameters.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ExpertError(f'the parameter "{name}" of {spec.id} must be a number from 0 to 1, not {value!r}')
    return float(value)


def in_batches(rows: Sequence[Row], *, size: int, run: Callable[[list[Row]], Sequence[Result]]) -> list[Result]:
    """Run over all rows in batches of exactly `size`, the last padded with copies of its first row.

    Kernels are chosen by the shape of a batch: with a constant shape, results do not depend on the number of rows.
    """
    results: list[Result] = []
    for start in range(0, len(rows), size):
        chunk = list(rows[start : start + size])
        results += run(chunk + chunk[:1] * (size - len(chunk)))[: len(chunk)]
    return results


def padded_length(tokens: int, *, least: int, most: int) -> int:
    """The length to which a text is padded: the first of `least`, 2 `least`, 4 `least`, ... that holds it, at most
    `most`. Depends on the text alone, so that its neighbours in a batch do not affect its result.

    Args:
        tokens: of the text, at most `most`.
        least: the shortest length, at least 1.
        most: the longest.
    """
    length = least
    while length < tokens:
        length *= 2
    return min(length, most)


def in_buckets(
    rows: Sequence[Row],
    *,
    lengths: Sequence[int],
    size: int | Callable[[int], int],
    run: Callable[[list[Row], int], Sequence[Result]],
) -> list[Result]:
    """`in_batches` for each length, shortest first; results are in the order of the rows.

    Args:
        rows: the items.
        lengths: the padded length of each.
        size: of a batch, or of a batch of a length.
        run: called with a full batch and its length.
    """
    results: dict[int, Result] = {}
    for length in sorted(set(lengths)):
        places = [place for place, other in enumerate(lengths) if other == length]
        bucket = in_batches(
            [rows[place] for place in places],
            size=size if isinstance(size, int) else size(length),
            run=partial(_run_bucket, run=run, length=length),
        )
        results |= zip(places, bucket, strict=True)
    return [results[place] for place in range(len(rows))]


def _run_bucket(rows: list[Row], *, run: Callable[[list[Row], int], Sequence[Result]], length: int) -> Sequence[Result]:
    return run(rows, length)
