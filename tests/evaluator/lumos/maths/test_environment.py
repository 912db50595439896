"""Word problems in turns: results by call, programs, and the score of an answer."""

import pytest

from evaluator.core.transcripts import ActionProblem
from evaluator.episodes.turns.environment import Call, Made, Refused, ToolFault
from evaluator.lumos.maths import code
from evaluator.lumos.maths.environment import MathsEnvironment
from evaluator.lumos.tasks import TurnTask
from evaluator.sandbox.programs.results import Failed
from evaluator.sandbox.programs.support import Support
from evaluator.sandbox.programs.wire import Failure


@pytest.fixture(scope="module")
def environment():
    opened = MathsEnvironment()
    yield opened
    opened.close()


def call(tool, arguments, *, outputs=1, **values):
    return Call(scope="", tool=tool, arguments=arguments, references=(), values=values, outputs=outputs)


def made(environment, *calls):
    return [one.values if isinstance(one, Made) else one for one in environment.run(calls)]


def test_calls_of_several_tools_have_their_results_in_order(environment):
    calls = (call("Calculator", "2 * R1", R1="21"), call("Code", "R1 + 1", R1="6"), call("Count", "[1, 2]"))
    assert made(environment, *calls) == [("42",), ("7",), ("2",)]
    assert made(environment, *reversed(calls)) == [("2",), ("7",), ("42",)]


@pytest.mark.parametrize(
    ("program", "values", "result"),
    [
        ("sum(range(11))", {}, "55"),
        ("6 / 2", {}, "3"),
        ("5 / 2", {}, "2.5"),
        ("0.1 + 0.2", {}, "about 0.3"),
        ("1 / 3", {}, "about 0.333333333333333"),
        ("R1 * R2", {"R1": "1/4 (about 0.25)", "R2": "8"}, "2"),
        ("max(R1)", {"R1": "-2 or 2"}, "2"),
        ("R1 - 1", {"R1": "x = 5"}, "4"),
        ("len(R1)", {"R1": "n^2 + 1"}, "7"),
        ("def solve():\n    total = 0\n    for n in range(4):\n        total += n\n    return total", {}, "6"),
        ('"x = 4\\nx * R1"', {"R1": "3"}, "12"),
        ("2 ** 100", {}, str(2**100)),
    ],
)
def test_a_program_gives_a_number(environment, program, values, result):
    assert made(environment, call("code", program, **values)) == [(result,)]


def test_a_list_is_for_as_many_outputs(environment):
    assert made(environment, call("Code", "[R1, R1 / 4]", outputs=2, R1="2")) == [("2", "0.5")]
    [short, none] = made(environment, call("Code", "[1, 2]", outputs=3), call("Code", "[1]"))
    assert short.message == "The program gives a list of 2, and the action takes a list of 3 numbers."
    assert none.message == "The program gives a list of 1, and the action takes one number."


@pytest.mark.parametrize(
    ("program", "problem", "words"),
    [
        ("", ActionProblem.BAD_ARGUMENTS, "Code needs a program."),
        ("If R8 > 0, R8, -R8", ActionProblem.TOOL_ERROR, "Line 1: "),
        ("x = 1\nx / 0", ActionProblem.TOOL_ERROR, "Line 2: "),
        ("import os", ActionProblem.TOOL_ERROR, "Import is not allowed"),
        ("'a' + 'b'", ActionProblem.TOOL_ERROR, "it must be a number, or a list of numbers."),
        ("[1, True]", ActionProblem.TOOL_ERROR, "it must be a number, or a list of numbers."),
        ("1e308 * 10", ActionProblem.TOOL_ERROR, "The result contains a number that is not finite."),
        ("10 ** 10000", ActionProblem.TOO_MUCH, "Line 1: An integer of more than 14,000 bits."),
        ("2 ** 13000", ActionProblem.TOO_MUCH, "The result has more than 1000 digits."),
        ("n = 0\nwhile True:\n    n += 1\nn", ActionProblem.TOO_MUCH, "Line 3: The call used up its 1,000,000 steps."),
        ("[0] * 10 ** 9", ActionProblem.TOO_MUCH, "Line 1: A container of 1,000,000,000 items"),
    ],
)
def test_what_gives_none_is_a_sentence(environment, program, problem, words):
    [found] = environment.run([call("Code", program)])
    assert isinstance(found, Refused)
    assert found.problem is problem, found
    assert words in found.message


def test_what_is_nobodys_fault_is_a_fault_of_the_tool(environment, monkeypatch):
    lost = Failed(Failure.UNAVAILABLE, "The process of programs was lost.", None)
    monkeypatch.setattr(code.Runner, "run", lambda _, programs, **__: [(lost,)] * len(programs))
    assert environment.run([call("Code", "1")]) == [ToolFault("The process of programs was lost.")]


def test_programs_do_not_run_where_nothing_confines_them(environment, monkeypatch):
    monkeypatch.setattr(code, "support", lambda: Support(layers=frozenset(), missing={}))
    monkeypatch.delenv("PLANARENA_ALLOW_UNCONFINED_PROGRAMS", raising=False)
    fault, calculated = environment.run([call("Code", "1"), call("Calculator", "1 + 1")])
    assert isinstance(fault, ToolFault)
    assert fault.message.startswith("This machine cannot keep programs from files")
    assert calculated == Made(("2",))


def test_answers_are_compared_as_numbers(environment):
    task = TurnTask(
        key="1", text="", structure="linear", metric="solved", resources={}, expects=None, gold=None, answer="72",
        facts={},
    )  # fmt: skip
    scores = {
        text: environment.score(task=task, answer=text, transcript=None).indicators
        for text in ("72", "$72.0", "71", None)
    }
    assert scores == {
        "72": {"solved": 1.0, "same_text": 1.0},
        "$72.0": {"solved": 1.0, "same_text": 0.0},
        "71": {"solved": 0.0, "same_text": 0.0},
        None: {"solved": 0.0, "same_text": 0.0},
    }


def test_suites_without_programs_do_not_run_them():
    [refused] = MathsEnvironment(programs=False).run([call("Code", "1")])
    assert refused.problem is ActionProblem.UNKNOWN_TOOL
    assert refused.message.endswith(
        "there are: Calculator, SetEquation, SolveEquation, SolveInequality, Define, Count."
    )
