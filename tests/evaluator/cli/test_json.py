"""Every command that prints a table prints JSON on request."""

import ast
import inspect
import json
import sys

import pytest
from typer.testing import CliRunner

from evaluator.cli.main import app, commands
from tests.plug_ins import install_example
from tests.rings import usual

PLAN = '{"task": "QA/0", "plan": "[]"}\n'
INVOCATIONS = {
    "suites list": ("--json",),
    "suites show": ("toolmini", "--json"),
    "suites sample": ("openagi-season", "--count", "2", "--json"),
    "planners list": ("--json",),
    "profiles list": ("--json",),
    "profiles show": ("paper", "--json"),
    "profiles fetch": ("paper", "--dry-run", "--json"),
    "profiles memory": ("paper", "--json"),
    "tools list": ("--json",),
    "score-plans": ("-", "--suite", "toolmini", "--json"),
    "evaluate": ("--suite", "toolmini", "--tasks", "QA/0", "--json"),
    "chain": ("--suite", "toolworld", "--task", "count_object/0", "--json"),
    "bench chain": ("--suite", "toolworld", "--samples", "1", "--limit-tasks", "2", "--json"),
    "validity": ("--tasks", "14", "--samples", "1", "--json"),
    "regret": ("--tasks", "14", "--samples", "2", "--json"),
    "doctor": ["--tools", "Machine Translation", "--json"],
    "check suite": ("toolmini", "--json"),
    "check expert": ("lead", "--profile", "lead", "--json"),
    "bench execution": ("--only", "cold", "--tasks", "14", "--samples", "1", "--json"),
    "bench device": ("--device", "cpu", "--small", "--seconds", "1", "--limit-tasks", "1", "--samples", "1", "--json"),
    "bench rewards": ("--limit-tasks", "1", "--samples", "1", "--json"),
    "bench search": ("--gold-decompositions", "--json"),
    "bench decompositions": ("--json",),
    "lilliput contamination": ("--samples", "2", "--only", "reviews (sentiment)", "--json"),
}
"""A call of each command that prints a table. A new command needs a line here."""
TYPES = {
    "suites list": [
        {"slug": str, "version": str, "tasks": int, "title": str, "digest": str, "idle_tools": list, "package": str}
    ],
    "suites show": [{"id": str, "text": str, "gold": dict}],
    "suites sample": [{"id": str, "text": str, "groups": dict}],
    "planners list": [{"name": str, "description": str, "language_model": str, "abilities": list}],
    "profiles list": [{"name": str, "digest": str, "experts": list}],
    "profiles show": {"name": str, "digest": str, "models": list},
    "profiles fetch": {"downloads": list, "bytes": int, "bytes_free": int},
    "profiles memory": {"cpu": dict, "cuda": dict},
    "tools list": [{"name": str, "domain": str, "inputs": dict, "outputs": dict}],
    "score-plans": {"metrics": dict, "tasks": list, "counts": dict},
    "evaluate": {"summary": dict, "results": list, "suite": dict},
    "chain": {
        "decomposition": dict,
        "search": list,
        "rounds": list,
        "corrections": list,
        "state": list,
        "response": str,
    },
    "bench chain": {"ways": dict, "corrections": dict, "better": list},
    "validity": {"metrics": list, "ranking": dict},
    "regret": {"suite": str, "tasks": list, "summary": dict, "left_out": dict},
    "doctor": {"profile": str, "device": dict, "holds": bool, "experts": list},
    "check suite": {"suite": str, "package": type(None), "holds": bool, "checks": list},
    "check expert": {"expert": str, "package": str, "version": str, "digest": str, "holds": bool, "tools": dict},
    "bench execution": {"ratios": dict, "phases": dict},
    "bench device": {"device": dict, "experts": list, "batch_sizes": dict, "execution": dict},
    "bench rewards": {"phases": dict, "conditions": dict, "claims": dict},
    "bench search": {"suite": str, "figures": dict},
    "bench decompositions": [{"suite": str, "decomposer": str, "deacc": dict, "fields": dict}],
    "lilliput contamination": [{"texts": str, "seen": int, "count": int, "share": float, "distinct": int}],
}
"""Keys that programs rely on."""


def prints_a_table(callback) -> bool:
    """Whether a function, or one of its module that it calls, makes a `Listing`."""
    callback = inspect.unwrap(callback)
    tree = ast.parse(inspect.getsource(sys.modules[callback.__module__]))
    names = {
        node.name: {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }
    reached, waiting = set(), [callback.__name__]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += names.get(name, ())
    return "Listing" in reached


SLOW = frozenset({"train table", "bench reliability", "audit", "shortcuts build", "shortcuts measure"})
"""They train planners, measure whole profiles, or attack and learn suites; the tests of these measurements read their
JSON (`tests/evaluator/openagi/training/test_table.py`, `tests/evaluator/studies/benchmarks/test_benchmarks.py`)."""
QUICK = ("suites list", "suites show", "suites sample", "planners list", "profiles list", "profiles show",
         "profiles memory", "tools list", "score-plans", "evaluate", "check expert")  # fmt: skip
"""The others load networks."""


def test_the_commands_with_tables_are_found():
    tables = {name for name, callback in commands() if prints_a_table(callback) and name not in SLOW}
    assert tables == set(INVOCATIONS) == set(TYPES)


@pytest.mark.parametrize("name", usual(INVOCATIONS, of=QUICK))
def test_a_command_that_prints_a_table_prints_nothing_but_json_on_request(name, tmp_path, monkeypatch):
    monkeypatch.setenv("PLANARENA_DATA", str(tmp_path))
    install_example(tmp_path / "packages", monkeypatch=monkeypatch)
    done = CliRunner().invoke(app, [*name.split(), *INVOCATIONS[name]], input=PLAN)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    document, expected = json.loads(done.stdout), TYPES[name]
    for row, keys in (
        zip(document, expected * len(document), strict=True) if isinstance(expected, list) else [(document, expected)]
    ):
        assert {key: type(row[key]) for key in keys} == keys
    assert document
