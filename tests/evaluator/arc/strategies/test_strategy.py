"""The multi-expert system with a model that is played by hand, and how replies are read."""

import json
from collections import Counter

import pytest

from evaluator.arc.candidates import Wrong
from evaluator.arc.grids import Demonstration
from evaluator.arc.helpers.catalogue import library
from evaluator.arc.strategies import sampling
from evaluator.arc.strategies.agents import agent_named
from evaluator.arc.strategies.compact import feedback_text, task_text
from evaluator.arc.strategies.replies import ReplyError, read_reply
from evaluator.arc.strategies.sampling import composed
from evaluator.arc.strategies.strategy import Experts, Single
from evaluator.core.language_model import Completion
from evaluator.core.planner import Expected, PlannerError, PlannerRequest, RequestedTask
from evaluator.core.records import Reason
from evaluator.planners.driving import StrategyPlanner
from evaluator.planners.language_models.scripted import ScriptedModel
from evaluator.planners.strategies.registry import PlannerNameError, named_strategy, split_name
from evaluator.sandbox.programs.results import Failed
from evaluator.sandbox.programs.runner import Program, Runner
from evaluator.sandbox.programs.wire import Failure

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


@pytest.mark.parametrize(("strategy", "option"), [(Experts, "views=pixels"), (Single, "pixels")])
def test_tasks_whose_prompt_of_grid_and_objects_exceeds_the_context_are_not_attempted(strategy, option):
    model = ScriptedModel(lambda _: reply(BROKEN))
    (counted,) = next(Single(option="objects;samples=1").converse(request()))
    tokens = model.count_tokens(counted.messages[0].content)

    def planner(context):
        text = f"{option};samples=1;loops=2;context={context}"
        return StrategyPlanner(strategy=strategy(option=text), model=model)

    with pytest.raises(PlannerError, match=f"has {tokens} tokens; the planner allows {tokens - 1}") as error:
        planner(tokens - 1).plan(request())
    assert error.value.reason is Reason.PROMPT_TOO_LONG
    assert model.calls == []
    planner(tokens).plan(request())
    first, second = model.calls
    assert first.messages != counted.messages
    # Corrections have no limit.
    assert (first.limit.messages, second.limit) == (counted.messages, None)


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


def test_where_none_fits_the_best_is_given_and_where_there_is_none_the_reply_is_the_planner_s_fault():
    partly = "def transform_grid(grid):\n    return rotate_clockwise(grid, 180)"
    draft = play(Single(option="objects"), lambda _, number: reply(partly if number == 1 else REVERSE))
    assert draft.plan == {"program": partly}
    assert draft.notes["demonstrations_right"] == 1
    draft = play(Single(option="objects"), lambda *_: "no idea")
    assert (draft.plan, draft.unreadable) == ("no idea", "no reply holds a program that runs")


def test_programs_that_cannot_be_run_are_nobodys_fault(monkeypatch):
    lost = Failed(Failure.UNAVAILABLE, "The process of programs was lost.", None)
    monkeypatch.setattr(Runner, "run", lambda _, programs, **__: [(lost,) * len(one.calls) for one in programs])
    with pytest.raises(sampling.ProgramsUnavailableError, match="was lost"):
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
        ("arc-single:m", "view is 'm': it must be pixels, objects, objects+pixels"),
        ("arc-single:objects", "needs a language model that can generate"),
        ("arc-experts", "needs a language model that can generate"),
        ("arc-experts@samples=0:m", "samples is '0': it must be a whole number from 1 to 16"),
        ("arc-experts@temperature=hot:m", "temperature is 'hot': it must be a number from 0 to 2"),
        ("arc-experts@views=objects,x:m", "views is 'objects,x': it must be names out of pixels, objects, "),
        (
            "arc-experts@size=3:m",
            "'size=3' is an unknown or repeated option; write views=pixels,objects",
        ),
        ("arc-experts@seed=1;seed=2:m", "'seed=2' is an unknown or repeated option"),
        ("arc-single:objects;style=long:m", "style is 'long': it must be paper or compact"),
        ("arc-single:objects;views=pixels:m", "'views=pixels' is an unknown or repeated option"),
        ("arc-single:objects;loops=0:m", "loops is '0'"),
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


SAME_SIZE = Demonstration(input=((1, 0, 0), (0, 2, 2)), output=((1, 0, 1), (0, 3, 3)))
SMALLER = Demonstration(input=((1, 0), (1, 2)), output=((5,),))
TEST = ((4, 4, 0),)


def shown(view):
    return task_text(agent=agent_named(view), demonstrations=[SAME_SIZE, SMALLER], test_inputs=[TEST])


def test_a_prompt_has_one_view_and_only_the_changes_of_outputs_of_the_same_size():
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
    play(Experts(option="style=compact"), lambda *_: f"```python\n{REVERSE}\n```", asked=asked)
    assert output(INPUTS[2]) == HIDDEN
    assert len(asked) == 36
    answer = task_text(
        agent=agent_named("grid"), demonstrations=[], test_inputs=[tuple(map(tuple, HIDDEN))]
    ).splitlines()[2]  # fmt: skip
    assert answer == "2x2/f./ee"
    assert not any(answer in message.content for call in asked for message in call.messages)
