import pytest

from evaluator.suites.arc.helpers import functions
from evaluator.suites.arc.helpers.functions import get_objects
from tests.evaluator.suites.arc.letters import grid, obj


def objects(*rows, **options):
    return get_objects(grid(*rows), more_info=False, **options)


def test_cells_of_one_colour_join_in_four_directions_in_reading_order_of_their_first_cells():
    assert objects(".b", "aa", "b.") == [obj((0, 1), "b"), obj((1, 0), "aa"), obj((2, 0), "b")]


def test_diag_joins_in_eight_directions():
    assert objects("a.", ".a") == [obj((0, 0), "a"), obj((1, 1), "a")]
    assert objects("a.", ".a", diag=True) == [obj((0, 0), "a.", ".a")]


def test_multicolor_joins_colours_but_not_transparent_cells():
    assert objects("ab", "c.", multicolor=True) == [obj((0, 0), "ab", "c.")]
    assert objects("aj$b", multicolor=True)[0] == obj((0, 0), "aj")


def test_by_row_and_by_col_join_in_one_direction_only():
    assert objects("aa", "aa", by_row=True) == [obj((0, 0), "aa"), obj((1, 0), "aa")]
    assert objects("aa", "aa", by_col=True) == [obj((0, 0), "a", "a"), obj((0, 1), "a", "a")]


def test_by_row_and_by_col_together_join_nothing_and_both_overrule_diag():
    assert objects("aa", by_row=True, by_col=True) == [obj((0, 0), "a"), obj((0, 1), "a")]
    assert objects("a.", ".a", by_row=True, diag=True) == [obj((0, 0), "a"), obj((1, 1), "a")]


def test_by_color_makes_one_object_of_each_colour_most_frequent_first_and_no_holes():
    rows = ("bbb", "b.b", "bbb", "a..")
    assert objects(*rows, by_color=True) == [obj((0, 0), "bbb", "b.b", "bbb"), obj((3, 0), "a")]


def test_enclosed_blanks_follow_all_objects_as_transparent_ones_at_their_place():
    rows = (".aaa.", ".a.a.", ".aaa.", "....b")
    ring, dot, hole = obj((0, 1), "aaa", "a.a", "aaa"), obj((3, 4), "b"), obj((1, 2), "$")
    assert objects(*rows) == [ring, dot, hole]


def test_blanks_that_reach_the_edge_of_the_object_are_no_hole():
    assert objects("aaa", "a..", "aaa") == [obj((0, 0), "aaa", "a..", "aaa")]


def test_with_diag_a_hole_leaks_through_a_corner():
    rows = (".aa", "a.a", "aaa")
    assert objects(*rows)[-1] == obj((1, 1), "$")
    assert objects(*rows, diag=True) == [obj((0, 0), ".aa", "a.a", "aaa")]


def test_another_colour_inside_counts_as_blank_of_the_outer_object():
    assert objects("aaa", "aba", "aaa") == [obj((0, 0), "aaa", "a.a", "aaa"), obj((1, 1), "b"), obj((1, 1), "$")]


def test_a_hole_that_is_no_rectangle_is_blank_around_its_cells():
    rows = ("aaaa", "a..a", "aa.a", "aaaa")
    assert objects(*rows)[-1] == obj((1, 1), "$$", ".$")


def test_grids_with_the_tenth_colour_have_no_holes():
    assert objects("aaaj", "a.aj", "aaaj") == [obj((0, 0), "aaa", "a.a", "aaa"), obj((0, 3), "j", "j", "j")]


def test_more_info_is_the_default_and_adds_size_count_and_shape():
    (found,) = get_objects(grid("a.", "aa"))
    assert found == {**obj((0, 0), "a.", "aa"), "size": (2, 2), "cell_count": 3, "shape": grid("x.", "xx")}
    assert list(found) == ["tl", "grid", "size", "cell_count", "shape"]


def test_positional_options_have_the_order_of_the_released_code():
    assert get_objects(grid("ab"), False, True, False, False, False, False) == [obj((0, 0), "ab")]


def test_a_blank_grid_has_no_objects_and_an_empty_one_is_an_error():
    assert objects("..", "..") == []
    with pytest.raises(IndexError):
        get_objects([])


def test_integers_join_by_value_and_zero_is_blank():
    found = get_objects([[0, 1], [1, 1]], more_info=False)
    assert found == [{"tl": (0, 0), "grid": [[".", 1], [1, 1]]}]


def test_transparent_cells_are_objects_except_with_multicolor_where_they_are_an_error():
    assert objects("$") == [obj((0, 0), "$")]
    with pytest.raises(IndexError):
        objects("$", multicolor=True)


def test_the_largest_grid_of_one_colour_is_one_object():
    (found,) = get_objects(grid(*["a" * 30] * 30))
    assert found["cell_count"] == 900


def test_objects_share_no_rows_with_the_grid():
    source = grid("aa")
    get_objects(source)[0]["grid"][0][0] = "b"
    assert source == grid("aa")


def test_create_object_makes_blank_cells_transparent():
    assert functions.create_object(grid("a.", "..", ".b"), [(0, 0), (0, 1), (2, 1)]) == obj((0, 0), "a$", "..", ".b")


def test_obj_to_coords_counts_transparent_cells():
    assert functions.obj_to_coords(obj((2, 3), "a.", ".$")) == [(2, 3), (3, 4)]


def test_corners_and_middle_of_coordinates():
    assert functions.get_anchor([(3, 1), (2, 5)]) == ((2, 1), (3, 5))
    assert functions.get_anchor([]) == ((10000, 10000), (0, 0))
    assert functions.get_middle([(0, 0), (1, 2)]) == (1, 1)


def test_colours_of_an_object_are_read_in_reading_order():
    assert functions.get_object_color(obj((0, 0), ".b", "a.")) == "b"
    assert functions.get_object_color(obj((0, 0), "..")) == "."
    assert functions.get_object_color(obj((0, 0), ".$a")) == "$"
    assert functions.object_contains_color(obj((0, 0), ".b", "a."), "a") is True
    assert functions.object_contains_color(obj((0, 0), ".b", "a."), "c") is False


def test_change_object_color_changes_the_object_itself_and_its_transparent_cells():
    source = obj((0, 0), "a.$")
    rows = source["grid"]
    assert functions.change_object_color(source, "c") is source
    assert rows == grid("c.c")


def test_change_object_pos_fails_as_released_and_leaves_the_object():
    source = obj((0, 0), "a")
    with pytest.raises(NameError, match="'tl' is not defined"):
        functions.change_object_pos(source, (1, 1))
    assert source["tl"] == (0, 0)
