"""An episode that was cut off goes on from the turns that were answered, and no turn is asked twice."""

from pathlib import Path

import pytest

from evaluator.engine.store import LocalStore
from evaluator.episodes.turns.evaluator import TurnEvaluator
from evaluator.episodes.turns.feedback import Bounds
from evaluator.planners.turns.protocol import TurnReply, TurnRequest, TurnResponse
from evaluator.records import without_timings
from tests.evaluator.episodes.turns.toy import Answers, Sums, suite

TASKS = list("12345678")


class KilledError(BaseException):
    """Ends a run wherever it is."""


def slowly(request: TurnRequest) -> TurnResponse:
    """Four turns: the number is added to a result three times."""
    turn = len(request.history)
    if turn == 3:
        return TurnResponse(answer="R1")
    return TurnResponse(actions=f"R{turn + 1} = Add({request.task.id}, {request.task.id if turn == 0 else '0'})")


def evaluator(folder: Path) -> TurnEvaluator:
    return TurnEvaluator(
        suite=suite(), environment=Sums(), bounds=Bounds(), open_journal=lambda: LocalStore(folder / "store")
    )


class Mortal(Answers):
    """Answers together, and is killed before a round."""

    rounds = 99

    def turn_all(self, requests: list[TurnRequest]) -> list[TurnReply]:
        if self.rounds == 0:
            raise KilledError
        self.rounds -= 1
        return [self.turn(request) for request in requests]


@pytest.mark.parametrize("rounds", range(4))
def test_a_run_that_was_killed_goes_on_where_it_was(tmp_path: Path, rounds: int):
    whole = list(evaluator(tmp_path / "other").run(planner=Mortal(slowly), tasks=TASKS, run="a"))
    first, second = Mortal(slowly), Mortal(slowly)
    first.rounds = rounds
    with pytest.raises(KilledError):
        list(evaluator(tmp_path).run(planner=first, tasks=TASKS, run="a"))
    again = list(evaluator(tmp_path).run(planner=second, tasks=TASKS, run="a"))
    assert len(first.asked) == rounds * 8
    assert len(second.asked) == (4 - rounds) * 8
    asked = [request.key for request in (*first.asked, *second.asked)]
    assert len(asked) == len(set(asked))
    assert list(map(without_timings, again)) == list(map(without_timings, whole))


def test_a_damaged_journal_costs_a_call_and_nothing_else(tmp_path: Path):
    list(evaluator(tmp_path).run(planner=Mortal(slowly), tasks=["4"], run="a"))
    for path in (tmp_path / "store" / "objects").rglob("*"):
        if path.is_file():
            path.write_bytes(b"{}")
    again = Mortal(slowly)
    (record,) = evaluator(tmp_path).run(planner=again, tasks=["4"], run="a")
    assert (record.score, len(again.asked)) == (1.0, 4)
