"""Every rule fires on its defect, on nothing else, and as often as the released files have it."""

import json
import re
from collections import Counter
from pathlib import Path

from evaluator.controlllm.toolbench.mini.requests import toolmini_tasks
from evaluator.controlllm.toolbench.released.defects import RULES, flags_of, gold_of, is_active
from evaluator.controlllm.toolbench.released.files import RawTask, read_tool2k, read_tool100
from evaluator.controlllm.toolbench.released.source import gold_file

DOCS = Path(__file__).resolve().parents[4] / "docs" / "suites.md"


def subtask(number, *, args, gives="image", domains=("image-editing",), needs=(), description="Edit it."):
    return {
        "description": description,
        "task": list(domains),
        "id": number,
        "dep": list(needs) or [-1],
        "args": [{"type": kind, "value": value} for kind, value in args],
        "returns": [{"type": gives, "value": f"<GENERATED>-{number}"}],
    }


def request(*subtasks, instruction="Remove the cup from pier_1.png.", **changes):
    output = f"<Solution>{json.dumps(subtasks)}</Solution>"
    fields = {"key": "0", "group": "extra", "instruction": instruction, "output": output, "level": None} | changes
    return RawTask(**fields)


MASK = subtask(0, args=[("image", "pier_1.png"), ("text", "cup")], gives="mask", domains=["image-perception"])
BOXES = MASK | {"returns": [{"type": "bbox", "value": "<GENERATED>-0"}]}
REMOVE = subtask(1, args=[("image", "pier_1.png"), ("mask", "<GENERATED>-0")], needs=[0])
SEPARATE = REMOVE | {"description": "Separate the cup from the rest."}
DRAW = subtask(1, args=[("bbox", "<GENERATED>-0")], needs=[0])
DRAW_WITH_IMAGE = subtask(1, args=[("image", "pier_1.png"), ("bbox", "<GENERATED>-0")], needs=[0])
SECOND_MASK = subtask(2, args=[("image", "pier_1.png"), ("text", "cup")], gives="mask", domains=["image-perception"])
THIRD = subtask(3, args=[("image", "pier_1.png"), ("mask", "<GENERATED>-0")], needs=[2])
PYTHON = f"<Solution>{[MASK, REMOVE]}</Solution>"
OVER_TWO = subtask(2, args=[("image", "<GENERATED>-1"), ("mask", "<GENERATED>-0")], needs=[1])


COUNT = subtask(0, args=[("image", "pier_1.png"), ("text", "cup")], gives="text", description="Count the cup")


RAW = [
    (request(MASK, REMOVE), ()),
    (request(MASK, REMOVE, deprecated=True), ("deprecated",)),
    (request(output=PYTHON), ("unparsable",)),
    (request(output="<Solution>sorry</Solution>"), ("unparsable", "unreadable")),
    (request(output='<Solution>{"id": 0}</Solution>'), ("unparsable", "unreadable")),
    (request(BOXES, DRAW), ("unreachable",)),
    (request(BOXES, DRAW_WITH_IMAGE), ()),
    (request(MASK, REMOVE, instruction="Remove the cup from pier_1.png, pier_2.pngs_31.png"), ("mangled_name",)),
    (request(MASK, REMOVE, instruction="Remove the cup from pier_1.png in pier_2.png_31"), ("mangled_name",)),
    (request(MASK, REMOVE, instruction="Take pier_1.png's cup away."), ()),
    (request(MASK, SEPARATE), ("needs_mask_image",)),
    (request(MASK, REMOVE, instruction="Remove the cup from this image."), ("context_file",)),
    (request(MASK, REMOVE, instruction="Remove the cup from old_pier_1.png."), ("context_file",)),
    (request(MASK, REMOVE, instruction="Remove the cup from photos/pier_1.png."), ()),
    (request(MASK, REMOVE, SECOND_MASK, THIRD), ("wrong_reference",)),
    (request(BOXES, REMOVE), ("wrong_reference",)),
    (request(MASK, REMOVE, OVER_TWO), ()),
    (request(COUNT, instruction="How many cups are in pier_1.png?"), ()),
    (request(COUNT, instruction="How many dogs are in pier_1.png?"), ("wrong_object",)),
    (request(COUNT, instruction="How many mugs are in pier_1.png?", plain="How many cups are in pier_1.png?"), ()),
    (request(output=None), ("gold_missing",)),
]  # fmt: skip


def test_a_rule_fires_on_its_defect_only(subtests):
    for raw, flags in RAW:
        with subtests.test(case=raw):
            assert flags_of(raw) == flags
            assert flags_of(raw, gold_of(raw)) == flags


def test_the_known_defects_are_kept_out_of_the_active_split():
    assert is_active(())
    assert is_active(("needs_mask_image", "context_file", "wrong_object", "wrong_reference", "gold_missing"))
    for name in ("deprecated", "unparsable", "unreadable", "unreachable", "mangled_name"):
        assert not is_active((name,))


def test_toolmini_has_no_defects_but_the_tool_that_the_release_leaves_out():
    flags = Counter(flag for task in toolmini_tasks() for flag in flags_of(task))
    assert set(flags) == {"needs_mask_image"}


def test_tool100_has_the_known_defects(controlllm_folder):
    found = {task.key: flags_of(task) for task in read_tool100(controlllm_folder / "tool100.json")}
    assert Counter(flag for flags in found.values() for flag in flags) == {
        "deprecated": 5, "unparsable": 2, "needs_mask_image": 4, "context_file": 1, "wrong_reference": 1,
    }  # fmt: skip
    assert found["extra/3"] == found["extra/6"] == ("unparsable",)
    assert found["extra/4"] == ("context_file",)
    assert sum(is_active(flags) for flags in found.values()) == 120


def test_tool2k_has_the_known_defects(controlllm_folder):
    gold = gold_file(controlllm_folder)
    found = {task.key: flags_of(task) for task in read_tool2k(controlllm_folder / "tool2k.json", gold)}
    counts = Counter(flag for flags in found.values() for flag in flags)
    whole = not counts["gold_missing"]
    assert counts["mangled_name"] == 10
    assert counts["unreachable"] == (13 if whole else 7)
    assert counts["needs_mask_image"] == (83 if whole else 42)
    assert not counts["unparsable"]
    if whole:
        assert sum(is_active(flags) for flags in found.values()) == 2477


def documented():
    """Rows of the documentation's table: flag, what is wrong, in `active`, counts."""
    row = re.compile(r"^\| `(\w+)` \| ([^|]+) \| (yes|no) \| (\d+) \| (\d+) \|$", re.MULTILINE)
    return row.findall(DOCS.read_text(encoding="utf-8"))


def test_the_documentation_names_every_rule():
    rules = [(rule.name, rule.description, "no" if rule.excludes else "yes") for rule in RULES]
    assert [row[:3] for row in documented()] == rules


def test_the_documentation_has_the_right_counts(controlllm_folder):
    tool100 = read_tool100(controlllm_folder / "tool100.json")
    even = read_tool2k(controlllm_folder / "tool2k.json", gold_file(controlllm_folder))[::2]
    counts = [Counter(flag for task in tasks for flag in flags_of(task)) for tasks in (tool100, even)]
    found = {rule.name: tuple(str(count[rule.name]) for count in counts) for rule in RULES}
    assert {row[0]: row[3:] for row in documented()} == found
