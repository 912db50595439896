"""The released files are read as they are, and a wrong file is refused with its name and place."""

import json

import pytest

from evaluator.controlllm.toolbench.released.files import TOOL2K_GOLD_EVEN, SuiteFileError, read_tool2k, read_tool100

SOLUTION = "<Solution>[]</Solution>"


def written(path, value):
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def request_row(**changes):
    return {"type": "QA", "instruction": "Why is the sky blue?", "output": SOLUTION, "level": "easy"} | changes


def test_tool100_keys_are_group_and_index_in_the_group(tmp_path):
    path = written(
        tmp_path / "tool100.json",
        {"QA": [request_row(), request_row(status="deprecated")], "extra": [request_row(type="QA,QA", level="hard")]},
    )
    tasks = read_tool100(path)
    assert [task.key for task in tasks] == ["QA/0", "QA/1", "extra/0"]
    assert [task.deprecated for task in tasks] == [False, True, False]
    assert [task.level for task in tasks] == ["easy", "easy", "hard"]
    assert tasks[2].group == "QA,QA"
    assert tasks[0].output == SOLUTION


def test_the_whole_gold_of_tool2k_belongs_to_the_requests_by_order(tmp_path):
    rows = [{"type": "QA", "instruction": f"Question {number}?"} for number in range(3)]
    tasks = written(tmp_path / "tool2k.json", rows)
    gold = written(tmp_path / "gold.json", [row | {"output": f"{SOLUTION}{i}"} for i, row in enumerate(rows)])
    assert [task.output for task in read_tool2k(tasks, gold)] == [f"{SOLUTION}{number}" for number in range(3)]


def test_a_part_of_the_gold_belongs_to_the_requests_by_index(tmp_path):
    rows = [{"type": "QA", "instruction": f"Question {number}?"} for number in range(3)]
    tasks = written(tmp_path / "tool2k.json", rows)
    gold = written(tmp_path / "gold.json", [rows[2] | {"index": 2, "output": SOLUTION}])
    assert [task.output for task in read_tool2k(tasks, gold)] == [None, None, SOLUTION]
    assert [task.output for task in read_tool2k(tasks)] == [None, None, None]
    assert [task.key for task in read_tool2k(tasks)] == ["0", "1", "2"]


WRONG = [
    ("{", "is not JSON: Expecting property name enclosed in double quotes in line 1, column 2"),
    ([], "must be an object of groups, not a list"),
    ({"QA": {}}, 'group "QA" must be a list of requests, not an object'),
    ({"QA": ["?"]}, "request QA/0 must be an object, not a text"),
    ({"QA": [request_row(instruction="")]}, 'request QA/0: "instruction" is a text; it must be a text that is not'),
    ({"QA": [request_row(output=7)]}, 'request QA/0: "output" is a number'),
    ({"QA": [{"instruction": "Why?"}]}, 'request QA/0: "type" is missing'),
    ({"QA": [request_row(level="brutal")]}, "\"level\" is 'brutal'; it must be one of easy, medium, hard"),
]


def test_a_wrong_tool100_is_refused_with_its_place(tmp_path, subtests):
    for content, says in WRONG:
        with subtests.test(case=content):
            path = written(tmp_path / "tool100.json", content)
            with pytest.raises(SuiteFileError) as caught:
                read_tool100(path)
            assert says in str(caught.value)
            assert str(path) in str(caught.value)


def test_files_that_are_missing_or_no_text_are_refused(tmp_path):
    with pytest.raises(SuiteFileError, match="No such file"):
        read_tool100(tmp_path / "nothing.json")
    (tmp_path / "image.json").write_bytes(b"\x89PNG\xff")
    with pytest.raises(SuiteFileError, match="is not UTF-8"):
        read_tool100(tmp_path / "image.json")


FOREIGN = [
    ([{"type": "QA", "instruction": "A?", "output": SOLUTION}], "1 gold decompositions for 2 requests"),
    ([{"index": 2, "instruction": "A?", "output": SOLUTION}], '"index" 2 is no request'),
    ([{"index": 0, "instruction": "A?", "output": SOLUTION}] * 2, "is there twice"),
    ([{"index": 1, "instruction": "A?", "output": SOLUTION}], "its instruction is not that of request 1"),
    ([{"index": 0, "instruction": "A?"}], '"output" is missing'),
    (["A?"], "row 0 must be an object, not a text"),
    ({}, "must be a list of requests"),
]


def test_a_gold_that_does_not_belong_is_refused(tmp_path, subtests):
    for gold, says in FOREIGN:
        with subtests.test(case=gold):
            tasks = written(tmp_path / "tool2k.json", [{"type": "QA", "instruction": text} for text in ("A?", "B?")])
            with pytest.raises(SuiteFileError) as caught:
                read_tool2k(tasks, written(tmp_path / "gold.json", gold))
            assert says in str(caught.value)


def test_the_released_files_hold_127_and_2500_requests(controlllm_folder):
    tool100 = read_tool100(controlllm_folder / "tool100.json")
    assert len(tool100) == len({task.key for task in tool100}) == 127
    assert sum(task.deprecated for task in tool100) == 5
    assert [sum(task.level == level for task in tool100) for level in ("easy", "medium", "hard")] == [75, 31, 21]
    even = controlllm_folder / TOOL2K_GOLD_EVEN
    tool2k = read_tool2k(
        controlllm_folder / "tool2k.json", even if even.exists() else controlllm_folder / "tool2k_w_output.json"
    )
    assert len(tool2k) == 2500
    assert all(task.output is not None for task in tool2k[::2])
