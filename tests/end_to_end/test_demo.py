"""The demo publishes the right board; a killed worker changes no row."""

import os
import signal
import stat

import pytest

from evaluator.core.records import ResultRecord, without_timings
from tests.end_to_end.arena import data_folder, runnable_count, started

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]


def board(arena, *, suite="openagi"):
    return {row["planner"]: row for row in arena.get(f"boards/{suite}/")["content"]["rows"]}


def evaluations_of(arena, *, suite="openagi"):
    return [evaluation for evaluation in arena.evaluations() if evaluation["suite"] == suite]


def test_gold_is_above_random_valid_and_no_op_on_vit_and_overall(arena):
    rows = board(arena)
    assert set(rows) == {"gold", "random-valid", "no-op"}
    for metric in ("ViT", "overall"):
        scores = {name: row["metrics"][metric]["mean"] for name, row in rows.items()}
        assert scores["gold"] > scores["random-valid"]
        assert scores["gold"] > scores["no-op"]
    assert rows["gold"]["rank"] == 1


def test_all_185_requests_run(arena):
    assert runnable_count() == 185
    assert arena.get("boards/openagi/")["content"]["coverage"] == {"run": 185, "total": 185}
    assert len(evaluations_of(arena)) == 3
    for evaluation in evaluations_of(arena):
        rows = arena.results(evaluation["id"])
        assert len(rows) == 185
        assert all(row["score"] is not None for row in rows)


def test_the_floors_of_judged_plans_are_on_a_board_too(arena):
    scores = {name: row["metrics"]["SE"]["mean"] for name, row in board(arena, suite="toolmini").items()}
    floors = {"gold-minus-one", "parrot", "ask-everything", "random-valid", "no-op"}
    assert set(scores) == {"gold", *floors}
    assert all(scores["gold"] > scores[floor] for floor in floors)


def test_others_on_the_machine_read_nothing_of_its_data(arena):
    """PostgreSQL, which runs as another user for root, closes its own files. Static files are public."""
    others = {"postgres", "static"}
    paths = [path for path in arena.data.rglob("*") if not path.is_symlink() and not others & set(path.parts)]
    names = {path.relative_to(arena.data).parts[0] for path in paths}
    assert names >= {"store", "workers", "logs", "secrets"}
    rights = {path: stat.S_IMODE(path.lstat().st_mode) for path in paths if path.exists()}
    assert [str(path) for path, mode in rights.items() if mode & 0o077] == []
    assert stat.S_IMODE(arena.data.lstat().st_mode) & 0o066 == 0


DISTURBED = ("gold", "no-op")
"""What is evaluated once more with a worker killed. The pictures of `random-valid` would take most of the time, and are
made by the same code as those of `gold`."""


def everything(arena):
    """Rows and whole records, timings aside, of these bundled planners."""
    found = {}
    for evaluation in evaluations_of(arena):
        name = evaluation["planner"]["name"]
        if evaluation["planner"]["owner"] != "planarena" or name not in DISTURBED:
            continue
        assert name not in found, f"{name} was evaluated twice"
        rows = arena.results(evaluation["id"])
        assert len({row["task"] for row in rows}) == len(rows)
        for row in rows:
            record = arena.get(f"evaluations/{evaluation['id']}/results/{row['task']}/")["record"]
            assert record["score"] == row["score"]
            found[name, row["task"]] = without_timings(ResultRecord.model_validate(record)).model_dump_json()
        found[name, "summary"] = evaluation["summary"]
    return found


def partly_done(arena):
    """An evaluation that is being worked on: some tasks have ended, some have not, and a worker is alive."""
    for evaluation in arena.evaluations():
        missing = evaluation["tasks_total"] - evaluation["done"]
        if evaluation["state"] == "running" and 0 < missing < 30 and arena.worker_pids():
            return evaluation
    return None


def test_a_worker_killed_in_the_middle_changes_no_row_and_doubles_none(arena):
    with data_folder() as data, started(data, planners=DISTURBED) as disturbed:
        disturbed.wait_for(lambda: partly_done(disturbed), what="an evaluation half done")
        (victim,) = disturbed.worker_pids()
        os.kill(victim, signal.SIGKILL)
        disturbed.wait_published()
        assert disturbed.worker_pids() != [victim]
        after = everything(disturbed)
        assert {name for name, _ in after} == set(DISTURBED)
        assert after == everything(arena)
