"""Only `states.py` writes the state of evaluations, shards and attempts."""

import ast
import re
from pathlib import Path

import leaderboard

ROOT = Path(leaderboard.__file__).parent
WRITER = ROOT / "evaluations" / "states.py"
OTHERS = {ROOT / "catalog" / "sealed"}
"""Sealed requests have states of their own."""
OF_RUNS = {ROOT / "workbench" / name for name in ("asking.py", "leasing.py", "models.py")}
"""Write the state of runs, and of nothing else."""
_MODELS = {"Evaluation", "Shard", "Attempt"}
_QUERIES = {"update", "create", "get_or_create", "update_or_create"}
_SQL = re.compile(r"\bupdate\s+evaluations_\w+.*\bset\s+state\b", re.IGNORECASE | re.DOTALL)
"""Jobs of people have a state too, which is another thing."""


def writes_of_state(source: str) -> list[int]:
    """Lines that write a field `state`: by query, by constructor, by assignment, by list of fields or in SQL."""
    return sorted({node.lineno for node in ast.walk(ast.parse(source)) if _writes(node)})


def _writes(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        is_self = isinstance(node.value, ast.Name) and node.value.id == "self"
        return isinstance(node.ctx, ast.Store) and node.attr == "state" and not is_self
    if isinstance(node, ast.Call):
        return _call_writes(node)
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and _SQL.search(node.value) is not None


def _call_writes(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    # `progress.update(bar, state=...)` is no query: queries take no positional arguments.
    if name in _MODELS | _QUERIES and not call.args and any(keyword.arg == "state" for keyword in call.keywords):
        return True
    fields = [keyword.value for keyword in call.keywords if keyword.arg in {"update_fields", "defaults", "fields"}]
    fields += call.args[1:] if name in {"bulk_update", "setattr"} else []
    named = {part.value for field in fields for part in ast.walk(field) if isinstance(part, ast.Constant)}
    return name in _QUERIES | {"save", "bulk_update", "setattr"} and "state" in named


def test_nobody_else_writes_a_state():
    found = [
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        if path not in {WRITER, *OF_RUNS} and "migrations" not in path.parts and OTHERS.isdisjoint(path.parents)
        for _ in writes_of_state(path.read_text())
    ]
    # These two are in memory: what a step has just written.
    assert found == ["queue/reconcile.py"] * 2


def test_those_of_runs_write_to_no_evaluation():
    for path in OF_RUNS:
        source = path.read_text()
        calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
        assert not [ast.unparse(call) for call in calls if _is_of_evaluations(call) and _call_writes(call)], path
        assert not _SQL.search(source), path


def _is_of_evaluations(call: ast.Call) -> bool:
    """Whether a chain of calls, such as `Shard.objects.filter().update()`, begins with a model of evaluations."""
    part: ast.AST = call
    while isinstance(part, ast.Call | ast.Attribute):
        part = part.func if isinstance(part, ast.Call) else part.value
    return isinstance(part, ast.Name) and part.id in _MODELS


def test_every_way_of_writing_is_seen():
    assert len(writes_of_state(WRITER.read_text())) == 5
    ways = [
        "Shard.objects.filter(pk=1).update(state='done')",
        "Evaluation.objects.create(state='running')",
        "Evaluation(state='running')",
        "shard.state = 'done'",
        "setattr(shard, 'state', 'done')",
        "shard.save(update_fields=['state'])",
        "Shard.objects.bulk_update(shards, ['state'])",
        "Shard.objects.update_or_create(pk=1, defaults={'state': 'done'})",
        "cursor.execute('UPDATE evaluations_shard SET state = 1')",
    ]
    for way in ways:
        assert writes_of_state(way) == [1], way
    for harmless in ("Shard.objects.filter(state='done')", "self.state = state", "'UPDATE queue_job SET state = 1'"):
        assert writes_of_state(harmless) == [], harmless
