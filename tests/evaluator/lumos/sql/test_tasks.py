"""InterCode's tasks: all gold queries are executed and agree with themselves, and the listed defects are right."""

import json
import re

import pytest

from evaluator.lumos.sql.environment import reward
from evaluator.lumos.sql.outcome import Result
from evaluator.lumos.sql.running import Runner
from evaluator.lumos.sql.tasks import DEFECTS, Defect, Hardness, TaskFileError, read_tasks

ROW = {"db": "zoo", "gold": "SELECT 1", "query": "One?", "hardness": "easy", "db_tables": {"keeper": ["id"]}}


@pytest.fixture(scope="module")
def golds(released, tasks, full):
    """The results of gold queries by the number of their task: of one in twelve, in a full run of all."""
    runner = Runner(databases=released)
    return {
        number: runner.run(tasks[number].gold, database=tasks[number].database)
        for number in range(0, len(tasks), 1 if full else 12)
    }


def test_all_tasks_are_read(tasks):
    assert [task.key for task in tasks] == [f"intercode/{index}" for index in range(1034)]
    counts = {level: sum(task.hardness is level for task in tasks) for level in Hardness}
    assert counts == {Hardness.EASY: 248, Hardness.MEDIUM: 446, Hardness.HARD: 174, Hardness.EXTRA: 166}
    assert len({task.database for task in tasks}) == 20
    assert tasks[802].gold == "SELECT avg(Attendance) FROM SHOW"


def test_every_gold_query_has_the_full_reward_against_itself(golds):
    assert len(golds) >= 86
    for number, result in golds.items():
        assert isinstance(result, Result), number
        assert not result.is_cut
        found = reward(answer=result, gold=result)
        assert (found.is_success, found.value) == (True, 1.0), number
    # No value is of a type that JSON lacks.
    json.dumps([result.rows for result in golds.values()], allow_nan=False)


def test_the_empty_golds_are_the_listed_ones(golds):
    assert {number for number, result in golds.items() if not result.rows} == DEFECTS[Defect.EMPTY] & set(golds)


def test_the_golds_that_mysql_cannot_read_are_the_listed_ones(tasks):
    """By what is wrong with them: the reserved word, a derived table without a name, a space before a bracket."""
    found = {
        index for index, task in enumerate(tasks) if re.search(r"FROM SHOW$|COUNT \(|FROM \(SELECT.*\)$", task.gold)
    }
    assert found == DEFECTS[Defect.REFUSED]


def test_defects_are_those_of_tasks(tasks):
    assert all(task.defects == () for task in tasks[:17])
    assert tasks[525].defects == (Defect.REFUSED_STRICT, Defect.ARBITRARY)
    assert all(max(indices) < 1034 for indices in DEFECTS.values())


def test_the_tables_of_tasks_are_those_of_the_dump(released, tasks):
    for task in tasks:
        schema = released.schemas[task.database]
        for name, columns in task.tables.items():
            table = schema.table(name)
            assert table is not None, (task.key, name)
            assert {column.name.lower() for column in table.columns} >= {column.lower() for column in columns}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("{}", "must be a list of tasks"),
        ("[3]", "task 0 must be an object"),
        (json.dumps([ROW | {"hardness": "odd"}]), '"hardness" must be one of easy, medium, hard, extra'),
        (json.dumps([ROW, ROW | {"gold": " "}]), 'task 1: "gold" must be a text'),
        (json.dumps([ROW | {"db": 3}]), '"db" must be a text'),
        (json.dumps([ROW | {"db_tables": {"a": "b"}}]), '"db_tables" must be an object of lists'),
    ],
)
def test_another_file_is_refused_with_its_place(tmp_path, content, message):
    path = tmp_path / "tasks.json"
    path.write_text(content)
    with pytest.raises(TaskFileError, match=message):
        read_tasks(path)
    with pytest.raises(TaskFileError, match="cannot be read"):
        read_tasks(tmp_path / "nothing")
