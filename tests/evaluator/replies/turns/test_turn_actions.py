"""Replies of one turn: actions by their grammar, with each defect of the released parser, and subgoals."""

import pytest

from evaluator.replies.turns.actions import MAX_ACTIONS, read_actions
from evaluator.replies.turns.binding import BindingError, Parameter, bind_arguments
from evaluator.replies.turns.model import Stop, Subgoals, TurnSyntaxError, UnknownReferenceError
from evaluator.replies.turns.scanning import MAX_TEXT
from evaluator.replies.turns.subgoals import MAX_SUBGOALS, read_plan_reply

CONTEXT_AND_QUESTION = (Parameter("context"), Parameter("question", aliases=("Query",)))


def only(text, **settings):
    (action,) = read_actions(text=text, **settings).actions
    return action


def error_of(text, **settings):
    with pytest.raises(TurnSyntaxError) as raised:
        read_actions(text=text, **settings)
    return raised.value


def test_actions_are_read_in_order_with_their_places():
    first, second = read_actions(text="R1 = Calculator(2 - 0.5); R2, R3 = SolveEquation(R1 = x, y = 2x)").actions
    assert (first.outputs, first.tool, first.raw) == (("R1",), "Calculator", "2 - 0.5")
    assert second.outputs == ("R2", "R3")
    assert [item.text for item in second.items] == ["R1 = x", "y = 2x"]
    assert (second.place.offset, second.place.line, second.place.column) == (26, 1, 27)


def test_substitution_distinguishes_r1_from_r10_and_needs_all_values():
    action = only("R11 = Calculator(R1 + R10 * R1)")
    assert action.with_values({"R1": "7", "R10": "R1"}) == "7 + R1 * 7"
    with pytest.raises(UnknownReferenceError, match="R10 is not the result of an earlier action; there are: R1"):
        action.with_values({"R1": "1"})


def test_references_are_whole_words_and_marked_in_quotes():
    none = {raw: [] for raw in ("R1R2", "xR1", "R1x", "T1.R2", "R_1", "R1_a")}
    some = {"2R1 + 0.5R2": ["R1", "R2"], "R1's price": ["R1"], "[R1,R2]": ["R1", "R2"], "R1.": ["R1"]}
    for raw, names in (none | some).items():
        assert [reference.name for reference in only(f"R9 = Tool({raw})").references] == names, raw
    assert [one.quoted for one in only("R2 = Tool(R1, 'about R1')").references] == [False, True]


@pytest.mark.parametrize("raw", ["R1, Question: Who won; and when?", "'a; b', R2", '"a; b"', "{1; 2}", "[a; R2 = b]"])
def test_a_semicolon_inside_brackets_or_quotes_does_not_separate(raw):
    first, second = read_actions(text=f"R1 = QA({raw}); R2 = QA(x)").actions
    assert (first.raw, second.raw) == (raw, "x")


def test_spaces_are_ignored():
    for text in ("R1=Calculator(3)", "R1 =Calculator(3)", "R1= Calculator (3)", " R1 = Calculator( 3 );"):
        action = only(text)
        assert (action.outputs, action.tool.strip(), action.raw) == (("R1",), "Calculator", "3")


def test_a_missing_output_is_an_error_with_its_position():
    error = error_of("R1 = Calculator(3); Calculator(4)")
    assert error.place.offset == 20
    assert str(error) == (
        "line 1, column 21: expected outputs and '=' before the action, as in R1 = Tool(arguments); "
        "found 'Calculator(4)'"
    )


def test_an_error_keeps_the_actions_before_it():
    error = error_of("R1 = Calculator(3)\nR2 = Calculator(R1 + 1); R3 = Calculator(")
    assert [str(action) for action in error.before] == ["R1 = Calculator(3)", "R2 = Calculator(R1 + 1)"]
    assert (error.place.line, error.place.column) == (2, 41)
    assert "never closed" in error.message


@pytest.mark.parametrize(
    ("text", "offset", "words"),
    [
        ("", 0, "no action"),
        ("R1", 2, "expected '='"),
        ("R1 = ", 5, "a tool and its arguments"),
        ("R1 = SHOW TABLES", 5, "a tool and its arguments"),
        ("R1 = A(b]", 8, "expected ')'"),
        ("R1 = A(b))", 9, "expected ';'"),
        ("R1 = A(b) R2 = C(d)", 10, "expected ';'"),
        ("R1, R1 = A(b)", 4, "occurs twice"),
        ("x = A(b)", 0, "expected outputs"),
        ("R1 == A(b)", 3, "expected '='"),
        ("R1 = A(" + "(" * 2000, 1006, "nested more than"),
    ],
)
def test_errors_name_the_place_and_what_would_be_right(text, offset, words):
    error = error_of(text)
    assert error.place.offset == offset
    assert words in error.message


def test_a_quote_does_not_reach_into_another_action():
    result = read_actions(text="R1 = QA('tis late); R2 = QA(the boys' team)")
    assert [action.raw for action in result.actions] == ["'tis late", "the boys' team"]


def test_annotated_results_and_labels_are_tolerated_and_recorded():
    result = read_actions(
        text="Action 1-1: R1 = Calculator(2 - 0.5) = 1.5; R2 = Calculator(R1 * 4) = 6 :)\nR3 = Count(a)"
    )
    assert str(result) == "R1 = Calculator(2 - 0.5); R2 = Calculator(R1 * 4); R3 = Count(a)"
    assert len(result.tolerated) == 4
    assert "'= 1.5'" in result.tolerated[1]


def test_statements_are_read_where_the_tools_have_such_a_form():
    text = (
        "R1 = SHOW TABLES; R2 = T1.Name FROM singer AS T1 WHERE note = 'a;b' AND c = 1; "
        "R3 = COUNT(*) FROM (R2)\nR4 = SELECT a,\n b FROM R3; R5 = Finish(R4)"
    )
    result = read_actions(text=text, statements=True, tools=("finish",)).actions
    assert [action.tool for action in result] == ["", "", "", "", "Finish"]
    assert result[1].raw == "T1.Name FROM singer AS T1 WHERE note = 'a;b' AND c = 1"
    assert result[3].raw == "SELECT a,\n b FROM R3"
    assert [[one.name for one in action.references] for action in result] == [[], [], ["R2"], ["R3"], ["R4"]]


def test_a_statement_needs_text_and_balanced_brackets():
    assert "expected an action" in error_of("R1 = ; R2 = x", statements=True).message
    assert "never closed" in error_of("R1 = SELECT (a", statements=True).message


def test_more_actions_than_allowed_are_refused():
    text = "; ".join(f"R{number} = Count(a)" for number in range(1, MAX_ACTIONS + 1))
    assert len(read_actions(text=text).actions) == MAX_ACTIONS
    assert f"at most {MAX_ACTIONS} actions" in error_of(f"{text}; R0 = Count(a)").message


def test_arguments_are_bound_by_name_and_by_position():
    action = only("R3 = QA([R1, R2], Query: How many, if any, of R1?)")
    bound = bind_arguments(action=action, parameters=CONTEXT_AND_QUESTION)
    assert {name: value.text for name, value in bound.items()} == {
        "context": "[R1, R2]",
        "question": "How many, if any, of R1?",
    }
    values = {"R1": "Rome", "R2": "Bonn"}
    assert bound["question"].with_values(values) == "How many, if any, of Rome?"
    assert bound["context"].with_values(values) == "[Rome, Bonn]"
    bound = bind_arguments(action=only("R3 = QA(R1, How many, if any, of R1?)"), parameters=CONTEXT_AND_QUESTION)
    assert bound["question"].text == "How many, if any, of R1?"
    assert bound["question"].with_values({"R1": "x"}) == "How many, if any, of x?"


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("", "needs context, question; missing: context, question"),
        ("R1", "missing: question"),
        ("question=, R1", "missing: context"),
        ("R1, question=a, Query: b", "'question' is given twice"),
    ],
)
def test_arguments_that_do_not_fit_are_errors(raw, words):
    with pytest.raises(BindingError, match=words):
        bind_arguments(action=only(f"R2 = QA({raw})"), parameters=CONTEXT_AND_QUESTION)


def test_a_tool_without_parameters_takes_no_arguments():
    assert not bind_arguments(action=only("R1 = Stop()"), parameters=())
    with pytest.raises(BindingError, match="takes no arguments"):
        bind_arguments(action=only("R1 = Stop(now)"), parameters=())


def test_a_longer_text_is_refused():
    assert "characters; at most" in error_of("R1 = A(" + "x" * MAX_TEXT + ")").message


BARE = "R1 = Calculator(3 * 4); R2 = Calculator(R1 - 5)"


@pytest.mark.parametrize(
    "text",
    [
        f"- {BARE}",
        f"Here:\n{BARE}",
        f"{BARE}<|im_end|>",
        f"<answer>{BARE}</answer>",
        f"```\n{BARE}\n```",
        f"```python\n{BARE}",
        f"<think>R1 = Other(1)?</think>\n{BARE}",
        f"no </think>\n{BARE}",
    ],
)
def test_actions_in_an_envelope_are_the_bare_ones(text):
    result, bare = read_actions(text=text), read_actions(text=BARE)
    assert [one.raw for one in result.actions] == [one.raw for one in bare.actions]
    assert len(result.tolerated) > len(bare.tolerated)


@pytest.mark.parametrize("text", [f"<think>{BARE}", f"```\n{BARE}\n```\nor\n```\n{BARE}; R9 = Other(1)\n```"])
def test_reasoning_without_an_end_and_two_different_fences_are_refused(text):
    with pytest.raises(TurnSyntaxError):
        read_actions(text=text)


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("Subgoal 1: Add; Subgoal 2: Divide.", [(1, "Add"), (2, "Divide.")]),
        ("Subgoal 1: Add; then stop; Subgoal 2: Divide;", [(1, "Add; then stop"), (2, "Divide")]),
        ("No, I will keep planning. Subgoal 2: Divide Subgoal 1.", [(2, "Divide Subgoal 1.")]),
        ("no, I will keep planning\nsubgoal 3: Go", [(3, "Go")]),
        ("\nSubgoal 1: a\nSubgoal 2: b", [(1, "a"), (2, "b")]),
    ],
)
def test_subgoals_are_read(reply, wanted):
    result = read_plan_reply(reply)
    assert isinstance(result, Subgoals)
    assert [(subgoal.number, subgoal.text) for subgoal in result.subgoals] == wanted


def test_the_wish_to_stop_is_read():
    assert read_plan_reply(" Yes, I will stop planning. ") == Stop()
    assert "ignored 'Subgoal 2: x'" in read_plan_reply("Yes, I will stop planning. Subgoal 2: x").tolerated[0]


def test_numbers_that_do_not_follow_are_recorded():
    assert read_plan_reply("Subgoal 1: a; Subgoal 3: b").tolerated == ("line 1, column 15: Subgoal 3 after Subgoal 1",)


@pytest.mark.parametrize(
    ("reply", "offset", "words"),
    [
        ("", 0, "found the end"),
        ("Let us add.", 0, "found 'Let us add.'"),
        ("No, I will keep planning.", 25, "found the end"),
        ("Subgoal 1: a; Subgoal 2: ; Subgoal 3: b", 14, "Subgoal 2 has no text"),
    ],
)
def test_other_replies_are_errors_with_their_position(reply, offset, words):
    with pytest.raises(TurnSyntaxError) as raised:
        read_plan_reply(reply)
    assert raised.value.place.offset == offset
    assert words in raised.value.message


def test_a_thousand_subgoals_are_refused():
    with pytest.raises(TurnSyntaxError, match=f"at most {MAX_SUBGOALS} subgoals"):
        read_plan_reply("; ".join(f"Subgoal {number}: Go" for number in range(1000)))


@pytest.mark.parametrize(
    "text",
    [
        "R1 = ```sql\nSELECT name FROM singer\n```", "R1 = ```SELECT name FROM singer```",
        "R1 = ```sql SELECT name FROM singer```",
        "```\nR1 = SELECT name FROM singer\n```", "<think>R1 = SELECT 1</think>R1 = SELECT name FROM singer",
        "The query:\nR1 = SELECT name FROM singer;",
    ],
)  # fmt: skip
def test_a_statement_in_an_envelope_is_the_bare_one(text):
    (action,) = read_actions(text=text, statements=True, tools=("SQL",)).actions
    assert (action.tool, action.raw) == ("", "SELECT name FROM singer")


@pytest.mark.parametrize(
    "text",
    ["<think>Subgoal 1: No.</think>\nSubgoal 1: Add.", "```\nSubgoal 1: Add.\n```",
     "Sure!\n**Subgoal 1:** Add.<|im_end|>",
     "1. Subgoal 1: Add.", "- **Subgoal 1:** Add."],
)  # fmt: skip
def test_subgoals_in_an_envelope_are_the_bare_ones(text):
    reply = read_plan_reply(text)
    assert [(goal.number, goal.text) for goal in reply.subgoals] == [(1, "Add.")]
