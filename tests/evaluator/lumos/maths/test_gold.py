"""The released problems, and their gold actions run by the tools."""

import json
from collections import Counter
from fractions import Fraction

import pytest

from evaluator.lumos.maths.gold import NoGold, gold_of_equation, gold_of_rationale, run_turns
from evaluator.lumos.maths.scoring import score_answer
from evaluator.lumos.maths.tasks import MathsFileError, read_gsm8k, read_svamp
from evaluator.replies.turns.actions import read_actions
from evaluator.replies.turns.subgoals import read_plan_reply


def solved(problems):
    """Keys of the problems whose gold actions have the answer as their last result, in both comparisons."""
    found = []
    for problem in problems:
        results = list(run_turns(problem.gold).values())
        if results:
            score = score_answer(answer=results[-1].text, reference=problem.answer)
            assert score.is_equal == score.is_same_text
            found += [problem.key] if score.is_equal else []
    return found


def test_gsm8k_has_gold_for_1208_of_1319_problems(gsm8k):
    assert len(gsm8k) == 1319
    assert len(solved(gsm8k)) == 1208
    assert Counter(problem.why_no_gold for problem in gsm8k) == {
        None: 1208,
        NoGold.LAST_STEP: 88,
        NoGold.OTHER_RESULT: 5,
        NoGold.NOT_ANNOTATED: 18,
    }


def test_svamp_has_gold_for_all_problems_but_one_with_a_wrong_answer(svamp):
    assert len(svamp) == 1000
    assert len(solved(svamp)) == 999
    (wrong,) = (problem for problem in svamp if not problem.gold)
    assert (wrong.key, wrong.answer, wrong.why_no_gold) == ("chal-680", 1, NoGold.OTHER_RESULT)


def test_gold_replies_are_read_by_the_parsers_of_turns(gsm8k):
    for problem in gsm8k[:200]:
        for number, turn in enumerate(problem.gold, start=1):
            assert read_plan_reply(f"Subgoal {number}: {turn.subgoal}").subgoals[0].text == turn.subgoal
            assert not read_actions(text=turn.actions).tolerated


def test_results_are_linked_unless_the_question_has_the_number():
    rationale = "Buy 2 * 3 = <<2*3=6>>6.\nThen 6 * 5 = $<<6*5=30>>30 and 30 + 5 = <<30+5=35>>35 or <<35*2=70>>70."
    first, second = gold_of_rationale(question="Six at 2, 3, and 5", rationale=rationale, answer=Fraction(35))
    assert (first.subgoal, first.actions) == ("Buy 2 * 3 = 6.", "R1 = Calculator(2*3)")
    assert second.actions == "R2 = Calculator(R1*5); R3 = Calculator(R2+5)"
    first, second = gold_of_rationale(question="At 2, 3 and 6", rationale=rationale, answer=Fraction(30))
    assert second.actions == "R2 = Calculator(6*5)"


@pytest.mark.parametrize(
    ("rationale", "why"),
    [
        ("So 2 + 2 = 4", NoGold.NOT_ANNOTATED),
        ("<<2+2=4>>4, and so 5", NoGold.OTHER_RESULT),
        ("<<2+2=4>>4\nand so 5", NoGold.LAST_STEP),
        ("<<two=2>>", NoGold.UNREADABLE),
        ("<<2/0=5>>", NoGold.UNREADABLE),
    ],
)
def test_rationales_without_gold(rationale, why):
    assert gold_of_rationale(question="", rationale=rationale, answer=Fraction(5)) == why


def test_equations_become_a_turn_per_operation():
    turns = gold_of_equation(equation="( 6.0 - ( 3.0 + 2.0 ) )", answer=Fraction(1))
    assert [(turn.subgoal, turn.actions) for turn in turns] == [
        ("Add 2 to 3.", "R1 = Calculator(3 + 2)"),
        ("Subtract R1 from 6.", "R2 = Calculator(6 - R1)"),
    ]
    assert gold_of_equation(equation="( 4.0 - 2.0 ) + 3.0", answer=Fraction(1)) == NoGold.OTHER_RESULT
    assert gold_of_equation(equation="six", answer=Fraction(6)) == NoGold.UNREADABLE


@pytest.mark.parametrize(
    ("read", "content", "words"),
    [
        (read_gsm8k, "{", "line 1 is not JSON"),
        (read_gsm8k, '{"question": "?"}', 'problem 0: "answer" must be a text'),
        (read_gsm8k, '{"question": "?", "answer": "4"}', "must end with '#### ' and a number"),
        (read_gsm8k, "[1]", '"question" must be a text'),
        (read_svamp, "{}", "expected a list of problems"),
        (read_svamp, "[{}]", 'problem 0: "ID" must be a text'),
        (
            read_svamp,
            json.dumps([dict.fromkeys(("ID", "Body", "Question", "Equation", "Type"), "x") | {"Answer": 1.5}]),
            '"Answer" must be a whole number',
        ),
    ],
)
def test_other_files_are_refused(tmp_path, read, content, words):
    (tmp_path / "file").write_text(content)
    with pytest.raises(MathsFileError, match=words):
        read(tmp_path / "file")


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(MathsFileError, match="cannot be read: No such file"):
        read_gsm8k(tmp_path / "file")
