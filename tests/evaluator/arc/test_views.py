import json

import pytest

from evaluator.arc.grids import Demonstration
from evaluator.arc.source import Split
from evaluator.arc.tasks import tasks_of
from evaluator.arc.views import View, task_view, view_of
from tests.evaluator.arc.letters import grid
from tests.rings import usual

GRID = ((1, 2, 0), (0, 1, 0))
"""ab. / .a."""


def shown(*objects):
    return [{"tl": list(tl), "grid": grid(*rows)} for tl, *rows in objects]


VIEWS = [
    (View.GRID, grid("ab.", ".a.")),
    (View.PIXELS, {"a": [[0, 0], [1, 1]], "b": [[0, 1]]}),
    (View.OBJECTS, shown(((0, 0), "a"), ((0, 1), "b"), ((1, 1), "a"))),
    (View.OBJECTS_DIAG, shown(((0, 0), "a.", ".a"), ((0, 1), "b"))),
    (View.OBJECTS_BY_ROW, shown(((0, 0), "a"), ((0, 1), "b"), ((1, 1), "a"))),
    (View.OBJECTS_BY_COL, shown(((0, 0), "a"), ((0, 1), "b"), ((1, 1), "a"))),
    (View.OBJECTS_BY_COLOR, shown(((0, 0), "a.", ".a"), ((0, 1), "b"))),
    (View.OBJECTS_MULTICOLOR, shown(((0, 0), "ab", ".a"))),
    (View.OBJECTS_MULTICOLOR_DIAG, shown(((0, 0), "ab", ".a"))),
    (View.OBJECTS_MULTICOLOR_BY_ROW, shown(((0, 0), "ab"), ((1, 1), "a"))),
    (View.OBJECTS_MULTICOLOR_BY_COL, shown(((0, 0), "a"), ((0, 1), "b", "a"))),
    (View.OBJECTS_MULTICOLOR_BY_COLOR, shown(((0, 0), "a.", ".a"), ((0, 1), "b"))),
]


def test_each_view_of_a_grid(subtests):
    for view, value in VIEWS:
        with subtests.test(case=view):
            assert view_of(GRID, view=view) == value


def test_more_info_is_for_objects_only():
    (found,) = view_of(((1, 1),), view=View.OBJECTS, more_info=True)
    assert found == {"tl": [0, 0], "grid": [["a", "a"]], "size": [1, 2], "cell_count": 2, "shape": [["x", "x"]]}
    assert view_of(GRID, view=View.GRID, more_info=True) == grid("ab.", ".a.")


def test_a_caller_may_change_a_view_without_changing_the_next():
    view_of(GRID, view=View.GRID)[0][0] = "x"
    assert view_of(GRID, view=View.GRID) == grid("ab.", ".a.")


def test_a_task_has_the_fields_of_the_released_prompts():
    pair = Demonstration(input=((1,),), output=((0, 2),))
    shown = {
        view: task_view(demonstrations=[pair], test_inputs=[((3,),)], view=view)
        for view in (View.GRID, View.OBJECTS, View.PIXELS)
    }
    assert shown[View.GRID] == {
        "train": [
            {"input": [["a"]], "input_grid_size": [1, 1], "output": [[".", "b"]], "output_grid_size": [1, 2]}
        ],
        "test": [{"input": [["c"]], "input_grid_size": [1, 1]}],
    }  # fmt: skip
    assert shown[View.OBJECTS]["train"] == [
        {"input_objects": [{"tl": [0, 0], "grid": [["a"]]}], "output_objects": [{"tl": [0, 1], "grid": [["b"]]}]}
    ]
    assert shown[View.PIXELS]["train"] == [
        {"input_pixel_coords": {"a": [[0, 0]]}, "output_pixel_coords": {"b": [[0, 1]]}}
    ]
    assert shown[View.PIXELS]["test"] == [{"input_pixel_coords": {"c": [[0, 0]]}}]


@pytest.mark.parametrize("view", usual(View, of=(View.PIXELS, View.OBJECTS_MULTICOLOR_DIAG, View.OBJECTS_BY_ROW)))
def test_every_view_of_every_task_of_the_paper_is_json_and_covers_its_coloured_cells(released, view):
    for task in tasks_of(Split.PAPER, folder=released):
        found = task_view(demonstrations=task.demonstrations, test_inputs=task.test_inputs, view=view, more_info=True)
        assert json.loads(json.dumps(found)) == found
        if view.is_of_objects:
            source = task.test_inputs[0]
            coloured = {(r, c) for r, row in enumerate(source) for c, cell in enumerate(row) if cell}
            assert covered(found["test"][0]["input_objects"]) == coloured


def covered(objects):
    return {
        (obj["tl"][0] + r, obj["tl"][1] + c)
        for obj in objects
        for r, row in enumerate(obj["grid"])
        for c, cell in enumerate(row)
        if cell not in (".", "$")
    }
