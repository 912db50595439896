"""Actions in a process with limits."""

import dataclasses
import subprocess
import sys
import time

import pytest

from evaluator.core.transcripts import ActionProblem
from evaluator.episodes.turns.environment import Made, Refused, ToolFault
from evaluator.lumos.maths import process
from evaluator.lumos.maths.process import ToolProcess
from tests.evaluator.lumos.maths.test_bounds import HOSTILE, VALUES

SLOW = "+".join(["R21*R2(R21)"] * 300)


@pytest.fixture(scope="module")
def tools():
    opened = ToolProcess()
    yield opened
    opened.close()


def run(tools, tool, arguments, *, outputs=1, **values):
    return tools.run(tool=tool, arguments=arguments, values=values, outputs=outputs)


def test_plain_arithmetic_needs_no_process_and_no_sympy():
    program = (
        "import sys; from evaluator.lumos.maths.process import ToolProcess; "
        "made = ToolProcess().run(tool='Calculator', arguments='(R1 + 3) / $4', values={'R1': '5'}, outputs=1); "
        "assert made.values == ('2',), made; assert 'sympy' not in sys.modules; "
        "assert 'subprocess' not in sys.modules or not __import__('subprocess')._active"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_algebra_runs_in_the_process(tools):
    assert run(tools, "SolveEquation", "x + y = R1, x - y = 4", outputs=2, R1="10") == Made(("7", "3"))
    assert run(tools, "Calculator", "R1(2)", R1="x^2 + 1") == Made(("5",))
    assert run(tools, "Calculator", "2^10") == Made(("1024",))
    refused = run(tools, "Calculator", "R1 / (x - x)", R1="4")
    assert refused == Refused(ActionProblem.TOOL_ERROR, "Character 4: division by zero.")
    unreadable = run(tools, "Calculator", "R1", R1="the capital of")
    assert unreadable.problem is ActionProblem.BAD_REFERENCE
    assert unreadable.message.startswith("An earlier result cannot be used: character 5: ")


def test_a_call_takes_milliseconds_once_the_process_runs(tools):
    run(tools, "SolveEquation", "x = 1")
    start = time.monotonic()
    for number in range(50):
        assert run(tools, "SolveEquation", f"2x + {number} = 7").values
    assert time.monotonic() - start < 50 * 0.1


def test_work_beyond_the_deadline_is_refused_and_the_next_action_runs():
    tools = ToolProcess(dataclasses.replace(process._LIMITS, wall_seconds=0.5))
    try:
        refused = run(tools, "Calculator", SLOW, **{name: value.text for name, value in VALUES.items()})
        assert refused == Refused(
            ActionProblem.TOO_MUCH, "This takes more work than a calculation may; split it into smaller ones."
        )
        assert run(tools, "SolveEquation", "x + 1 = 3") == Made(("2",))
    finally:
        tools.close()


def test_a_process_that_does_not_start_is_a_fault_of_the_tool(monkeypatch):
    monkeypatch.setattr(process.Server, "call", lambda *_: (_ for _ in ()).throw(RuntimeError("ended with code 1")))
    assert isinstance(run(ToolProcess(), "SolveEquation", "x = 1"), ToolFault)


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("3", "3"),
        ("-0.5", "-0.5"),
        ("-2 or 2", "[-2, 2]"),
        ("x = 5", "5"),
        ("n^2", "'n^2'"),
        ("1/4 (about 0.25)", "0.25"),
    ],
)
def test_results_are_python_literals_for_programs(tools, text, python):
    assert tools.literal(text) == python


@pytest.mark.timeout(180)
def test_hostile_arguments_come_to_an_end(full):
    """A few of them have a value; without bounds and the deadline, others would run for hours.

    Each that takes too long costs a new process. A full run tries all, others every third of each kind.
    """
    values, tools = 0, ToolProcess(dataclasses.replace(process._LIMITS, wall_seconds=0.5))
    recorded = {name: value.text for name, value in VALUES.items()}
    for tool, arguments in HOSTILE if full else HOSTILE[::3]:
        outcome = tools.run(tool=tool, arguments=arguments, values=recorded, outputs=1)
        if isinstance(outcome, Made):
            values += 1
            assert all(len(text) <= 10_000 for text in outcome.values), arguments[:60]
        else:
            assert len(outcome.message) > 10, arguments[:60]
    tools.close()
    assert values > (10 if full else 3)
