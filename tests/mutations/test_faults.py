"""The table of faults fits code and tests. Whether the tests find the faults says `test_caught.py`."""

import ast
import re
from functools import cache

import pytest

from tests.mutations.faults import ROOT, Fault, faults

FAULTS = faults()
_each = pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)


def test_names_are_unique():
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)


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
        marked = any("mark.full" in ast.unparse(one) for one in functions_in(file)[tuple(names)].decorator_list)
        assert not marked, f"{test} is not in every run"
        assert not re.search(r"^pytestmark = .*mark\.full", (ROOT / file).read_text(), re.M), (
            f"{test} is not in every run"
        )


@cache
def functions_in(file: str) -> dict[tuple[str, ...], ast.FunctionDef]:
    """The test functions of a file, by class, if they have one, and name."""
    body = ast.parse((ROOT / file).read_text()).body
    found = {(node.name,): node for node in body if isinstance(node, ast.FunctionDef)}
    for group in body:
        if isinstance(group, ast.ClassDef):
            found |= {(group.name, node.name): node for node in group.body if isinstance(node, ast.FunctionDef)}
    return {names: node for names, node in found.items() if names[-1].startswith("test_")}
