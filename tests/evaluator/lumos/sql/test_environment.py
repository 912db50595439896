"""Statements of a planner in turns: fragments, results in place of references, and each statement run once."""

import pytest

from evaluator.core.transcripts import ActionProblem
from evaluator.episodes.turns.environment import Call, Made, Refused
from evaluator.episodes.turns.reading import references_in
from evaluator.lumos.sql.environment import SqlEnvironment, result_of, text_of
from evaluator.lumos.sql.outcome import Failure, Reason, Result


class Recorder:
    """A runner that records statements and answers each with one row."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, str]] = []

    def run(self, statement: str, *, database: str) -> Result | Failure:
        self.ran.append((database, statement))
        if "slow" in statement:
            return Failure(reason=Reason.TOO_SLOW, message="It takes too long.")
        return Result(columns=("n",), rows=((1,),))


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture
def environment(recorder):
    return SqlEnvironment(lambda: recorder, data="x")


def call(statement: str, **values: str) -> Call:
    return Call(
        scope="db", tool="SQL", arguments=statement, references=references_in(statement), values=values, outputs=1
    )


def test_equal_statements_are_run_once(environment, recorder):
    first, second = environment.run([call("SELECT 1"), call("SELECT 1")])
    assert first == second == Made((text_of(Result(columns=("n",), rows=((1,),))),))
    assert recorder.ran == [("db", "SELECT 1")]


def test_a_fragment_is_kept_and_takes_the_place_of_its_reference(environment, recorder):
    (kept,) = environment.run([call("T1.Name FROM singer AS T1")])
    assert kept == Made(("T1.Name FROM singer AS T1",))
    environment.run([call("SELECT R1 WHERE x = 'R1'", R1="T1.Name FROM singer AS T1")])
    assert recorder.ran == [("db", "SELECT T1.Name FROM singer AS T1 WHERE x = 'R1'")]


def test_values_are_quoted_in_place_of_a_reference(environment, recorder):
    rows = text_of(Result(columns=("a",), rows=(("O'Brien",), (None,), (2,), ("\\' OR 1=1",))))
    environment.run([call("SELECT * FROM t WHERE a IN (R1)", R1=rows)])
    assert recorder.ran[0][1] == "SELECT * FROM t WHERE a IN ('O''Brien', NULL, 2, '\\\\'' OR 1=1')"


def test_what_cannot_be_run_says_why(environment):
    wide = text_of(Result(columns=("a", "b"), rows=((1, 2),)))
    unfit, slow = environment.run([call("SELECT R1", R1=wide), call("SELECT slow")])
    assert isinstance(unfit, Refused)
    assert "R1 has 2 columns and 1 rows; only a result with one column" in unfit.message
    assert slow == Refused(ActionProblem.TOO_MUCH, "It takes too long.")


@pytest.mark.parametrize("text", ["", "[]", "1", '{"rows": 3}', '{"columns": [], "rows": [1]}', "[" * 99_999])
def test_other_texts_are_no_results(text):
    assert result_of(text) is None
