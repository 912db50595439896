"""Labels, boxes and masks as the task page shows them. What a worker sent is checked before it is drawn."""

import json
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from evaluator.values import Box, Boxes, Labels, Masks
from evaluator.values.findings import FindingError, Findings, findings_from_json

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
    """Of an SVG: the rectangle, or the runs of a mask."""


class Found(NamedTuple):
    """Boxes or masks of a picture."""

    width: int
    height: int
    items: tuple[Drawn, ...]
    left_out: int
    """How many are not drawn."""
    style: str
    """`frame` for boxes, `region` for masks."""


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
    for number, (label, score, path) in enumerate(_outlines(found), start=1):
        length += len(path)
        if number > MOST_DRAWN or length > _LONGEST_PATH:
            break
        items.append(Drawn(number, label[:80] or "unnamed", f"{score:.2f}", path))
    width, height = found.size
    style = "frame" if isinstance(found, Boxes) else "region"
    return Found(width, height, tuple(items), left_out=len(found.items) - len(items), style=style)


def _outlines(found: Boxes | Masks) -> list[tuple[str, float, str]]:
    if isinstance(found, Masks):
        return [(one.label, one.score, _runs(one.pixels)) for one in found.items]
    return [(one.label, one.score, _frame(one)) for one in found.items]


def _frame(box: Box) -> str:
    return f"M{box.left:g} {box.top:g}H{box.right:g}V{box.bottom:g}H{box.left:g}Z"


def _runs(pixels: npt.NDArray[np.bool_]) -> str:
    """The pixels of a mask row by row as an SVG path."""
    pieces = []
    for row in np.flatnonzero(pixels.any(axis=1)):
        changes = np.flatnonzero(np.diff(np.concatenate([[False], pixels[row], [False]]).astype(np.int8)))
        pieces += [
            f"M{start} {row}h{stop - start}v1h{start - stop}z"
            for start, stop in zip(changes[::2].tolist(), changes[1::2].tolist(), strict=True)
        ]
    return "".join(pieces)
