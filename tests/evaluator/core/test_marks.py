"""Marks in pictures: bounded, placed in the picture that experts see, and of the types that tools take."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as PillowImage

from evaluator.core.marks import (
    LARGEST,
    MOST_MARKS,
    Mark,
    MarkError,
    MarkKind,
    given_mark,
    in_words,
    mark_of,
    named,
    placed,
)
from evaluator.core.tools.types import ResourceType
from evaluator.core.values import Boxes, Masks, Value

FILES: dict[str, tuple[ResourceType, Value]] = {
    "a.png": (ResourceType.IMAGE, PillowImage.new("RGB", (64, 32))),
    "a.txt": (ResourceType.TEXT, "words"),
}


def mark(kind: str, *at: tuple[int, int], picture: str = "a.png") -> Mark:
    return mark_of(kind, picture=picture, at=at)


def test_marks_are_resources_of_the_types_that_tools_take() -> None:
    marks = [mark("point", (3, 4), (5, 6)), mark("box", (9, 8), (2, 3)), mark("stroke", (10, 10), (20, 10))]
    found = placed(marks, files=FILES, sizes={})

    assert found.resources["point-1"] == (ResourceType.POINT, "3,4; 5,6")
    kind, boxes = found.resources["box-1"]
    assert isinstance(boxes, Boxes)
    assert (kind, boxes.size, boxes.items[0].corners) == (ResourceType.BBOX, (64, 32), (2.0, 3.0, 10.0, 9.0))
    kind, masks = found.resources["stroke-1"]
    assert isinstance(masks, Masks)
    rows, columns = np.nonzero(masks.items[0].pixels)
    assert (kind, rows.min(), rows.max(), columns.min(), columns.max()) == (ResourceType.MASK, 8, 12, 8, 22)
    assert found.given["point-1"] == {"type": "point", "picture": "a.png", "size": [64, 32], "at": [[3, 4], [5, 6]]}


@given(x=st.integers(0, 1279), y=st.integers(0, 639))
def test_a_mark_in_a_picture_that_was_scaled_down_stays_inside_of_it(x: int, y: int) -> None:
    found = placed([mark("point", (x, y))], files=FILES, sizes={"a.png": (1280, 640)})

    assert found.resources["point-1"][1] == f"{x // 20},{y // 20}"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (mark("point", (64, 0)), "point-1 lies outside a.png, which has 64x32 pixels"),
        (mark("point", (0, 0), picture="b.png"), "not a picture of this request"),
        (mark("point", (0, 0), picture="a.txt"), "not a picture of this request"),
    ],
)
def test_a_mark_that_is_in_no_picture_is_refused_by_name(wrong: Mark, says: str) -> None:
    with pytest.raises(MarkError, match=says):
        placed([wrong], files=FILES, sizes={})


@pytest.mark.parametrize(
    ("kind", "at"),
    [
        ("point", []), ("point", [(1, 1)] * 4), ("box", [(1, 1)]), ("stroke", [(1, 1)] * 65), ("point", [(-1, 0)]),
        ("point", [(LARGEST + 1, 0)]), ("circle", [(1, 1)]), ("point", [(1, 1, 1)]),
    ],
)  # fmt: skip
def test_a_mark_beyond_the_bounds_is_refused(kind: str, at: list[tuple[int, ...]]) -> None:
    with pytest.raises(MarkError):
        mark_of(kind, picture="a.png", at=at)


def test_marks_are_counted_by_kind_and_bounded() -> None:
    point = Mark(kind=MarkKind.POINT, picture="a.png", at=((1, 1),))
    assert list(named([point, mark("box", (1, 1), (2, 2)), point])) == ["point-1", "box-1", "point-2"]
    with pytest.raises(MarkError):
        named([point] * (MOST_MARKS + 1))


@pytest.mark.parametrize(
    "value",
    [
        None, "3,4", [], {}, {"type": "point", "picture": "a.png"},
        {"type": "circle", "picture": "a.png", "at": [[1, 1]]},
        {"type": "point", "picture": 1, "at": [[1, 1]]}, {"type": "point", "picture": "a.png", "at": [[1]]},
        {"type": "point", "picture": "a.png", "at": [["1", 1]]}, {"type": "box", "picture": "a.png", "at": [[1, 1]]},
    ],
)  # fmt: skip
def test_a_given_value_that_is_no_mark_is_none(value: object) -> None:
    assert given_mark(value) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "at", "words"),
    [
        ("point", ((12, 30), (13, 31)), "at 12,30; 13,31 in a.png"),
        ("box", ((4, 4), (30, 40)), "from corner 4,4 to corner 30,40 in a.png"),
        ("stroke", ((1, 2), (3, 4), (5, 6)), "along 1,2; 3,4; 5,6 in a.png"),
    ],
)
def test_a_given_mark_is_read_back_and_said_in_words(kind: str, at: tuple[tuple[int, int], ...], words: str) -> None:
    given = mark(kind, *at).given(size=(64, 64))

    assert given["size"] == [64, 64]
    assert given_mark(given) == mark(kind, *at)
    assert in_words(mark(kind, *at)) == words
