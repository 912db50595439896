"""Programs as language models write them: they run, with Python's own results."""

import json

import pytest

from evaluator.sandbox.programs.results import Failed, Returned
from evaluator.sandbox.programs.runner import Program, Runner
from evaluator.sandbox.programs.wire import Failure, Limits
from tests.rings import usual

HELPERS = """
from collections import Counter

BLANK = "."


def empty_grid(row, col):
    return [[BLANK for _ in range(col)] for _ in range(row)]


def fill_value(grid, pos, value):
    if 0 <= pos[0] < len(grid) and 0 <= pos[1] < len(grid[0]):
        grid[pos[0]][pos[1]] = value
    return grid


def get_pixel_coords(grid):
    found = {}
    counted = Counter(cell for row in grid for cell in row if cell != BLANK)
    for color, _ in counted.most_common():
        found[color] = [(r, c) for r, row in enumerate(grid) for c, cell in enumerate(row) if cell == color]
    return found


def _private(grid):
    return grid
"""
GRID = [["a", ".", "b"], ["a", ".", "."], [".", ".", "c"]]
WHOLE = {
    "moved pixels": """
def transform_grid(grid):
    coords = get_pixel_coords(grid)
    new_grid = [row[:] for row in grid]
    for coord in coords['a']:
        row, col = coord
        if row < len(grid) // 2:
            new_row = row + 1
        else:
            new_row = row - 1
        new_grid = fill_value(new_grid, (new_row, col), 'e')
    return new_grid
""",
    "nested function": """
def transform_grid(grid: List[List[str]]) -> List[List[str]]:
    \"\"\"Fill what is reachable.\"\"\"
    height, width = len(grid), len(grid[0])
    seen = set()

    def flood(r, c):
        nonlocal seen
        if not (0 <= r < height and 0 <= c < width) or (r, c) in seen or grid[r][c] != '.':
            return
        seen.add((r, c))
        for dr, dc in [(0, 1), (1, 0), (0, -1), (-1, 0)]:
            flood(r + dr, c + dc)

    flood(0, 1)
    return [['x' if (r, c) in seen else cell for c, cell in enumerate(row)] for r, row in enumerate(grid)]
""",
    "helpers beside": """
import_free = True
SIZES = {'a': 1, **{'b': 2}}

def mirror(row, *, times=1):
    for _ in range(times):
        row = row[::-1]
    return row

def transform_grid(grid):
    result = empty_grid(len(grid), len(grid[0]))
    for i, row in enumerate(grid):
        result[i] = mirror(row, times=1 if import_free else 2)
    first, *rest = result
    assert len(rest) == 2, 'rows'
    return [first, *rest]
""",
    "arithmetic": """
def transform_grid(grid):
    x, y = divmod(17, 5)
    z = -x ** 2 % 7 << 1 | y & 3 ^ 1
    n = (m := 10) if not any(v > 20 for v in [x, y]) else 0
    s = {1, 2, 3} - {2} | {9}
    return [x, y, z, n + m, sorted(s), 7 // 2, 7 / 2, ~5, round(2.567, 1), abs(-3), 2 ** 0.5 > 1, 1 < 2 < 3,
            min(4, 2), int('12') + ord('a'), chr(98), isinstance([], (list, tuple)), 'a' in 'abc', None is None,
            bool([]), 3 * 'ab']
""",
    "texts": """
def transform_grid(grid):
    words = ' the quick  fox '.strip().split()
    return ['-'.join(w.upper() for w in words), 'abca'.replace('a', 'x').find('x', 1), 'q'.join('ab').count('q'),
            'Fox'.startswith('F'), f"{words!r:>30}" if False else f"{words!r}", {'k': (1, 2)}, 'abc'[::-1], 'abc'[-1]]
""",
    "order of evaluation": """
def transform_grid(grid):
    total, sizes, x = [0], {'n': 1}, 1
    def count(n):
        if n == 0:
            return 1
        total[0] += count(n - 1)
        return total[0] + 1
    def change():
        nonlocal x
        sizes['n'] = x = 100
        return 5
    count(6)
    sizes['n'] += change()
    x += change()
    a, b, places = [1, 2, 3], list('abcdef'), [0]
    def place():
        places[0] += 1
        return places[0]
    a[0] += a.pop()
    a[place()] += place()
    b[len(b):] = [b.pop()]
    return [total, sizes, x, a, b, places]
""",
    "order of sets": """
def transform_grid(grid):
    def cells(height, width, step=1):
        return {(r * step, c) for r in range(height) for c in range(width)}
    a, b = cells(9, 9), cells(12, 5, step=2)
    for cell in cells(7, 7):
        a.discard(cell)
    a |= b
    found = [list(a)]
    a &= cells(8, 8)
    a -= {(2, 2), (4, 4)}
    a ^= {(50, c) for c in range(20)}
    found += [list(a), list(a.union(b)), list(b.intersection(a)), list(a.difference(list(b))), list({*a, *b}), [*a]]
    a.update(b, cells(3, 30))
    return found + [list(a), list(a.copy()), list(copy.deepcopy(b)), list(a.symmetric_difference(c for c in b))]
""",
}


@pytest.fixture(scope="module")
def runner():
    with Runner(library=[HELPERS], workers=1) as started:
        yield started


@pytest.mark.parametrize("name", WHOLE)
def test_programs_give_what_python_gives(name, runner):
    program = Program(source=WHOLE[name], entry="transform_grid", calls=[[GRID], [GRID]])
    [results], [again] = runner.run([program]), runner.run([program])
    names = {}
    exec("import copy\nfrom typing import List\n" + HELPERS + WHOLE[name], names)
    expected = json.loads(json.dumps(names["transform_grid"](json.loads(json.dumps(GRID)))))
    assert [result.value for result in results] == [expected, expected]
    assert [result.steps for result in results] == [result.steps for result in again]


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("12 * (3 + 4)", 84),
        ("total = sum([1, 2])\ntotal / 2\n", 1.5),
        ("def solution():\n    eggs = 16 - 3 - 4\n    return eggs * 2\n", 18),
        ("def helper(x):\n    return x + 1\n\ndef answer(start=1):\n    return helper(start)\n", 2),
        ("'yes' if 3 > 2 else 'no'", "yes"),
        ("def f():\n    return 3\nf()", 3),
    ],
)
def test_an_answer_is_the_last_expression_or_a_function_without_arguments(source, value, runner):
    [[result]] = runner.run([Program(source=source)])
    assert isinstance(result, Returned)
    assert result.value == value


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("sum(['a', 'b'], '')", "TypeError: sum() can't sum strings"),
        ("copy.deepcopy(x for x in [1])", "TypeError: cannot pickle 'generator' object"),
        ("x = [1]\nx[0:1] = 5\nx", "TypeError: can only assign an iterable"),
        ("str.upper([1])", "TypeError: descriptor 'upper' for 'str' objects doesn't apply to a 'list' object"),
        ("int.index(1)", "AttributeError: 'function' object has no attribute 'index'"),
        ("x = {}\nx['a'] += 1 // 0\nx", "KeyError: 'a'"),
        # The notebook of 2023 had `import copy`, and no name for its functions.
        ("deepcopy([1])", "name 'deepcopy' is not defined"),
        ("copy([1])", "object is not callable"),
        ("copy.error", "'error'"),
        # Private names of the library.
        ("_private(1)", "'_private' is not defined"),
    ],
)
def test_failures_are_those_of_python(source, words, runner):
    [[result]] = runner.run([Program(source=source)])
    assert words in result.message


@pytest.mark.parametrize("source", ["[(1, 2)]", "(1, 2)", "{'a': [(1,)]}"])
def test_tuples_in_a_result_are_lists_unless_they_are_not_allowed(source, runner):
    [[allowed], [refused]] = runner.run([Program(source=source), Program(source=source, tuples=False)])
    assert "(" not in str(allowed.value)
    assert (refused.failure, refused.message) == (
        Failure.RESULT, "The result contains a tuple where a list is expected.",
    )  # fmt: skip


def test_each_call_has_its_own_values_and_names(runner):
    source = (
        "seen = []\n"
        "def transform_grid(grid):\n"
        "    global empty_grid, BLANK\n"
        "    before = (len(seen), BLANK, empty_grid(1, 1))\n"
        "    seen.append(1)\n"
        "    BLANK = 'patched'\n"
        "    empty_grid = lambda *a: 'patched'\n"
        "    grid.append(1)\n"
        "    return [before, len(grid)]\n"
    )
    grid = [[]]
    programs = [Program(source=source, entry="transform_grid", calls=[[grid], [grid]])] * 2
    for results in runner.run(programs):
        assert [result.value for result in results] == [[[0, ".", [["."]]], 2]] * 2
    assert grid == [[]]


def test_some_calls_fail_and_others_do_not(runner):
    source = "def f(x):\n    y = 10\n\n    return y // x\n"
    [results] = runner.run([Program(source=source, entry="f", calls=[[5], [0], [2]])])
    assert [type(result) for result in results] == [Returned, Failed, Returned]
    failed = results[1]
    assert (failed.failure, failed.line) == (Failure.ERROR, 4)
    assert failed.message == "The program raised ZeroDivisionError: integer division or modulo by zero."


def test_a_failure_in_a_helper_names_the_program_line_that_called_it(runner):
    source = "def f(x):\n    a = 1\n    return get_pixel_coords(x)\n"
    [[result]] = runner.run([Program(source=source, entry="f", calls=[[5]])])
    assert (result.failure, result.line) == (Failure.ERROR, 3)
    assert "'int' object is not iterable" in result.message


def test_results_do_not_depend_on_the_process():
    source = "[x for x in set('the quick brown fox jumps'.split())]"
    found = set()
    for _ in range(2):
        with Runner(workers=1) as one:
            found.add(str(one.run([Program(source=source)])[0][0].value))
    assert len(found) == 1


def test_the_recursion_of_a_flood_fill_over_the_largest_grid_fits(runner):
    grid = [["."] * 30 for _ in range(30)]
    [[result]] = runner.run([Program(source=WHOLE["nested function"], entry="transform_grid", calls=[[grid]])])
    assert result.value == [["x"] * 30] * 30


@pytest.mark.parametrize("name", usual(WHOLE, of=["moved pixels"]))
def test_a_budget_below_the_steps_of_a_program_fails(name, runner):
    program = Program(source=WHOLE[name], entry="transform_grid", calls=[[GRID]])
    [[first]] = runner.run([program])
    if first.steps:
        with Runner(library=[HELPERS], limits=Limits(steps=first.steps), workers=1) as enough:
            assert isinstance(enough.run([program])[0][0], Returned)
        with Runner(library=[HELPERS], limits=Limits(steps=first.steps - 1), workers=1) as too_few:
            [[result]] = too_few.run([program])
            assert result.failure is Failure.STEPS
            assert result.message == f"The call used up its {first.steps - 1:,} steps."
