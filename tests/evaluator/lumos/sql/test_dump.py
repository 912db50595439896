"""The dump is read as MySQL would read it, or refused with its line."""

import pytest

from evaluator.lumos.sql.dump import DumpError, read_dump
from evaluator.lumos.sql.schema import Kind
from tests.evaluator.lumos.sql.conftest import SMALL


def test_tables_and_columns_are_those_of_the_statements():
    schema = read_dump(SMALL)["Zoo"].schema
    assert list(schema.tables) == ["keeper", "animal"]
    keeper = schema.tables["keeper"]
    assert [(column.name, column.kind) for column in keeper.columns] == [
        ("id", Kind.INTEGER),
        ("Name", Kind.TEXT),
        ("age", Kind.TEXT),
        ("hired", Kind.DATE),
        ("seen", Kind.MOMENT),
    ]
    assert [column.is_nullable for column in keeper.columns] == [False, True, True, True, True]
    assert (keeper.primary_key, keeper.unique_keys, keeper.columns[0].extra) == (
        ("id",),
        (("Name",),),
        "auto_increment",
    )
    assert keeper.statement.startswith("CREATE TABLE `keeper` (\n  `id` int NOT NULL")
    assert schema.tables["animal"].columns[3].default == "0.0000"
    assert schema.table("KEEPER") is keeper


def test_texts_have_their_escapes_brackets_and_semicolons():
    rows = read_dump(SMALL)["Zoo"].rows["keeper"]
    assert [row[1] for row in rows] == ["Ada", "Zoë ", "It's; (a) 'quote'", None, "bob\n"]


def test_numbers_have_the_type_of_their_column():
    rows = read_dump(SMALL)["Zoo"].rows["animal"]
    assert [row[3] for row in rows] == [4.5, 12.0, -3.0, None]
    assert all(isinstance(row[0], int) for row in rows)


def test_a_table_without_rows_is_there():
    assert read_dump(SMALL)["Other"].rows == {"empty": []}


NO_DUMPS = [
    ("CREATE TABLE `t` (\n  `a` int\n) x;", "line 1 .* before any USE"),
    ("USE `d`;\nCREATE TABLE `t` (\n  `a` blob\n) x;", "line 2 .* type that is not known: blob"),
    ("USE `d`;\nCREATE TABLE `t` (\n  a int\n) x;", "line 2 .*definition that is not known: 'a int'"),
    ("USE `d`;\n\nDELETE FROM `t`;", "line 3 .*kind that is not known: 'DELETE FROM `t`'"),
    ("USE `d`;\nINSERT INTO `t` VALUES (1);", "line 2 .*which is not defined before"),
    (
        "USE `d`;\nCREATE TABLE `t` (\n  `a` int\n) x;\nINSERT INTO `t` VALUES (1,2);",
        "line 5 .*has 2 values, not 1",
    ),
    ("USE `d`;\nCREATE TABLE `t` (\n  `a` int\n) x;\nINSERT INTO `t` VALUES ('x');", "line 5 .*has the value 'x'"),
    ("USE `d`;\nCREATE TABLE `t` (\n  `a` int\n) x;\nINSERT INTO `t` VALUES (f());", "line 5 .*no value at"),
    ("USE `d`;\nCREATE TABLE `t` (\n  `a` int\n) x;\nINSERT INTO `t` VALUES (1)(2);", "line 5 .*after a row"),
    ("USE `d`;\nINSERT INTO `t` VALUES ('x);", "line 2 .*has no end"),
    ("USE `d`", "line 1 .*cut off"),
    ("USE `d`;\n/* x", "line 2 .*cut off"),
]


def test_what_is_no_dump_is_refused_with_its_line(subtests):
    for text, message in NO_DUMPS:
        with subtests.test(case=text), pytest.raises(DumpError, match=message):
            read_dump(text)


def test_any_cut_of_the_dump_is_read_or_refused():
    for end in range(0, len(SMALL), 7):
        try:
            read_dump(SMALL[:end])
        except DumpError as error:
            assert str(error).startswith("line ")  # noqa: PT017
