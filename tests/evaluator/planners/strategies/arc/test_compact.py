"""The compact style: what networks of Lilliput size are asked, and how they are told what is wrong."""

import pytest

from evaluator.planners.strategies.arc.agents import agent_named
from evaluator.planners.strategies.arc.compact import feedback_text, task_text
from evaluator.planners.strategies.arc.strategy import Experts
from evaluator.planners.strategies.registry import PlannerNameError, named_strategy
from evaluator.programs import Failure
from evaluator.suites.arc.candidates.running import Wrong
from evaluator.suites.arc.demonstrations import Demonstration
from tests.evaluator.planners.strategies.arc.test_strategy import HIDDEN, INPUTS, REVERSE, output, play

SAME_SIZE = Demonstration(input=((1, 0, 0), (0, 2, 2)), output=((1, 0, 1), (0, 3, 3)))
SMALLER = Demonstration(input=((1, 0), (1, 2)), output=((5,),))
TEST = ((4, 4, 0),)


def shown(view):
    return task_text(agent=agent_named(view), demonstrations=[SAME_SIZE, SMALLER], test_inputs=[TEST])


def fenced(program):
    return f"```python\n{program}\n```"


def test_a_task_is_told_in_one_view_and_outputs_of_one_size_as_what_changes():
    assert shown("grid") == "view grid\n2x3/a../.bb>=/,,a/,cc\n2x2/a./ab>1x1/e\ntest\n1x3/dd.\nprogram\n"
    assert shown("pixels") == (
        "view pixels\n2x3b 1:1 1:2a 0:0>=b- 1:1 1:2a+ 0:2c+ 1:1 1:2\n2x2a 0:0 1:0b 1:1>1x1e 0:0\n"
        "test\n1x3d 0:0 0:1\nprogram\n"
    )
    assert shown("objects") == (
        "view objects\n2x3a 0:0 1x1b 1:1 1x2>=-b 1:1+a 0:2 1x1+c 1:1 1x2\n2x2a 0:0 2x1b 1:1 1x1>1x1e 0:0 1x1\n"
        "test\n1x3d 0:0 1x2\nprogram\n"
    )
    assert "2x2 0:0 2x2/a./ab>1x1e 0:0 1x1" in shown("objects_multicolor")


def test_feedback_has_a_line_for_each_demonstration():
    rights = [SAME_SIZE.output] * 4
    outputs = [SAME_SIZE.output, SMALLER.output, SAME_SIZE.input, Wrong(Failure.ERROR, "No.", 2)]
    assert feedback_text(outputs=outputs, rights=rights) == (
        "1 ok\n2 1x1 not 2x3\n3 3: 0:2. not a 1:1b not c 1:2b not c\n4 error\nagain\n"
    )


def test_no_output_of_a_test_is_in_a_request():
    asked = []
    play(Experts(option="style=compact"), lambda *_: fenced(REVERSE), asked=asked)
    assert output(INPUTS[2]) == HIDDEN
    assert len(asked) == 36
    answer = task_text(
        agent=agent_named("grid"), demonstrations=[], test_inputs=[tuple(map(tuple, HIDDEN))]
    ).splitlines()[2]  # fmt: skip
    assert answer == "2x2/f./ee"
    assert not any(answer in message.content for call in asked for message in call.messages)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("arc-single:objects;style=long:m", "style is 'long': it must be paper or compact"),
        ("arc-single:objects;views=pixels:m", "the view is objects already; leave views= out"),
        ("arc-single:objects;loops=0:m", "loops is '0'"),
    ],
)
def test_wrong_options_of_one_view_are_refused(name, words):
    with pytest.raises(PlannerNameError) as error:
        named_strategy(name)
    assert words in str(error.value)
