"""The tables of faults fit code and tests. Whether the tests find the faults says `test_caught.py`."""

import ast
import re
from functools import cache

from tests.mutations.faults import ROOT, Fault, faults

FAULTS = faults()


def test_names_are_unique():
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)


def test_each_text_occurs_once_in_its_file():
    assert [fault.name for fault in FAULTS if (ROOT / fault.file).read_text().count(fault.text) != 1] == []


def test_each_file_with_its_fault_is_other_code():
    assert [fault.name for fault in FAULTS if not is_other_code(fault)] == []


def is_other_code(fault: Fault) -> bool:
    code = (ROOT / fault.file).read_text()
    if not fault.file.endswith(".py"):
        return fault.spoilt(code) != code
    return ast.dump(ast.parse(fault.spoilt(code))) != ast.dump(ast.parse(code))


def test_the_tests_of_each_are_in_every_run():
    assert [fault.name for fault in FAULTS if not fault.tests] == []
    assert [(fault.name, test) for fault in FAULTS for test in fault.tests if not is_in_every_run(test)] == []


def is_in_every_run(test: str) -> bool:
    """Whether there is such a test, and it is not marked `full`."""
    file, *names = test.split("::")
    code = (ROOT / file).read_text()
    if re.search(r"^pytestmark = .*mark\.full", code, re.MULTILINE) or tuple(names) not in functions_in(file):
        return False
    return not any("mark.full" in ast.unparse(one) for one in functions_in(file)[tuple(names)].decorator_list)


@cache
def functions_in(file: str) -> dict[tuple[str, ...], ast.FunctionDef]:
    """The test functions of a file, by class, if they have one, and name."""
    body = ast.parse((ROOT / file).read_text()).body
    found = {(node.name,): node for node in body if isinstance(node, ast.FunctionDef)}
    for group in body:
        if isinstance(group, ast.ClassDef):
            found |= {(group.name, node.name): node for node in group.body if isinstance(node, ast.FunctionDef)}
    return {names: node for names, node in found.items() if names[-1].startswith("test_")}
