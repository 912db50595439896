import pytest

from evaluator.suites.arc.helpers import functions
from tests.evaluator.suites.arc.letters import grid, obj


def test_pixel_coordinates_are_by_frequency_and_ties_by_first_cell():
    found = functions.get_pixel_coords(grid("ba.", "c$b"))
    assert list(found.items()) == [("b", [(0, 0), (1, 2)]), ("a", [(0, 1)]), ("c", [(1, 0)])]


def test_size_and_blank_grid():
    assert functions.get_size(grid("abc", "...")) == (2, 3)
    blank = functions.empty_grid(2, 3)
    blank[0][0] = "a"
    assert blank == grid("a..", "...")


def test_crop_includes_both_corners_counts_negative_indices_from_the_end_and_fails_outside():
    source = grid("abc", "def", "ghi")
    assert functions.crop_grid(source, (0, 1), (1, 2)) == grid("bc", "ef")
    assert functions.crop_grid(source, (-1, 0), (0, 0)) == grid("g", "a")
    assert functions.crop_grid(source, (1, 0), (0, 0)) == []
    with pytest.raises(IndexError):
        functions.crop_grid(source, (0, 0), (3, 0))


@pytest.mark.parametrize(
    ("degree", "rows"),
    [(90, ("da", "eb", "fc")), (180, ("fed", "cba")), (270, ("cf", "be", "ad")), (360, ("abc", "def")),
     (45, ("abc", "def")), (-90, ("abc", "def"))],
)  # fmt: skip
def test_rotation_counts_whole_quarters_and_copies(degree, rows):
    source = grid("abc", "def")
    turned = functions.rotate_clockwise(source, degree)
    assert turned == grid(*rows)
    assert turned[0] is not source[0]


def test_rotation_is_by_a_quarter_unless_told():
    assert functions.rotate_clockwise(grid("ab")) == grid("a", "b")


def test_horizontal_flip_makes_new_rows_and_vertical_flip_keeps_the_rows_themselves():
    source = grid("ab", "cd")
    assert functions.horizontal_flip(source) == grid("ba", "dc")
    flipped = functions.vertical_flip(source)
    assert flipped == grid("cd", "ab")
    flipped[0][0] = "x"
    assert source == grid("ab", "xd")


def test_replace_is_in_place_in_reading_order_and_sees_its_own_results():
    source = grid("aaa", "b..")
    assert functions.replace(source, grid("aa"), grid(".b")) is source
    assert source == grid(".ba", "b..")
    assert functions.replace(grid("ab.."), grid("ab"), grid(".ab")) == grid("...a")
    assert functions.replace(grid("aab"), grid("a"), grid("ca")) == grid("ccc")


def test_replace_takes_single_values_and_leaves_cells_below_transparent_ones():
    assert functions.replace(grid("a.a"), "a", "b") == grid("b.b")
    assert functions.replace(grid("aa"), [["a", "a"]], [["$", "c"]]) == grid("ac")
    assert functions.replace(grid("a"), grid("aa"), "b") == grid("a")


def test_letters_and_integers():
    assert functions.array_to_string([[0, 1, 9, 10]]) == grid(".aij")
    assert functions.string_to_array(grid(".aij")) == [[0, 1, 9, 10]]
    letters, numbers = grid("a"), [[1]]
    assert functions.array_to_string(letters) is letters
    assert functions.string_to_array(numbers) is numbers
    with pytest.raises(KeyError):
        functions.string_to_array(grid("$"))


def test_tight_fit_of_one_object_and_of_several():
    assert functions.tight_fit(grid("....", ".a..", ".aa.", "....")) == grid("a.", "aa")
    assert functions.tight_fit(grid("...", "a.b", "...")) == grid("a.b")
    with pytest.raises(IndexError):
        functions.tight_fit(grid(".."))


def test_tight_fit_loses_cells_below_a_later_object_s_blanks():
    rows = ("aab", "bbb")
    assert functions.tight_fit(grid(*rows)) == grid("$$b", "bbb")


def test_tight_fit_of_a_ring_keeps_its_hole_transparent():
    assert functions.tight_fit(grid("aaa", "a.a", "aaa")) == grid("aaa", "a$a", "aaa")


def test_combined_objects_overwrite_with_blanks_but_not_with_transparent_cells():
    below = obj((1, 1), "aa", "aa")
    assert functions.combine_object(below, obj((1, 2), ".b")) == obj((1, 1), "a$b", "aa.")
    assert functions.combine_object(below, obj((1, 2), "$b")) == obj((1, 1), "aab", "aa.")
    assert below == obj((1, 1), "aa", "aa")


def test_a_grid_is_an_object_at_the_origin():
    assert functions.combine_object(grid("a."), obj((0, 1), "b")) == obj((0, 0), "ab")


def test_objects_are_combined_on_a_canvas_of_thirty_rows_and_columns():
    assert functions.combine_object(obj((29, 29), "a"), obj((28, 29), "b")) == obj((28, 29), "b", "a")
    with pytest.raises(IndexError):
        functions.combine_object(obj((29, 29), "aa"), obj((0, 0), "b"))


def test_a_cell_above_the_canvas_is_read_from_its_other_end():
    assert functions.combine_object(obj((-1, 0), "a", "b"), obj((29, 0), "c"))["grid"][0] == ["c"]


def test_lines():
    assert functions.on_same_line((1, 5), (1, 2), "row") is True
    assert functions.on_same_line((1, 5), (2, 5), "col") is True
    assert functions.on_same_line((0, 0), (2, 2), "diag") is True
    assert functions.on_same_line((0, 2), (2, 0), "diag") is False
    assert functions.on_same_line((0, 0), (0, 0), "column") is False
