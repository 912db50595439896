import json

import pytest

from evaluator.arc.grids import Demonstration
from evaluator.arc.task_files import TaskFileError, read_task_file, task_file_of
from evaluator.core import canonical_json

PAIR = {"input": [[0, 1]], "output": [[2]]}
TASK = {"train": [PAIR], "test": [{"input": [[3]], "output": [[4]]}]}


def read(value):
    return task_file_of(json.dumps(value).encode(), key="0123abcd")


def test_a_task_file():
    found = read(TASK)
    assert found.demonstrations == (Demonstration(input=((0, 1),), output=((2,),)),)
    assert found.test_inputs == (((3,),),)
    assert found.expected.outputs == (((4,),),)
    assert read({**TASK, "name": "0123abcd"}) == found


def test_expected_outputs_are_neither_printed_nor_json():
    expected = read(TASK).expected
    assert "4" not in repr(expected).replace("0123abcd", "")
    with pytest.raises(TypeError):
        canonical_json.dumps(expected)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "0123abcd must be an object with 'train' and 'test'"),
        ({"train": [PAIR]}, "0123abcd must be an object with 'train' and 'test'"),
        ({**TASK, "solution": 1}, "0123abcd must be an object with 'train' and 'test'"),
        ({**TASK, "train": []}, "0123abcd: train must be a list of at least one pair"),
        ({**TASK, "test": {}}, "0123abcd: test must be a list of at least one pair"),
        ({**TASK, "train": [PAIR, 1]}, "0123abcd: train 1 must be an object with 'input' and 'output'"),
        ({**TASK, "test": [{"input": [[1]]}]}, "0123abcd: test 0 must be an object with 'input' and 'output'"),
        (
            {**TASK, "train": [{**PAIR, "output": [[1], [1, 2]]}]},
            "0123abcd: train 0: output: row 1 has 2 cells, row 0 has 1; all need as many",
        ),
        (
            {**TASK, "test": [{"input": [[11]], "output": [[1]]}]},
            "0123abcd: test 0: input: row 0, column 0 is 11; a colour is an integer 0 to 9",
        ),
    ],
)
def test_what_is_no_task_is_refused_with_the_place(value, message):
    with pytest.raises(TaskFileError) as caught:
        read(value)
    assert str(caught.value) == message


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 100_000])
def test_what_is_not_json_is_refused(content):
    with pytest.raises(TaskFileError, match=r"^0123abcd is not JSON: "):
        task_file_of(content, key="0123abcd")


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(TaskFileError, match=r"none\.json cannot be read: No such file"):
        read_task_file(tmp_path / "none.json")
