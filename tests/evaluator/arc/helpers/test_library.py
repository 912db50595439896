import ast
import inspect
import json
import subprocess
import sys

import pytest

from evaluator.arc.helpers import functions
from evaluator.arc.helpers.catalogue import HELPERS, NAMES, TOOLS, library


def test_each_signature_is_that_of_the_function():
    for name, helper in HELPERS.items():
        actual = inspect.signature(getattr(functions, name)).parameters
        assert [parameter.name for parameter in helper.parameters] == list(actual), name
        defaults = [None if one.default is inspect.Parameter.empty else one.default for one in actual.values()]
        assert [parameter.default for parameter in helper.parameters] == defaults, name
        assert helper.changes in {"", *actual}


def test_every_public_function_is_listed():
    public = {name for name, value in vars(functions).items() if inspect.isfunction(value) and name[0] != "_"}
    assert public == set(HELPERS)


def test_planners_are_offered_the_functions_of_the_paper_s_prompts():
    assert len(TOOLS.tools) == 21
    assert not {"fill_grid", "change_object_pos", "copy"} & set(TOOLS.tools)
    assert HELPERS["rotate_clockwise"].signature == "rotate_clockwise(grid: grid, degree: integer = 90) -> grid"
    assert HELPERS["fill_row"].to_json()["parameters"][-1] == {"name": "end_col", "type": "integer", "default": 30}


def test_the_library_imports_only_copy():
    imports = [node for node in ast.parse(library()).body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [[alias.name for alias in node.names] for node in imports] == [["copy"]]


def test_the_library_runs_as_text_without_this_package():
    program = (
        "import json, sys\n"
        "space = {}\n"
        "exec(compile(sys.stdin.read(), 'library', 'exec'), space)\n"
        f"names = {sorted(NAMES)!r}\n"
        "source = [['a', '.']]\n"
        "copied = space['copy'].deepcopy(source)\n"
        "print(json.dumps([[name in space for name in names], space['horizontal_flip'](copied), "
        "space['copy'].copy(source)[0] is source[0], 'evaluator' in sys.modules]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], input=library(), capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [[True] * len(NAMES), [[".", "a"]], True, False]


def test_copy_is_no_function_and_gives_no_way_to_other_modules():
    with pytest.raises(TypeError):
        functions.copy([])
    assert {name for name in dir(functions.copy) if name[0] != "_"} == {"copy", "deepcopy"}
