"""Forms of answers to ARC's tasks, and what steps mean as programs."""

import json

import pytest

from evaluator.arc.candidates import ArcCandidate, Track, candidate_of_value
from evaluator.arc.plan_forms import GRIDS, PROGRAM, STEPS, read_candidate
from evaluator.arc.steps import StepError, expression_of, expressions_of, joined, program_of
from evaluator.core.plans.model import PlanSyntaxError
from evaluator.core.suites.base import Candidate
from evaluator.replies.turns.actions import read_actions
from tests.evaluator.arc.small import MIRROR


@pytest.mark.parametrize(
    "plan",
    [
        {"program": MIRROR},
        MIRROR,
        f"The grid is mirrored.\n```python\nx = 1\n```\nSo:\n```python\n{MIRROR}\n```\n",
        f"```python\n{MIRROR}\n```".replace("\n", "\r\n"),
        {"program": f"```\n{MIRROR}\n```"},
        json.dumps({"program": MIRROR}),
    ],
)
def test_a_program_is_read_from_each_form(plan):
    found = read_candidate(plan)
    assert (found.tool, found.arguments.strip()) == (PROGRAM, MIRROR)


@pytest.mark.parametrize(("tool", "text"), [(PROGRAM, MIRROR), (GRIDS, "[[[1,0]]]"), (STEPS, '["get_size(grid)"]')])
def test_a_single_step_may_try_a_candidate_of_any_form(tool, text):
    step = {"id": "s1", "tool": tool, "inputs": {"given": text}, "outputs": {"candidate": "R1"}}
    assert read_candidate({"steps": [step], "answers": ["R1"]}) == Candidate(tool, text)


def test_grids_are_a_candidate_themselves():
    assert read_candidate({"grids": [[[1, 0]]]}) == Candidate(GRIDS, "[[[1,0]]]")


@pytest.mark.parametrize(
    "plan",
    [
        "R1 = empty_grid(2, 3); R2 = fill_rect(R1, (0, 0), (1, 1), 'a')",
        {"steps": "R1 = empty_grid(2, 3); R2 = fill_rect(R1, (0, 0), (1, 1), 'a')"},
        {"steps": [
            {"id": "s1", "tool": "empty_grid", "inputs": {"row": "2", "col": 3}, "outputs": {"grid": "s1.grid"}},
            {"id": "s2", "tool": "fill_rect", "outputs": {"grid": "s2.grid"},
             "inputs": {"grid": "s1.grid", "tl": "(0, 0)", "br": "(1, 1)", "value": "a"}},
        ], "answers": ["s2.grid"]},
    ],
)  # fmt: skip
def test_steps_are_read_from_actions_and_from_plans(plan):
    found = read_candidate(plan)
    assert found.tool == STEPS
    first, second = json.loads(found.arguments)
    assert first in {"empty_grid(2, 3)", "empty_grid(row=2, col=3)"}
    assert second.startswith("fill_rect(")
    assert "copy.deepcopy(v1)" in second
    assert "'a'" in second


def test_steps_after_the_answer_are_left_out():
    steps = [
        {"id": f"s{n}", "tool": "vertical_flip", "inputs": {"grid": "$INPUT"}, "outputs": {"grid": f"s{n}.grid"}}
        for n in (1, 2)
    ]
    found = read_candidate({"steps": steps, "answers": ["s1.grid"]})
    assert len(json.loads(found.arguments)) == 1


NO_CANDIDATES = [
    ({}, "a plan is"),
    ([], "a plan is"),
    ("I do not know", "a plan is"),
    ("{not JSON", "begins as JSON and is none"),
    ({"program": 7}, '"program": it is no text'),
    ({"grids": "x"}, "no list with a grid for each test input"),
    ({"program": MIRROR, "grids": []}, "it has <Track.PROGRAM"),
    ({"steps": []}, "no list of steps"),
    ({"steps": [{"tool": "os.system", "inputs": {}}]}, "step 1: there is no helper 'os.system'"),
    ({"steps": [{"tool": "get_size", "inputs": []}]}, "step 1: its inputs and outputs are no objects"),
    ({"steps": [{"tool": "Program", "inputs": {}}]}, "step 1: Program takes one input, a text"),
    ({"steps": [{"tool": "Grids", "inputs": {"grids": [[[1]]]}}]}, "step 1: Grids takes one input, a text"),
    ("R1 = get_size(R7)", "there is no value 'R7'; there are: INPUT"),
    ("R1 = get_size(INPUT if 1 else 2)", "an argument of get_size may have"),
    ("R1 = get_size(open('x'))", "an argument of get_size may have"),
    ("R1, R2 = get_size(INPUT)", "get_size has one result, and step 1 names 2"),
    ('{"grids": [[[NaN]]]}', '"grids": it has something other than rows of colours'),
    (f"R1 = get_size({'-' * 500}1)", "nested at most 60 levels deep"),
    (f"R1 = get_size(INPUT{'[0]' * 700})", "nested at most 60 levels deep"),
    (f"R1 = get_size(INPUT{'.a' * 700})", "nested at most 60 levels deep"),
    (f"R1 = get_size(0x{'f' * 9000})", "integers of at most 64 bits"),
    ({"steps": [{"tool": "get_size", "inputs": {"grid": f"0x{'f' * 9000}"}}]}, '"steps": an input is too large'),
    ({"steps": [{"tool": "get_size", "inputs": {"grid": f"{'-' * 700}1"}}]}, "nested at most 60 levels deep"),
]


def test_what_is_no_candidate_is_explained(subtests):
    for plan, sentence in NO_CANDIDATES:
        with subtests.test(case=plan):
            with pytest.raises(PlanSyntaxError) as error:
                read_candidate(plan)
            assert sentence.replace("<Track.PROGRAM", "'program'") in str(error.value).replace("<Track.PROGRAM: ", "")


def test_a_candidate_is_told_from_other_results():
    for track, content in ((Track.PROGRAM, "x"), (Track.STEPS, ["f(grid)"]), (Track.GRIDS, [[[1]]])):
        candidate = ArcCandidate(track, content)
        assert candidate_of_value(candidate.text()) == candidate
    assert candidate_of_value('{"test":[],"train":[]}') is None
    assert candidate_of_value("7") is None


def test_steps_become_a_program():
    actions = read_actions(text="R1 = horizontal_flip(INPUT); R2 = fill_value(R1, (0, 0), 'a')").actions
    assert program_of(expressions_of(actions)).splitlines() == [
        "def transform_grid(grid):",
        "    v1 = horizontal_flip(copy.deepcopy(grid))",
        "    v2 = fill_value(copy.deepcopy(v1), (0, 0), 'a')",
        "    return v2",
    ]


def test_steps_of_several_results_are_joined_once_each():
    left = ["f(copy.deepcopy(grid))", "g(copy.deepcopy(v1))"]
    right = ["f(copy.deepcopy(grid))", "h(copy.deepcopy(v1))"]
    lines, ends = joined([left, right])
    assert lines == ("f(copy.deepcopy(grid))", "g(copy.deepcopy(v1))", "h(copy.deepcopy(v1))")
    assert ends == (2, 3)
    assert joined([]) == ((), ())


@pytest.mark.parametrize(
    "arguments", ["INPUT)(", "INPUT) + open('x'", "*INPUT", "lambda: 1", "INPUT.x", "x := 1", "\0"]
)
def test_arguments_are_values_only(arguments):
    with pytest.raises(StepError):
        expression_of(tool="get_size", arguments=arguments, names={})
