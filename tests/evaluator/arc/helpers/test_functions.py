"""The helpers as the paper's released code has them, with its oddities."""

import pytest

from evaluator.arc.helpers import functions
from evaluator.arc.helpers.functions import get_objects
from tests.evaluator.arc.letters import grid, obj


def objects(*rows, **options):
    return get_objects(grid(*rows), more_info=False, **options)


FILLS = [
    (lambda source: functions.fill_value(source, (1, 2), "b"), ("...", "..b")),
    (lambda source: functions.fill_value(source, (-1, 0), "b"), ("...", "...")),
    (lambda source: functions.fill_value(source, (2, 0), "b"), ("...", "...")),
    (lambda source: functions.fill_value(source, (0, -1), "b"), ("...", "...")),
    (lambda source: functions.fill_value(source, (0, 3), "b"), ("...", "...")),
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
    (lambda source: functions.fill_between_coords(source, (-1, -1), (4, 4), "b"), ("b..", ".b.")),
]


def test_fills_change_their_argument_and_return_it(subtests):
    for fill, rows in FILLS:
        with subtests.test(case=fill):
            source = grid("...", "...")
            assert fill(source) is source
            assert source == grid(*rows)


RESULTS = [
    # Rows and columns end at the thirty-first cell unless an end is given.
    (lambda: functions.fill_row(grid("." * 33), 0, "a"), grid("a" * 31 + "..")),
    (lambda: functions.fill_col(grid(*"." * 33), 0, "a"), grid(*("a" * 31 + ".."))),
    (lambda: functions.fill_row([], 0, "a"), []),
    # Blank cells of a pattern erase, transparent ones do not.
    (lambda: functions.fill_grid(grid("aaa"), (0, 0), grid(".$b")), grid(".ab")),
    # A steep line rounds up in both directions.
    (lambda: functions.fill_between_coords(grid(*["..."] * 5), (0, 0), (4, 2), "a"),
     grid("a..", ".a.", ".a.", "..a", "..a")),
    (lambda: functions.fill_between_coords(grid(*["..."] * 5), (4, 2), (0, 0), "a"),
     grid("a..", ".a.", ".a.", "..a", "..a")),
    (lambda: functions.fill_between_coords(grid(".."), (-1, -1), (-1, -1), "a"), grid(".a")),
    # By frequency, ties by first cell.
    (lambda: list(functions.get_pixel_coords(grid("ba.", "c$b")).items()),
     [("b", [(0, 0), (1, 2)]), ("a", [(0, 1)]), ("c", [(1, 0)])]),
    (lambda: functions.get_size(grid("abc", "...")), (2, 3)),
    # Both corners belong to a crop; negative indices count from the end.
    (lambda: functions.crop_grid(grid("abc", "def", "ghi"), (0, 1), (1, 2)), grid("bc", "ef")),
    (lambda: functions.crop_grid(grid("abc", "def", "ghi"), (-1, 0), (0, 0)), grid("g", "a")),
    (lambda: functions.crop_grid(grid("abc", "def", "ghi"), (1, 0), (0, 0)), []),
    (lambda: functions.rotate_clockwise(grid("ab")), grid("a", "b")),
    (lambda: functions.rotate_clockwise(grid("abc", "def"), 90), grid("da", "eb", "fc")),
    (lambda: functions.rotate_clockwise(grid("abc", "def"), 180), grid("fed", "cba")),
    (lambda: functions.rotate_clockwise(grid("abc", "def"), 270), grid("cf", "be", "ad")),
    (lambda: functions.rotate_clockwise(grid("abc", "def"), 360), grid("abc", "def")),
    (lambda: functions.rotate_clockwise(grid("abc", "def"), 45), grid("abc", "def")),
    (lambda: functions.rotate_clockwise(grid("abc", "def"), -90), grid("abc", "def")),
    (lambda: functions.horizontal_flip(grid("ab", "cd")), grid("ba", "dc")),
    # Replacing goes in reading order and sees its own results.
    (lambda: functions.replace(grid("aaa", "b.."), grid("aa"), grid(".b")), grid(".ba", "b..")),
    (lambda: functions.replace(grid("ab.."), grid("ab"), grid(".ab")), grid("...a")),
    (lambda: functions.replace(grid("aab"), grid("a"), grid("ca")), grid("ccc")),
    (lambda: functions.replace(grid("a.a"), "a", "b"), grid("b.b")),
    (lambda: functions.replace(grid("aa"), [["a", "a"]], [["$", "c"]]), grid("ac")),
    (lambda: functions.replace(grid("a"), grid("aa"), "b"), grid("a")),
    (lambda: functions.array_to_string([[0, 1, 9, 10]]), grid(".aij")),
    (lambda: functions.string_to_array(grid(".aij")), [[0, 1, 9, 10]]),
    (lambda: functions.array_to_string(grid("a")), grid("a")),
    (lambda: functions.string_to_array([[1]]), [[1]]),
    (lambda: functions.tight_fit(grid("....", ".a..", ".aa.", "....")), grid("a.", "aa")),
    (lambda: functions.tight_fit(grid("...", "a.b", "...")), grid("a.b")),
    # Cells below the blanks of a later object are lost; the hole of a ring stays transparent.
    (lambda: functions.tight_fit(grid("aab", "bbb")), grid("$$b", "bbb")),
    (lambda: functions.tight_fit(grid("aaa", "a.a", "aaa")), grid("aaa", "a$a", "aaa")),
    # Blank cells overwrite, transparent ones do not; a grid is an object at the origin; the canvas has 30 rows.
    (lambda: functions.combine_object(obj((1, 1), "aa", "aa"), obj((1, 2), ".b")), obj((1, 1), "a$b", "aa.")),
    (lambda: functions.combine_object(obj((1, 1), "aa", "aa"), obj((1, 2), "$b")), obj((1, 1), "aab", "aa.")),
    (lambda: functions.combine_object(grid("a."), obj((0, 1), "b")), obj((0, 0), "ab")),
    (lambda: functions.combine_object(obj((29, 29), "a"), obj((28, 29), "b")), obj((28, 29), "b", "a")),
    (lambda: functions.combine_object(obj((-1, 0), "a", "b"), obj((29, 0), "c"))["grid"][0], ["c"]),
    (lambda: functions.on_same_line((1, 5), (1, 2), "row"), True),
    (lambda: functions.on_same_line((1, 5), (2, 5), "col"), True),
    (lambda: functions.on_same_line((0, 0), (2, 2), "diag"), True),
    (lambda: functions.on_same_line((0, 2), (2, 0), "diag"), False),
    (lambda: functions.on_same_line((0, 0), (0, 0), "column"), False),
    (lambda: functions.create_object(grid("a.", "..", ".b"), [(0, 0), (0, 1), (2, 1)]), obj((0, 0), "a$", "..", ".b")),
    (lambda: functions.obj_to_coords(obj((2, 3), "a.", ".$")), [(2, 3), (3, 4)]),
    (lambda: functions.get_anchor([(3, 1), (2, 5)]), ((2, 1), (3, 5))),
    (lambda: functions.get_anchor([]), ((10000, 10000), (0, 0))),
    (lambda: functions.get_middle([(0, 0), (1, 2)]), (1, 1)),
    # Colours of an object are read in reading order.
    (lambda: functions.get_object_color(obj((0, 0), ".b", "a.")), "b"),
    (lambda: functions.get_object_color(obj((0, 0), "..")), "."),
    (lambda: functions.get_object_color(obj((0, 0), ".$a")), "$"),
    (lambda: functions.object_contains_color(obj((0, 0), ".b", "a."), "a"), True),
    (lambda: functions.object_contains_color(obj((0, 0), ".b", "a."), "c"), False),
    # Cells of one colour join in four directions, objects in the order of their first cells.
    (lambda: objects(".b", "aa", "b."), [obj((0, 1), "b"), obj((1, 0), "aa"), obj((2, 0), "b")]),
    (lambda: objects("a.", ".a"), [obj((0, 0), "a"), obj((1, 1), "a")]),
    (lambda: objects("a.", ".a", diag=True), [obj((0, 0), "a.", ".a")]),
    (lambda: objects("ab", "c.", multicolor=True), [obj((0, 0), "ab", "c.")]),
    (lambda: objects("aj$b", multicolor=True)[0], obj((0, 0), "aj")),
    (lambda: objects("aa", "aa", by_row=True), [obj((0, 0), "aa"), obj((1, 0), "aa")]),
    (lambda: objects("aa", "aa", by_col=True), [obj((0, 0), "a", "a"), obj((0, 1), "a", "a")]),
    # `by_row` and `by_col` together join nothing, and both overrule `diag`.
    (lambda: objects("aa", by_row=True, by_col=True), [obj((0, 0), "a"), obj((0, 1), "a")]),
    (lambda: objects("a.", ".a", by_row=True, diag=True), [obj((0, 0), "a"), obj((1, 1), "a")]),
    # One object of each colour, the most frequent first, without holes.
    (lambda: objects("bbb", "b.b", "bbb", "a..", by_color=True), [obj((0, 0), "bbb", "b.b", "bbb"), obj((3, 0), "a")]),
    # Enclosed blanks follow all objects as transparent ones; with `diag` they leak through a corner.
    (lambda: objects(".aaa.", ".a.a.", ".aaa.", "....b"),
     [obj((0, 1), "aaa", "a.a", "aaa"), obj((3, 4), "b"), obj((1, 2), "$")]),
    (lambda: objects("aaa", "a..", "aaa"), [obj((0, 0), "aaa", "a..", "aaa")]),
    (lambda: objects(".aa", "a.a", "aaa")[-1], obj((1, 1), "$")),
    (lambda: objects(".aa", "a.a", "aaa", diag=True), [obj((0, 0), ".aa", "a.a", "aaa")]),
    (lambda: objects("aaa", "aba", "aaa"), [obj((0, 0), "aaa", "a.a", "aaa"), obj((1, 1), "b"), obj((1, 1), "$")]),
    (lambda: objects("aaaa", "a..a", "aa.a", "aaaa")[-1], obj((1, 1), "$$", ".$")),
    # Grids with the tenth colour have no holes.
    (lambda: objects("aaaj", "a.aj", "aaaj"), [obj((0, 0), "aaa", "a.a", "aaa"), obj((0, 3), "j", "j", "j")]),
    (lambda: get_objects(grid("ab"), False, True, False, False, False, False), [obj((0, 0), "ab")]),
    (lambda: objects("..", ".."), []),
    (lambda: get_objects([[0, 1], [1, 1]], more_info=False), [{"tl": (0, 0), "grid": [[".", 1], [1, 1]]}]),
    (lambda: objects("$"), [obj((0, 0), "$")]),
    (lambda: get_objects(grid(*["a" * 30] * 30))[0]["cell_count"], 900),
]  # fmt: skip


def test_results_are_those_of_the_released_code():
    found = {case: (call(), expected) for case, (call, expected) in enumerate(RESULTS)}
    assert {case: pair for case, pair in found.items() if pair[0] != pair[1]} == {}


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (IndexError, lambda: functions.fill_between_coords(grid(".."), (3, 0), (3, 0), "a")),
        (ZeroDivisionError, lambda: functions.fill_between_coords(grid(".."), (0, 0), [0, 0], "a")),
        (IndexError, lambda: functions.fill_between_coords([], (0, 0), (0, 1), "a")),
        (IndexError, lambda: functions.crop_grid(grid("abc"), (0, 0), (3, 0))),
        (KeyError, lambda: functions.string_to_array(grid("$"))),
        (IndexError, lambda: functions.tight_fit(grid(".."))),
        (IndexError, lambda: functions.combine_object(obj((29, 29), "aa"), obj((0, 0), "b"))),
        (IndexError, lambda: get_objects([])),
        (IndexError, lambda: objects("$", multicolor=True)),
    ],
)
def test_errors_are_those_of_the_released_code(error, call):
    with pytest.raises(error):
        call()


def test_what_shares_rows_with_its_argument_and_what_does_not():
    source = grid("ab", "cd")
    assert functions.rotate_clockwise(source, 360)[0] is not source[0]
    assert functions.horizontal_flip(source)[0] is not source[0]
    assert functions.vertical_flip(source)[0] is source[1]
    assert functions.replace(source, grid("x"), "y") is source
    get_objects(source)[0]["grid"][0][0] = "x"
    assert source == grid("ab", "cd")
    below = obj((1, 1), "aa", "aa")
    functions.combine_object(below, obj((1, 2), ".b"))
    assert below == obj((1, 1), "aa", "aa")
    blank = functions.empty_grid(2, 3)
    blank[0][0] = "a"
    assert blank == grid("a..", "...")
    small = obj((0, 1), "a")
    assert functions.fill_object(grid("..."), small, align=True) is small["grid"]


def test_more_info_is_the_default_and_adds_size_count_and_shape():
    (found,) = get_objects(grid("a.", "aa"))
    assert found == {**obj((0, 0), "a.", "aa"), "size": (2, 2), "cell_count": 3, "shape": grid("x.", "xx")}
    assert list(found) == ["tl", "grid", "size", "cell_count", "shape"]


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
