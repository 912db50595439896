import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.arc.grids import CellDifference, GridError, difference, grid_of, grid_of_letters, letters_of, numbers_of

GRIDS = st.integers(1, 30).flatmap(
    lambda width: st.lists(st.lists(st.integers(0, 9), min_size=width, max_size=width), min_size=1, max_size=30)
)


@given(GRIDS)
def test_letters_and_numbers_of_a_grid_give_it_again(rows):
    grid = grid_of(rows)
    assert numbers_of(grid) == rows
    assert grid_of_letters(letters_of(grid)) == grid


NO_GRIDS = [
    (None, "pair 1: input is None; a grid is a list of rows"),
    ("ab", "pair 1: input is 'ab'; a grid is a list of rows"),
    ({}, "pair 1: input is of type dict; a grid is a list of rows"),
    ([], "pair 1: input has 0 rows; a grid has 1 to 30"),
    ([[0]] * 31, "pair 1: input has 31 rows; a grid has 1 to 30"),
    ([0], "pair 1: input: row 0 is 0; a row is a list of cells"),
    ([[]], "pair 1: input: row 0 has 0 cells; a row has 1 to 30"),
    ([[0] * 31], "pair 1: input: row 0 has 31 cells; a row has 1 to 30"),
    ([[0, 0], [0]], "pair 1: input: row 1 has 1 cells, row 0 has 2; all need as many"),
    ([[0, 10]], "pair 1: input: row 0, column 1 is 10; a colour is an integer 0 to 9"),
    ([[0], [-1]], "pair 1: input: row 1, column 0 is -1; a colour is an integer 0 to 9"),
    ([[True]], "pair 1: input: row 0, column 0 is True; a colour is an integer 0 to 9"),
    ([[1.0]], "pair 1: input: row 0, column 0 is 1.0; a colour is an integer 0 to 9"),
    ([["a"]], "pair 1: input: row 0, column 0 is 'a'; a colour is an integer 0 to 9"),
]


def test_what_is_no_grid_is_refused_with_its_place_and_what_would_be_right(subtests):
    for value, message in NO_GRIDS:
        with subtests.test(case=value):
            with pytest.raises(GridError) as caught:
                grid_of(value, name="pair 1: input")
            assert str(caught.value) == message


def test_transparent_cells_and_the_tenth_colour_of_an_output_are_blank():
    assert grid_of_letters([["$", "j", ".", "a"]]) == ((0, 0, 0, 1),)


@pytest.mark.parametrize("cell", ["x", "", "ab", "A", 1, None, [], "a" * 1000])
def test_other_cells_of_an_output_are_refused(cell):
    with pytest.raises(GridError, match=r"^output: row 0, column 0 is .{0,60}; a cell is '\.' or a letter 'a' to 'i'$"):
        grid_of_letters([[cell]])


def test_differing_cells_in_reading_order():
    result = difference(expected=((1, 2), (3, 4)), actual=((1, 5), (0, 4)))
    assert result.cells == (
        CellDifference(row=0, column=1, expected=2, actual=5),
        CellDifference(row=1, column=0, expected=3, actual=0),
    )
    assert not result.is_equal
    assert difference(expected=((1,),), actual=((1,),)).is_equal
    other_size = difference(expected=((1, 2),), actual=((1,), (2,)))
    assert (other_size.expected_size, other_size.actual_size, other_size.cells) == ((1, 2), (2, 1), ())
    assert not other_size.is_equal
