"""What the worker's protocol is made of."""

import ast
import sys
from pathlib import Path

import gpu_jobs.contract

_ALLOWED = {"pydantic", "evaluator.canonical_json", "evaluator.records"}


def imported(file: Path) -> set[str]:
    """The modules that a file imports, of other packages by their first names."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    own = {name for name in found if name.startswith("gpu_jobs.contract.")}
    return {name for name in found - own if name.split(".")[0] not in sys.stdlib_module_names}


def test_both_sides_can_import_it_without_each_other():
    files = sorted(Path(gpu_jobs.contract.__path__[0]).glob("*.py"))
    assert len(files) > 5
    for file in files:
        assert imported(file) <= _ALLOWED, file.name
