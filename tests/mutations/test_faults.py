"""The table of faults fits code and tests. Whether the tests find the faults says `test_caught.py`, with `--deep`."""

import ast
from functools import cache

import pytest

from tests.mutations.faults import ROOT, Fault, faults

FAULTS = faults()
_each = pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)


@_each
def test_the_text_occurs_once_in_its_file(fault: Fault):
    assert (ROOT / fault.file).read_text().count(fault.text) == 1


@_each
def test_the_file_with_the_fault_is_other_python(fault: Fault):
    code = (ROOT / fault.file).read_text()
    assert ast.dump(ast.parse(fault.spoilt(code))) != ast.dump(ast.parse(code))


@_each
def test_its_tests_are_in_every_run(fault: Fault):
    assert fault.tests
    for test in fault.tests:
        file, *names = test.split("::")
        assert tuple(names) in functions_in(file), f"there is no {test}"
        assert not is_sampled(functions_in(file)[tuple(names)]), f"{test} is not in every run"
        assert "pytestmark = pytest.mark.rotating" not in (ROOT / file).read_text(), f"{test} is not in every run"


@cache
def functions_in(file: str) -> dict[tuple[str, ...], ast.FunctionDef]:
    """The test functions of a file, by class, if they have one, and name."""
    body = ast.parse((ROOT / file).read_text()).body
    found = {(node.name,): node for node in body if isinstance(node, ast.FunctionDef)}
    for group in body:
        if isinstance(group, ast.ClassDef):
            found |= {(group.name, node.name): node for node in group.body if isinstance(node, ast.FunctionDef)}
    return {names: node for names, node in found.items() if names[-1].startswith("test_")}


def is_sampled(test: ast.FunctionDef) -> bool:
    decorators = [ast.unparse(decorator) for decorator in test.decorator_list]
    marked = any(name in decorator for decorator in decorators for name in ("mark.sampled", "mark.rotating"))
    return marked or "sample" in {argument.arg for argument in test.args.args}
