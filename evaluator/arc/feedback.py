"""What a planner is told about a candidate: how it does on the demonstrations, and the sizes of its test outputs.

Functions here are never given a test's right output.
"""

from collections.abc import Sequence

from evaluator.arc.candidates.running import Output, Outputs, Wrong
from evaluator.arc.grids import Grid, difference, letters_of, size_of

_CELLS = 12
"""Wrong cells that are listed."""


def feedback(*, outputs: Outputs, rights: Sequence[Grid]) -> str:
    """A line, or a line and grids, for each demonstration and each test input.

    Args:
        outputs: of the candidate.
        rights: the outputs of the demonstrations.
    """
    lines = [
        _pair(number=number, output=output, right=right)
        for number, (output, right) in enumerate(zip(outputs.demonstrations, rights, strict=False), start=1)
    ]
    lines += [_test(number=number, output=output) for number, output in enumerate(outputs.tests, start=1)]
    return "\n".join(lines)


def passed(*, outputs: Outputs, rights: Sequence[Grid]) -> int:
    """How many demonstrations a candidate gets right."""
    return sum(output == right for output, right in zip(outputs.demonstrations, rights, strict=False))


def _pair(*, number: int, output: Output, right: Grid) -> str:
    name = f"Demonstration {number}"
    if isinstance(output, Wrong):
        return f"{name}: error. {output.sentence()}"
    found = difference(expected=right, actual=output)
    if found.is_equal:
        return f"{name}: ok."
    if found.expected_size != found.actual_size:
        words = f"the output has {_size(found.actual_size)} cells instead of {_size(found.expected_size)}"
    else:
        cells = ", ".join(
            f"({one.row}, {one.column}) is {_letter(one.actual)} instead of {_letter(one.expected)}"
            for one in found.cells[:_CELLS]
        )
        more = "" if len(found.cells) <= _CELLS else ", ..."
        words = f"{len(found.cells)} of {right_cells(right)} cells differ: {cells}{more}"
    return f"{name}: {words}. The output is\n{text_of(output)}"


def _test(*, number: int, output: Output) -> str:
    if isinstance(output, Wrong):
        return f"Test {number}: error. {output.sentence()}"
    return f"Test {number}: a grid of {_size(size_of(output))} cells."


def text_of(grid: Grid) -> str:
    """A grid as lines of letters."""
    return "\n".join("".join(row) for row in letters_of(grid))


def right_cells(grid: Grid) -> int:
    """How many cells a grid has."""
    rows, columns = size_of(grid)
    return rows * columns


def _letter(colour: int) -> str:
    return letters_of(((colour,),))[0][0]


def _size(size: tuple[int, int]) -> str:
    return f"{size[0]} x {size[1]}"
