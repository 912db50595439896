import pytest

from evaluator.suites.arc.helpers import functions
from tests.evaluator.suites.arc.letters import grid, obj

FILLS = [
    (lambda source: functions.fill_value(source, (1, 2), "b"), ("...", "..b")),
    (lambda source: functions.fill_row(source, 0, "b"), ("bbb", "...")),
    (lambda source: functions.fill_row(source, 1, "b", 1, 1), ("...", ".b.")),
    (lambda source: functions.fill_row(source, 1, "b", start_col=1, end_col=2), ("...", ".bb")),
    (lambda source: functions.fill_col(source, 0, "b"), ("b..", "b..")),
    (lambda source: functions.fill_col(source, 0, "b", start_row=1, end_row=1), ("...", "b..")),
    (lambda source: functions.fill_rect(source, (0, 1), (1, 2), "b"), (".bb", ".bb")),
    (lambda source: functions.fill_rect(source, (-1, -1), (5, 0), "b"), ("b..", "b..")),
    (lambda source: functions.fill_grid(source, (1, 1), [["a", "b", "c"]]), ("...", ".ab")),
    (lambda source: functions.fill_grid(source, (-1, 2), grid("a", "b")), ("..b", "...")),
    (lambda source: functions.fill_grid(source, (0, 0), "a"), ("a..", "...")),
    (lambda source: functions.fill_object(source, obj((0, 1), "a", "b")), (".a.", ".b.")),
    (lambda source: functions.fill_between_coords(source, (0, 0), (0, 2), "b"), ("bbb", "...")),
    (lambda source: functions.fill_between_coords(source, (0, 0), (0, 0), "b"), ("b..", "...")),
]


def test_fills_change_their_argument_and_return_it(subtests):
    for fill, rows in FILLS:
        with subtests.test(case=fill):
            source = grid("...", "...")
            assert fill(source) is source
            assert source == grid(*rows)


@pytest.mark.parametrize("position", [(-1, 0), (2, 0), (0, -1), (0, 3)])
def test_a_cell_outside_is_ignored(position):
    assert functions.fill_value(grid("...", "..."), position, "b") == grid("...", "...")


def test_rows_and_columns_end_at_the_thirty_first_cell_unless_told():
    assert functions.fill_row(grid("." * 33), 0, "a") == grid("a" * 31 + "..")
    assert functions.fill_col(grid(*"." * 33), 0, "a") == grid(*("a" * 31 + ".."))


def test_blank_cells_of_a_pattern_erase_and_transparent_ones_do_not():
    assert functions.fill_grid(grid("aaa"), (0, 0), grid(".$b")) == grid(".ab")


def test_an_aligned_object_is_its_own_grid():
    source, small = grid("..."), obj((0, 1), "a")
    assert functions.fill_object(source, small, align=True) is small["grid"]
    assert source == grid("...")


@pytest.mark.parametrize(("start", "end"), [((0, 0), (4, 2)), ((4, 2), (0, 0))])
def test_a_steep_line_rounds_up_in_both_directions(start, end):
    blank = functions.empty_grid(5, 3)
    assert functions.fill_between_coords(blank, start, end, "a") == grid("a..", ".a.", ".a.", "..a", "..a")


def test_a_line_leaves_out_the_cells_outside_but_a_single_point_outside_is_an_error():
    assert functions.fill_between_coords(grid("..", ".."), (-1, -1), (4, 4), "a") == grid("a.", ".a")
    with pytest.raises(IndexError):
        functions.fill_between_coords(grid(".."), (3, 0), (3, 0), "a")
    assert functions.fill_between_coords(grid(".."), (-1, -1), (-1, -1), "a") == grid(".a")


def test_equal_ends_of_different_types_are_an_error():
    with pytest.raises(ZeroDivisionError):
        functions.fill_between_coords(grid(".."), (0, 0), [0, 0], "a")


def test_an_empty_grid_has_no_lines_but_its_rows_and_cells_are_ignored():
    with pytest.raises(IndexError):
        functions.fill_between_coords([], (0, 0), (0, 1), "a")
    assert functions.fill_row([], 0, "a") == []
