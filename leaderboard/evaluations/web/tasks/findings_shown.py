"""Labels, boxes and masks as the task page shows them. What a worker sent is checked before it is drawn."""

import json
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from evaluator.core.values import Box, Boxes, FindingError, Findings, Labels, Masks, findings_from_json

MOST_DRAWN = 100
"""Boxes or masks."""
_LONGEST_PATH = 40_000
"""Characters of the outlines of all masks of one picture."""


class Drawn(NamedTuple):
    """One box or mask, in pixels of its picture."""

    number: int
    label: str
    score: str
    path: str
    """Of an SVG: the frame of a box, or the runs of a mask, to be filled."""
    border: str
    """Of an SVG: the border of a mask, to be stroked; of a box its frame."""


class Found(NamedTuple):
    """Boxes or masks of a picture."""

    width: int
    height: int
    items: tuple[Drawn, ...]
    left_out: int
    """How many are not drawn."""


def read_findings(data: bytes | None) -> Findings | None:
    """The findings of an artefact; None if it holds none."""
    try:
        return findings_from_json(json.loads((data or b"").decode("utf-8")))
    except (FindingError, ValueError, RecursionError):
        return None


def as_text(found: Findings) -> str:
    """Findings in words: each name with its score."""
    names = (
        [(one.name, one.score) for one in found.items]
        if isinstance(found, Labels)
        else [(one.label, one.score) for one in found.items]
    )
    return ", ".join(f"{name or 'unnamed'} ({score:.2f})" for name, score in names) or "(nothing)"


def drawn(found: Boxes | Masks) -> Found:
    """Boxes and masks as outlines, as many as a page can show."""
    items: list[Drawn] = []
    length = 0
    for number, (label, score, path, border) in enumerate(_outlines(found), start=1):
        length += len(path) + len(border)
        if number > MOST_DRAWN or length > _LONGEST_PATH:
            break
        items.append(Drawn(number, label[:80] or "unnamed", f"{score:.2f}", path, border))
    width, height = found.size
    return Found(width, height, tuple(items), left_out=len(found.items) - len(items))


def _outlines(found: Boxes | Masks) -> list[tuple[str, float, str, str]]:
    if isinstance(found, Masks):
        return [(one.label, one.score, _runs(one.pixels), _border(one.pixels)) for one in found.items]
    return [(one.label, one.score, "", _frame(one)) for one in found.items]


def _frame(box: Box) -> str:
    return f"M{box.left:g} {box.top:g}H{box.right:g}V{box.bottom:g}H{box.left:g}Z"


def _runs(pixels: npt.NDArray[np.bool_]) -> str:
    """The pixels of a mask row by row as rectangles."""
    return "".join(f"M{start} {row}h{length}v1h-{length}z" for row, start, length in _stretches(pixels))


def _border(pixels: npt.NDArray[np.bool_]) -> str:
    """The lines between the pixels of a mask and all others."""
    padded = np.pad(pixels, 1)
    lying = _stretches((padded[:-1] != padded[1:])[:, 1:-1])
    standing = _stretches((padded[:, :-1] != padded[:, 1:])[1:-1].T)
    return "".join(
        [
            *(f"M{start} {row}h{length}" for row, start, length in lying),
            *(f"M{column} {start}v{length}" for column, start, length in standing),
        ]
    )


def _stretches(flags: npt.NDArray[np.bool_]) -> list[tuple[int, int, int]]:
    """Row, start and length of each stretch of flags in a row."""
    found = []
    for row in np.flatnonzero(flags.any(axis=1)).tolist():
        changes = np.flatnonzero(np.diff(np.concatenate([[False], flags[row], [False]]).astype(np.int8))).tolist()
        found += [(row, start, stop - start) for start, stop in zip(changes[::2], changes[1::2], strict=True)]
    return found
