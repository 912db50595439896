"""Only `states.py` writes the state of evaluations, shards and attempts."""

import ast
import re
from pathlib import Path

import leaderboard

ROOT = Path(leaderboard.__file__).parent
WRITER = ROOT / "evaluations" / "states.py"
_MODELS = {"Evaluation", "Shard", "Attempt"}
_SQL = re.compile(r"\bupdate\s+evaluations_\w+.*\bset\s+state\b", re.IGNORECASE | re.DOTALL)
"""Jobs of people have a state too, which is another thing."""
_WRITING = {"update", "create", "get_or_create", "update_or_create", "bulk_update", "save"}


def writes_of_state(source: str) -> list[int]:
    """Lines that write a field `state`: by query, by constructor, by assignment, by list of fields or in SQL."""
    return sorted({node.lineno for node in ast.walk(ast.parse(source)) if _writes(node)})


def _writes(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return _call_writes(node)
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return any(
            isinstance(target, ast.Attribute)
            and target.attr == "state"
            and not (isinstance(target.value, ast.Name) and target.value.id == "self")
            for target in targets
        )
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and _SQL.search(node.value) is not None


def _call_writes(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name == "setattr":
        return any(isinstance(part, ast.Constant) and part.value == "state" for part in call.args)
    # `progress.update(bar, state=...)` is no query: queries take no positional arguments.
    named = not call.args and any(keyword.arg == "state" for keyword in call.keywords)
    if name in _MODELS | (_WRITING - {"save", "bulk_update"}) and named:
        return True
    fields = [keyword.value for keyword in call.keywords if keyword.arg in {"update_fields", "defaults", "fields"}]
    listed = [*fields, *(call.args[1:] if name == "bulk_update" else [])]
    return name in _WRITING and any(
        isinstance(part, ast.Constant) and part.value == "state" for value in listed for part in ast.walk(value)
    )


def test_nobody_else_writes_a_state():
    found = {
        f"{path.relative_to(ROOT)}:{line}"
        for path in ROOT.rglob("*.py")
        if path != WRITER and "migrations" not in path.parts
        for line in writes_of_state(path.read_text())
    }
    assert found == set()


def test_the_one_writer_is_seen():
    assert len(writes_of_state(WRITER.read_text())) == 5


def test_every_way_of_writing_is_seen():
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
    for harmless in (
        "Shard.objects.filter(state='done')",
        "self.state = state",
        "View(state=state)",
        "sql = 'UPDATE jobs_job SET state = 1'",
    ):
        assert writes_of_state(harmless) == [], harmless
