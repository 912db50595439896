"""What the writer learns from: training tasks only, exactly as strategies ask, and wrong programs with feedback."""

import json
import random

import pytest

from evaluator.planners.strategies.arc.agents import agent_named
from evaluator.planners.strategies.arc.replies import read_reply
from evaluator.planners.strategies.arc.styles import COMPACT
from evaluator.suites.arc.mini.draws import Source, draw_family, draw_tasks, split_of
from evaluator.training.planners.arc.conversion import FILE, prompt_of, read_lessons
from evaluator.training.planners.arc.mistakes import changed, wrong_program
from evaluator.training.planners.causal.exchanges import DataError
from evaluator.world.seeds import Split
from tests.evaluator.training.planners.arc.conftest import FAMILIES

pytestmark = pytest.mark.full

TRAIN = Source(split=Split.TRAIN)
DRAWN = {
    task.key: task for family in FAMILIES for task in draw_family(family=family, source=TRAIN, count=10, start=5)
}  # fmt: skip
VIEWS = {agent.name for agent in COMPACT.agents}


def records(folder):
    return [json.loads(line) for line in (folder / FILE).read_text().splitlines()]


def asked(task, view):
    tests = [pair.input for pair in task.tests]
    return prompt_of(
        COMPACT.first(agent=agent_named(view), demonstrations=task.demonstrations, test_inputs=tests, before=())
    )


def test_lessons_are_training_tasks_as_strategies_ask_them_with_their_gold_programs(lessons):
    plain = [one for one in records(lessons) if not one["is_feedback"]]
    assert {(one["task"], one["view"]) for one in plain} == {(key, view) for key in DRAWN for view in VIEWS}
    assert len(plain) == len(DRAWN) * len(VIEWS)
    for one in plain:
        task = DRAWN[one["task"]]
        assert one["prompt"] == asked(task, one["view"])
        assert read_reply(one["reply"]).program == task.rule.program()
        assert all(split_of(pair.input) is Split.TRAIN for pair in task.pairs)


def test_no_grid_of_another_split_is_in_a_lesson(lessons):
    text = (lessons / FILE).read_text()
    for split in (Split.PUBLIC, Split.VALIDATION):
        for task in draw_tasks(Source(split=split), count=2):
            for pair in task.pairs:
                rows = "/".join("".join(".abcdefghi"[cell] for cell in row) for row in pair.input)
                assert f"{len(pair.input)}x{len(pair.input[0])}/{rows}" not in text


def test_feedback_follows_on_a_wrong_program_and_the_right_one_is_the_reply(lessons):
    found = [one for one in records(lessons) if one["is_feedback"]]
    assert len(found) > len(DRAWN) // 2
    assert len({one["view"] for one in found}) > 1
    for one in found:
        task = DRAWN[one["task"]]
        first, wrong, feedback = one["prompt"].rpartition("\n```\n\n")[0], one["prompt"], one["prompt"]
        assert first.startswith(asked(task, one["view"]) + "\n\n```python\n")
        assert read_reply(wrong.partition("program\n")[2]).program != task.rule.program()
        lines = feedback.rpartition("```\n\n")[2].splitlines()
        assert lines[-1] == "again"
        assert [line[0] for line in lines[:-1]] == [str(n + 1) for n in range(len(task.demonstrations))]
        assert not all(line.endswith(" ok") for line in lines[:-1])
        assert read_reply(one["reply"]).program == task.rule.program()


def test_a_changed_program_differs_in_one_value():
    program = "def transform_grid(grid):\n    return replace(rotate_clockwise(grid, 90), 'a', 'b')"
    found = {changed(program, rng=random.Random(number)) for number in range(50)}
    assert "def transform_grid(grid):\n    return replace(rotate_clockwise(grid, 180), 'a', 'b')" in found
    assert "def transform_grid(grid):\n    return replace(rotate_clockwise(grid, 90), 'h', 'b')" in found
    assert changed("return grid", rng=random.Random(0)) == "return grid"
    task = next(iter(DRAWN.values()))
    wrong = [
        wrong_program(drawn=task, others=list(DRAWN.values()), rng=random.Random(number)) for number in range(30)
    ]  # fmt: skip
    assert task.rule.program() not in wrong
    assert len(set(wrong)) > 5


def test_what_is_no_lesson_is_refused_with_its_line(tmp_path):
    path = tmp_path / FILE
    with pytest.raises(DataError, match="cannot be read"):
        read_lessons(path)
    path.write_text('{"is_feedback": false, "prompt": "p", "reply": "r"}\n{"prompt": 1}\n')
    with pytest.raises(DataError, match="line 2 is not"):
        read_lessons(path)
    path.write_text('{"is_feedback": false, "prompt": "p", "reply": 1}\n')
    with pytest.raises(DataError, match="line 1: prompt and reply must be texts"):
        read_lessons(path)
