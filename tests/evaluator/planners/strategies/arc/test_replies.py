"""Replies: JSON, fenced blocks, and what models write around them."""

import json

import pytest

from evaluator.planners.strategies.arc.composing import composed
from evaluator.planners.strategies.arc.replies import ReplyError, read_reply

PROGRAM = "def transform_grid(grid):\n    return grid"


def as_json(program=PROGRAM, **prose):
    return json.dumps({**prose, "python_program": program})


@pytest.mark.parametrize(
    "text",
    [
        as_json(),
        f"Here it is:\n```json\n{as_json()}\n```\nDone.",
        f"```\n{as_json()}",
        f"{{not json}} {as_json()} {{",
        json.dumps({"python_program": f"```python\n{PROGRAM}\n```"}),
        f"I think so.\n```python\n{PROGRAM}\n```",
        '{"python_program": "def transform_grid(grid):\n    return grid"}',
        as_json(program="def transform_grid(grid):\n\treturn grid"),
        f"{as_json(program='def transform_grid(grid):' + chr(10) + '    return 1')} and better {as_json()}",
        f"```python\ndef transform_grid(grid):\n    return 1\n```\nCorrected:\n```python\n{PROGRAM}\n```",
    ],
)
def test_a_program_is_found(text):
    assert read_reply(text).program == PROGRAM


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "neither a JSON object"),
        ("{" * 100_000, "100,000 characters; at most 65,536 are read"),
        ("{" * 60_000, "neither a JSON object"),
        ('[{"python_program": 3}]', "neither a JSON object"),
        (json.dumps({"python_program": "print(1)"}), "its program defines no function transform_grid"),
        ("```python\nprint(1)\n```", "neither a JSON object"),
    ],
)
def test_what_holds_none_is_told(text, words):
    with pytest.raises(ReplyError, match=words):
        read_reply(text)


def test_programs_keep_their_names_to_themselves():
    one = "SHIFT = 1\ndef move(x):\n    return x + SHIFT\ndef transform_grid(grid):\n    return [move(x) for x in grid]"
    two = "def move(x):\n    return x * 10\ndef transform_grid(grid):\n    return [move(x) for x in grid]"
    names = {}
    exec(composed([one, two, one]), names)
    assert names["transform_grid"]([1, 2]) == [21, 31]
    assert composed([one]) == one
