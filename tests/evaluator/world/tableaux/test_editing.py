"""Instructions and the pictures that follow from them."""

from functools import cache

import numpy as np
import pytest

from evaluator.world.seeds import Split, generator
from evaluator.world.tableaux import Content, draw_tableau, paint
from evaluator.world.tableaux.editing import EditKind, edit_of
from evaluator.world.tableaux.painting import part_mask


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
