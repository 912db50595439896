"""Reasons, defects and steps in words, without a database."""

import pytest

from evaluator.records import Outcome, ResultRecord
from evaluator.suites import suite_of
from leaderboard.pages.tasks.planning_presenters import calls, defects, split_reasons, step_problems

SUITE = suite_of("toolmini")


@pytest.mark.parametrize(
    ("text", "parts", "sentences"),
    [
        ("", [], ()),
        ("Every argument has the declared type.", [], ("Every argument has the declared type.",)),
        (
            "step 1 (a): x is b, which does not exist there; step 12 (c): repeats step 1",
            [],
            ("Step 1 (a): x is b, which does not exist there", "Step 12 (c): repeats step 1"),
        ),
        (
            'ask "one; two" in a.png: no output is this; count "x (y)": no output is this',
            ['ask "one; two" in a.png', 'count "x (y)"'],
            ('Ask "one; two" in a.png: no output is this', 'Count "x (y)": no output is this'),
        ),
    ],
)
def test_joined_reasons_are_taken_apart_where_one_begins(text, parts, sentences):
    assert split_reasons(text, parts=parts) == sentences


def test_defects_that_this_release_does_not_know_are_shown_as_they_are():
    known, unknown = defects(["deprecated", "haunted"], defined=SUITE.defects)
    assert known.excludes
    assert "deprecated" in known.description
    assert (unknown.name, unknown.description, unknown.excludes) == ("haunted", "", False)


def make_record(**changes: object) -> ResultRecord:
    steps = [{"id": f"s{number}", "tool": "t", "inputs": {"image": "a.png"}, "outputs": {}} for number in (1, 2)]
    values = {"SE": 0.0, "IR": 1.0, "NR": 0.0, "HR": 0.0, "CR": 0.0}
    return ResultRecord(
        suite="toolmini", task="QA/0", request="", metric="SE", outcome=Outcome.SCORED, score=0.0,
        plan={"steps": steps, "answers": []}, indicators=values,
        explanations={"IR": "step 2 (t): repeats step 1", "CR": "step 1 (t): image is text; step 9 (t): gone"},
    ).model_copy(update=changes)  # fmt: skip


def test_steps_that_a_reason_begins_with_are_marked_and_no_others():
    found = step_problems(record=make_record(), suite=SUITE)
    assert {step: problem.words for step, problem in found.items()} == {"s2": "Irrelevant", "s1": "Wrong type"}
    assert [step for step, problem in found.items() if problem.is_type_conflict] == ["s1"]
    good = {"SE": 1.0, "IR": 0.0, "NR": 1.0, "HR": 0.0, "CR": 1.0}
    assert step_problems(record=make_record(indicators=good), suite=SUITE) == {}
    assert step_problems(record=make_record(plan=None), suite=SUITE) == {}


def test_steps_as_text_keep_whole_arguments():
    (first, _) = calls(make_record().plan)
    assert (first.id, first.tool, first.arguments, first.outputs) == ("s1", "t", (("image", "a.png"),), ())
    assert calls({}) == ()
