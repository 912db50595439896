"""Maps of tableaux from their ground truth."""

from functools import cache

import numpy as np
import pytest

from evaluator.miniature.seeds import Split, generator
from evaluator.miniature.tableaux.drawing import Content, draw_tableau, paint, part_mask
from evaluator.miniature.tableaux.editing import EditKind, edit_of
from evaluator.miniature.tableaux.maps import MapKind, draw_map, line_map, outlines, segmentation_map
from evaluator.miniature.tableaux.records import Joint
from evaluator.miniature.vocabulary import Shape


def tableau(index=0, *, content=Content.THINGS):
    return draw_tableau(split=Split.VALIDATION, index=index, content=content)


def map_of(kind, record, *, seed=0):
    painting = paint(record)
    rng = np.random.default_rng(seed)
    return draw_map(kind=kind, tableau=record, owner=painting.owner, nearness=painting.nearness, rng=rng)


@pytest.mark.parametrize("kind", MapKind)
def test_every_map_is_a_picture_that_shows_something(kind):
    pixels = map_of(kind, tableau(content=Content.FIGURE))
    assert (pixels.shape, pixels.dtype) == ((64, 64, 3), np.uint8)
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 1


def test_round_parts_have_no_lines():
    for index in range(40):
        record = tableau(index)
        owner = paint(record).owner
        lines = line_map(parts=record.parts, owner=owner).any(axis=-1)
        for place, part in enumerate(record.parts):
            own = outlines(owner) & (owner == place)
            if part.shape in (Shape.CIRCLE, Shape.RING):
                assert not lines[owner == place].any()
            elif part.shape is not Shape.HEART:
                assert np.array_equal(lines & (owner == place), own)


def test_parts_are_told_apart_by_colour_and_the_background_is_black():
    owner = np.asarray([[-1, 0], [1, 2]]).repeat(32, axis=0).repeat(32, axis=1)
    colours = {tuple(int(level) for level in pixel) for pixel in segmentation_map(owner).reshape(-1, 3)}
    assert len(colours) == 4
    assert segmentation_map(owner)[0, 0].tolist() == [0, 0, 0]


def test_depth_is_brighter_where_a_part_is_nearer():
    record = tableau(5)
    painting, pixels = paint(record), map_of(MapKind.DEPTH, record)
    nearest, farthest = painting.nearness.argmax(), painting.nearness.argmin()
    assert pixels.reshape(-1, 3)[nearest, 0] > pixels.reshape(-1, 3)[farthest, 0]


def test_a_pose_has_a_colour_for_each_limb_and_needs_a_figure():
    record = tableau(content=Content.FIGURE)
    pixels = map_of(MapKind.POSE, record)
    x, y = record.figure.joints[Joint.NECK]
    assert pixels[round(y), round(x)].any()
    assert 12 <= len(np.unique(pixels.reshape(-1, 3), axis=0)) <= 22  # limbs, joints and black
    with pytest.raises(ValueError, match="no pose"):
        map_of(MapKind.POSE, tableau())


@cache
def records():
    return [draw_tableau(split=Split.VALIDATION, index=i, content=content) for content in Content for i in range(20)]


@cache
def edits(kind):
    return list(_edits(kind))


def _edits(kind):
    for index, record in enumerate(records()):
        rng = generator(split=Split.VALIDATION, index=index, purpose="edit")
        edit = edit_of(kind=kind, tableau=record, rng=rng)
        if edit is not None:
            yield edit


@pytest.mark.parametrize("kind", EditKind)
def test_an_edit_changes_the_picture_only_where_it_should(kind):
    seen = 0
    for edit in edits(kind):
        before, after = paint(edit.before).pixels, paint(edit.after).pixels
        changed = (before != after).any(axis=-1)
        assert changed.any()
        seen += 1
        if edit.part is not None:
            parts = [edit.before.parts[edit.part]]
            parts += [part for part in edit.after.parts if part not in edit.before.parts]
            around = np.pad(np.logical_or.reduce([part_mask(part) for part in parts]), 2)
            near = np.logical_or.reduce([around[i : i + 64, j : j + 64] for i in range(5) for j in range(5)])
            assert not (changed & ~near).any()
    assert seen > 10
