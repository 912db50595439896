"""The multi-expert system with a model that is played by hand."""

import json
from collections import Counter

import pytest

from evaluator.planners.language_models.protocol import Completion
from evaluator.planners.protocol import Expected, PlannerRequest, RequestedTask
from evaluator.planners.strategies.arc import trying
from evaluator.planners.strategies.arc.strategy import Experts, Single
from evaluator.planners.strategies.registry import PlannerNameError, named_strategy, split_name
from evaluator.programs import Failed, Failure, Program, Runner
from evaluator.suites.arc.helpers import library

INPUTS = [[[1, 0], [0, 2]], [[0, 3], [3, 4]], [[5, 5], [0, 6]]]
"""Of two demonstrations and a test. The rule: reverse the columns, then rows, then 1 becomes 7."""
HIDDEN = [[6, 0], [5, 5]]
REVERSE = "def transform_grid(grid):\n    return horizontal_flip(grid)"
TURN_OVER = "def transform_grid(grid):\n    grid = vertical_flip(grid)\n    return grid"
RECOLOUR = "def transform_grid(grid):\n    return replace(grid, 'a', 'g')"
WHOLE = "def transform_grid(grid):\n    return replace(rotate_clockwise(grid, 180), 'a', 'g')"
BROKEN = "def transform_grid(grid):\n    x = 1\n    return nothing_there(grid)"


def output(grid):
    return [[7 if cell == 1 else cell for cell in reversed(row)] for row in reversed(grid)]


def request(inputs=INPUTS):
    *train, test = inputs
    pairs = [{"input": grid, "output": output(grid)} for grid in train]
    task = RequestedTask(
        id="t1", request="Find the rule.", resources={}, given={"train": pairs, "test": [{"input": test}]}
    )
    return PlannerRequest(suite="arc-mini", task=task, expects=Expected(type="text"), tools=[])


def reply(program, **prose):
    return json.dumps({"reflection": "r", **prose, "python_program": program})


def play(strategy, answer, *, asked=None):
    """The draft of a conversation. `answer` gives the text for a call and its number."""
    conversation = strategy.converse(request())
    calls, number = next(conversation), 0
    try:
        while True:
            answers = []
            for call in calls:
                if asked is not None:
                    asked.append(call)
                answers.append(Completion(text=answer(call, number)))
                number += 1
            calls = conversation.send(answers)
    except StopIteration as end:
        return end.value


def outputs_of(plan):
    with Runner(library=[library()], workers=1) as runner:
        letters = [[[".abcdefghi"[cell] for cell in row] for row in grid] for grid in INPUTS]
        [results] = runner.run([Program(source=plan["program"], entry="transform_grid", calls=[[g] for g in letters])])
    return [[[".abcdefghi".index(cell) for cell in row] for row in one.value] for one in results]


def test_all_agents_are_sampled_and_a_program_that_fits_ends_its_sample():
    asked = []
    draft = play(Experts(), lambda *_: reply(WHOLE), asked=asked)
    assert len(asked) == 21 * 3
    assert draft.plan == {"program": WHOLE}
    assert draft.alternatives == ()
    assert draft.notes["fitting"] == 1
    assert {call.temperature for call in asked} == {0.7}
    assert len({call.seed for call in asked}) == 63


def test_no_output_of_a_test_and_nothing_else_of_the_task_is_in_a_request():
    asked = []
    play(Experts(option="samples=1"), lambda _, number: reply(REVERSE if number < 21 else BROKEN), asked=asked)
    assert len(asked) == 63
    spellings = [json.dumps([[".abcdefghi"[cell] for cell in row] for row in HIDDEN]), json.dumps(HIDDEN)]
    assert output(INPUTS[2]) == HIDDEN
    sent = "\n".join(message.content for call in asked for message in call.messages)
    assert not any(spelling in sent for spelling in spellings)


def test_an_error_is_told_with_its_line_and_corrected():
    asked = []
    draft = play(Single(option="objects"), lambda _, number: reply(BROKEN if number < 3 else WHOLE), asked=asked)
    assert len(asked) == 6
    first, last, problem = asked[3].messages
    assert first == asked[0].messages[0]
    assert last.content == reply(BROKEN)
    assert "Line 3" in problem.content
    assert "nothing_there" in problem.content
    assert draft.plan == {"program": WHOLE}
    assert draft.notes["agents"][0]["replies"][0]["end"] == "error"


def test_wrong_outputs_are_the_next_inputs_and_all_three_steps_are_kept():
    """The released code forgets the first of three."""
    asked = []
    steps = [REVERSE, TURN_OVER, RECOLOUR]
    draft = play(
        Single(option="pixels"),
        lambda _, number: reply(steps[number // 3], overall_pattern=f"pattern {number // 3}"), asked=asked,
    )  # fmt: skip
    assert len(asked) == 9
    second = asked[3].messages[0].content
    assert '"input": [[".", "a"], ["b", "."]]' in second
    assert "1. pattern 0" in second
    assert "2. pattern 1" in asked[6].messages[0].content
    assert all(f"def step_{number}" in draft.plan["program"] for number in (1, 2, 3))
    assert outputs_of(draft.plan) == [output(grid) for grid in INPUTS]
    assert [one["end"] for one in draft.notes["agents"][0]["replies"]] == ["wrong outputs"] * 2 + [
        "fits all demonstrations"
    ]


def test_three_programs_are_drawn_by_the_seed():
    def programs(seed):
        number = Counter()

        def answer(call, _):
            number["all"] += 1
            return reply(f"def transform_grid(grid):\n    x = {number['all']}\n" + WHOLE.partition("\n")[2])

        draft = play(Experts(option=f"views=objects;samples=9;seed={seed}"), answer)
        assert len(draft.alternatives) == 2
        return [draft.plan["program"], *(one["program"] for one in draft.alternatives)]

    assert programs(1) == programs(1) != programs(2)


def test_programs_that_cannot_be_run_are_nobodys_fault(monkeypatch):
    lost = Failed(Failure.UNAVAILABLE, "The process of programs was lost.", None)
    monkeypatch.setattr(Runner, "run", lambda _, programs, **__: [(lost,) * len(one.calls) for one in programs])
    with pytest.raises(trying.ProgramsUnavailableError, match="was lost"):
        play(Single(option="objects"), lambda *_: reply(WHOLE))


def test_names_have_views_and_options():
    assert split_name("arc-single:objects_diag+pixels:hf:a/b@c") == ("arc-single@objects_diag+pixels", "hf:a/b@c")
    assert split_name("arc-experts@samples=1:hf:a/b") == ("arc-experts@samples=1", "hf:a/b")
    assert split_name("hugginggpt:hf:a/b") == ("hugginggpt", "hf:a/b")
    assert named_strategy("arc-single:pixels:m").understands("arc-mini")
    assert not named_strategy("arc-single:pixels:m").understands("openagi")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("arc-single:m", "there is no view 'm' of an agent; there are: pixels, objects, objects"),
        ("arc-single:objects", "needs a language model that can generate"),
        ("arc-experts", "needs a language model that can generate"),
        ("arc-experts@samples=0:m", "samples is '0': it must be a whole number from 1 to 16"),
        ("arc-experts@temperature=hot:m", "temperature is 'hot': it must be a number from 0 to 2"),
        ("arc-experts@views=objects,x:m", "there is no view 'x' of an agent"),
        ("arc-experts@size=3:m", "'size=3' is no option, or stands twice; write views="),
        ("arc-experts@seed=1;seed=2:m", "'seed=2' is no option, or stands twice"),
    ],
)
def test_wrong_names_are_refused_with_what_is_right(name, words):
    with pytest.raises(PlannerNameError) as error:
        named_strategy(name)
    assert words in str(error.value)


def test_hostile_programs_cost_their_own_sample():
    hostile = "import os\ndef transform_grid(grid):\n    return os.listdir('/')"
    endless = "def transform_grid(grid):\n    while True:\n        grid = grid"
    programs = [hostile, endless, WHOLE]
    draft = play(Single(option="objects"), lambda _, number: reply(programs[min(number, 2)]))
    assert draft.plan == {"program": WHOLE}
