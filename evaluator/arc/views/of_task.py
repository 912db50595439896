"""A view of a task's demonstrations and test inputs."""

from collections.abc import Sequence

from evaluator.arc.demonstrations import Demonstration
from evaluator.arc.grids import Grid, size_of
from evaluator.arc.views.kinds import View
from evaluator.arc.views.of_grid import view_of
from evaluator.core.canonical_json import JsonValue


def task_view(
    *, demonstrations: Sequence[Demonstration], test_inputs: Sequence[Grid], view: View, more_info: bool = False
) -> dict[str, JsonValue]:
    """A task in a view, with the field names of the released prompts. It takes no test outputs, so none can be in it.

    Returns:
        `train`, a list with the fields of input and output for each demonstration, and `test`, one with those of input:
        `input` and `input_grid_size` (grid), `input_objects` (objects) or `input_pixel_coords` (pixels), and `output`
        instead of `input`.
    """

    def shown(name: str, grid: Grid) -> dict[str, JsonValue]:
        value = view_of(grid, view=view, more_info=more_info)
        if view is View.GRID:
            return {name: value, f"{name}_grid_size": list(size_of(grid))}
        return {f"{name}_{'objects' if view.is_of_objects else 'pixel_coords'}": value}

    train = [shown("input", pair.input) | shown("output", pair.output) for pair in demonstrations]
    return {"train": list(train), "test": [shown("input", grid) for grid in test_inputs]}
