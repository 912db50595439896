"""Task decompositions: every released one is read, and what was tolerated is said."""

import json

from evaluator.controlllm.toolbench.released.files import TOOL2K, TOOL2K_GOLD_EVEN, TOOL100, read_tool2k, read_tool100
from evaluator.controlllm.toolbench.released.source import gold_file
from evaluator.replies.decomposition import Argument, Subtask, parse_decomposition
from tests.evaluator.toolbench_data import need_controlllm

SUBTASK = {
    "description": "Find the zebra.",
    "task": ["image-perception", "image-editing"],
    "id": 1,
    "dep": [0],
    "args": [{"type": "image", "value": "a.png"}, {"type": "text", "value": "zebra"}],
    "returns": [{"type": "image", "value": "<GENERATED>-1"}],
}
READ = Subtask(
    id=1,
    description="Find the zebra.",
    domains=("image-perception", "image-editing"),
    dependencies=(0,),
    args=(Argument("image", "a.png"), Argument("text", "zebra")),
    returns=(Argument("image", "<GENERATED>-1"),),
)


def solution(*subtasks):
    return f"<Solution>{json.dumps(subtasks)}</Solution>"


def released():
    """The golds of Tool100, and those of Tool2K that the folder has: a half of them or, where fetched, all."""
    folder = need_controlllm()
    tool2k = read_tool2k(folder / TOOL2K, gold_file(folder))
    return [
        [raw.output for raw in suite if raw.output is not None] for suite in (read_tool100(folder / TOOL100), tool2k)
    ]


def test_every_released_decomposition_is_read():
    tool100, tool2k = (list(map(parse_decomposition, texts)) for texts in released())
    assert len(tool100) == 127
    assert len(tool2k) == (1250 if gold_file(need_controlllm()).name == TOOL2K_GOLD_EVEN else 2500)
    literals = [item for item in tool100 + tool2k if any("Python literal" in record for record in item.tolerated)]
    assert len(literals) == 2
    assert all(len(subtask.returns) == 1 for item in tool100 + tool2k for subtask in item.subtasks)


def test_a_decomposition_is_read_with_its_fields():
    parsed = parse_decomposition(solution(SUBTASK, SUBTASK | {"id": 0, "dep": [-1]}))
    assert parsed.subtasks[0] == READ
    assert parsed.subtasks[1].dependencies == ()
    assert parsed.tolerated == ()


def test_python_literals_and_the_papers_names_are_tolerated_and_recorded():
    raw = {
        {"task": "task_domain", "returns": "return"}.get(key, key): value for key, value in (SUBTASK | {"x": 1}).items()
    }
    raw["task_domain"] = "image-perception"
    raw["id"] = "1"
    parsed = parse_decomposition(f"<Solution>{[raw]!r}</Solution>")
    assert parsed.subtasks[0].domains == ("image-perception",)
    assert parsed.subtasks[0].returns == READ.returns
    assert parsed.tolerated == (
        "character 13: read as a Python literal, not valid JSON: Expecting property name enclosed in double quotes",
        '[0]: read "task_domain" as "task"',
        '[0]: read "return" as "returns"',
        "[0]: ignored 'x'",
        "[0].id: read a text as a number",
        "[0].task: read a text as a list of one",
    )


def test_missing_tags_and_dependencies_are_recorded():
    raw = {key: value for key, value in SUBTASK.items() if key != "dep"}
    parsed = parse_decomposition(f" {json.dumps([raw])}\n")
    assert parsed.subtasks[0].dependencies == ()
    assert parsed.tolerated[0] == "line 1, column 2: <Solution> is missing"
    assert "</Solution> is missing" in parsed.tolerated[1]
    assert parsed.tolerated[2] == "[0].dep: missing; read as no dependency"
