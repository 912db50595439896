"""No statement runs without an end, writes, reads anything but the database, or ends the process."""

import sqlite3
from pathlib import Path

import psutil
import pytest

from evaluator.lumos.sql.executing import Limits, restrict
from evaluator.lumos.sql.functions.session import Session
from evaluator.lumos.sql.outcome import Failure, Reason, Result
from evaluator.lumos.sql.running import Runner
from tests.rings import usual

SLOW = {
    "a cartesian product of 10^10 rows": "SELECT COUNT(*) FROM city a, city b, city c",
    "a sorted cartesian product": "SELECT a.Name FROM city a, city b, city c ORDER BY a.Name, b.Name",
    "a distinct cartesian product":
        "SELECT COUNT(*) FROM (SELECT DISTINCT a.Name, b.Name x, c.Name y FROM city a, city b, city c) t",
    "recursion without an end":
        "WITH RECURSIVE c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c) SELECT COUNT(*) FROM c",
    "a function for each row of a product":
        "SELECT SUM(LENGTH(CONCAT(REPEAT('a', 100000), a.Name))) FROM city a, city b",
    "LIKE for each row of a product": "SELECT COUNT(*) FROM city a, city b WHERE a.Name LIKE CONCAT('%', b.Name, '%')",
    "an aggregate of a product": "SELECT GROUP_CONCAT(DISTINCT a.Name ORDER BY b.Name) FROM city a, city b",
    "a window over a product": "SELECT SUM(a.ID) OVER (ORDER BY b.Name) FROM city a, city b",
    "quantifiers": "SELECT COUNT(*) FROM city a WHERE a.Name > ALL (SELECT CONCAT(b.Name, a.Name) FROM city b, city c)",
}  # fmt: skip


USUAL = ("a cartesian product of 10^10 rows", "recursion without an end", "a function for each row of a product")


@pytest.mark.parametrize("name", usual(SLOW, of=USUAL))
def test_a_statement_without_an_end_is_stopped(runner, name):
    found = runner.run(SLOW[name], database="world_1")
    assert isinstance(found, Failure)
    assert found.reason is Reason.TOO_SLOW
    assert "join or read less" in found.message
    assert runner.run("SELECT COUNT(*) FROM city", database="world_1").rows == ((4079,),)


def test_a_sort_that_was_cut_short_gives_no_result(released):
    statement = "SELECT Name FROM country WHERE Population > 50000000 ORDER BY Name"
    limits = Limits(steps=3_000)
    assert len(Runner(databases=released).run(statement, database="world_1").rows) == 24
    found = Runner(databases=released, limits=limits).run(statement, database="world_1")
    assert found.reason is Reason.TOO_SLOW


def test_a_result_without_an_end_is_cut(runner):
    statement = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c"
    found = runner.run(statement, database="world_1")
    assert (len(found.rows), found.is_cut) == (Limits().rows, True)


def test_time_is_bounded_where_steps_are_not(released):
    runner = Runner(databases=released, limits=Limits(steps=10**12, processor_seconds=0.1))
    assert runner.run("SELECT COUNT(*) FROM city a, city b, city c", database="world_1").reason is Reason.TOO_SLOW
    runner = Runner(databases=released, limits=Limits(steps=10**12, processor_seconds=60, elapsed_seconds=0.1))
    assert runner.run("SELECT COUNT(*) FROM city a, city b, city c", database="world_1").reason is Reason.TOO_SLOW


LARGE = [
    ("SELECT REPEAT('a', 1000000000)", Reason.TOO_LARGE),
    ("SELECT SPACE(1e12)", Reason.TOO_LARGE),
    ("SELECT LPAD('a', 1e9, 'b')", Reason.TOO_LARGE),
    ("SELECT RPAD('a', 1e300, 'b')", Reason.TOO_LARGE),
    ("SELECT REPLACE(REPEAT('a', 200000), 'a', REPEAT('b', 200000))", Reason.TOO_LARGE),
    ("SELECT CONCAT(REPEAT('a', 150000), REPEAT('b', 150000))", Reason.TOO_LARGE),
    ("SELECT ZEROBLOB(1000000000)", Reason.UNSUPPORTED),
    ("SELECT RANDOMBLOB(1000000000)", Reason.UNSUPPORTED),
    ("SELECT PRINTF('%1000000000d', 1)", Reason.UNSUPPORTED),
    ("SELECT HEX(1)", Reason.UNSUPPORTED),
    (f"SELECT {'name, ' * 300}1 FROM keeper", Reason.TOO_LARGE),
    (f"SELECT 1{' UNION SELECT 1' * 200}", Reason.TOO_LARGE),
    (f"SELECT 1 FROM {'keeper, ' * 100}animal", Reason.TOO_DEEP),
    (
        "WITH a AS (SELECT 1 x FROM keeper), "
        + ", ".join(f"{chr(98 + n)} AS (SELECT 1 x FROM {chr(97 + n)} p, {chr(97 + n)} q)" for n in range(20))
        + " SELECT 1 FROM u",
        Reason.TOO_DEEP,
    ),
    (
        "WITH a AS (SELECT 1 x), "
        + ", ".join(f"a{n + 1} AS (SELECT 1 x FROM a{n or ''} p, a{n or ''} q)" for n in range(60))
        + " SELECT 1 FROM a60",
        Reason.TOO_DEEP,
    ),
    ("WITH a AS (WITH a AS (SELECT 1) SELECT 1 FROM a p, a q) SELECT 1 FROM a p, a q", Reason.UNSUPPORTED),
]


def test_what_would_fill_the_memory_is_refused(refusal, subtests):
    for statement, reason in LARGE:
        with subtests.test(case=statement):
            assert refusal(statement).reason is reason


LONG = "REPEAT('a', 190000)"
NUMBERS = "WITH RECURSIVE c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c)"
TEXTS = f"WITH RECURSIVE c AS (SELECT 1 AS n, {LONG} AS t UNION ALL SELECT n + 1, t FROM c)"
GREEDY = {
    "keys of GROUP_CONCAT": f"{NUMBERS} SELECT GROUP_CONCAT(n ORDER BY {LONG}, {LONG}) FROM c",
    "many keys of GROUP_CONCAT": f"{TEXTS} SELECT GROUP_CONCAT(n ORDER BY t, t, t, t, t, t, t, t) FROM c",
    "many times GROUP_CONCAT": f"{TEXTS} SELECT {', '.join(['GROUP_CONCAT(n ORDER BY t, n)'] * 40)} FROM c",
    "distinct values of GROUP_CONCAT": f"{NUMBERS} SELECT GROUP_CONCAT(DISTINCT REPEAT(n, 1000)) FROM c",
    "GROUP_CONCAT of each group": f"{TEXTS} SELECT n, GROUP_CONCAT(n ORDER BY t) FROM c GROUP BY n",
    "a sort": f"{TEXTS} SELECT t FROM c ORDER BY n DESC",
    "a sort by texts": f"{TEXTS} SELECT n FROM c ORDER BY t",
    "distinct rows": f"{TEXTS} SELECT COUNT(*) FROM (SELECT DISTINCT t, n FROM c) d",
    "groups": f"{TEXTS} SELECT COUNT(*) FROM (SELECT t, n, COUNT(*) FROM c GROUP BY t, n) d",
    "distinct values": f"{TEXTS} SELECT COUNT(DISTINCT CONCAT(t, n)) FROM c",
    "a union": f"{TEXTS} SELECT COUNT(*) FROM (SELECT t, n FROM c UNION SELECT t, n + 1 FROM c) d",
    "a window": f"{TEXTS} SELECT COUNT(*) FROM (SELECT FIRST_VALUE(t) OVER (ORDER BY n DESC) x FROM c) d",
    "a window of rows": f"{TEXTS} SELECT COUNT(*) FROM (SELECT LAG(t, 1000) OVER (ORDER BY n) x FROM c) d",
    "a join": f"{TEXTS} SELECT COUNT(*) FROM c a JOIN c b ON a.t = b.t",
    "a subquery": f"{TEXTS} SELECT 1 WHERE 'x' IN (SELECT CONCAT(t, n) FROM c)",
    "doubling": "WITH RECURSIVE c AS (SELECT 'a' AS t UNION ALL SELECT CONCAT(t, t) FROM c) SELECT MAX(t) FROM c",
    "padding": f"{NUMBERS} SELECT LPAD('a', 190000, 'xyz'), n FROM c ORDER BY 1, 2",
    "arguments": f"SELECT CONCAT({', '.join([LONG] * 90)})",
    "separators": f"SELECT CONCAT_WS({LONG}, {', '.join('1' * 90)})",
}  # fmt: skip


def most_held() -> int:
    """Bytes that a process which executes statements has held, at most."""
    found = [0]
    for process in psutil.Process().children():
        if "evaluator.lumos.sql.executing" in process.cmdline():
            status = Path(f"/proc/{process.pid}/status").read_text()
            found.append(int(status.partition("VmHWM:")[2].split()[0]) * 1024)
    return max(found)


KINDS = {"keys of GROUP_CONCAT", "a sort by texts", "a window", "a join", "doubling", "arguments"}
"""Of statements that need much memory, for each run."""


def test_a_statement_that_needs_much_memory_is_ended_with_the_limit_and_has_not_taken_more_than_twice_that(small, full):
    runner = Runner(databases=small)
    greedy = {name: statement for name, statement in GREEDY.items() if full or name in KINDS}
    for name, statement in greedy.items():
        found = runner.run(statement, database="Zoo")
        assert isinstance(found, Failure), name
        assert found.reason is Reason.TOO_LARGE, name
        assert "more than 64 MiB of memory" in found.message or "longer than 200000 bytes" in found.message
    runner.run(f"SELECT {', '.join([LONG] * 150)}", database="Zoo")
    assert 0 < most_held() < 2 * Limits().memory_bytes + 40 * 1024**2
    assert runner.run("SELECT COUNT(*) FROM keeper", database="Zoo").rows == ((5,),)


def test_a_process_that_is_killed_is_replaced(small):
    runner = Runner(databases=small)
    before = {process.pid for process in psutil.Process().children()}
    runner.run("SELECT 1", database="Zoo")
    [own] = [process for process in psutil.Process().children() if process.pid not in before]
    own.kill()
    assert runner.run("SELECT 1", database="Zoo").reason is Reason.TOO_LARGE
    assert runner.run("SELECT 1", database="Zoo").rows == ((1,),)


NO_READING = [
    "ATTACH 'x' AS y",
    "ATTACH DATABASE 'x' AS y",
    "PRAGMA table_info(keeper)",
    "VACUUM INTO 'x'",
    "DROP TABLE keeper",
    "CREATE TABLE x (a int)",
    "CREATE TEMPORARY TABLE x AS SELECT 1",
    "INSERT INTO keeper VALUES (9)",
    "REPLACE INTO keeper VALUES (9)",
    "UPDATE keeper SET age = 1",
    "DELETE FROM keeper",
    "TRUNCATE keeper",
    "ALTER TABLE keeper ADD x int",
    "WITH a AS (SELECT 1) DELETE FROM keeper",
    "SET @a = 1",
    "USE Other",
    "CALL f()",
    "BEGIN",
    "LOAD DATA INFILE 'x' INTO TABLE keeper",
    "SELECT 1 INTO OUTFILE 'x'",
    "SELECT LOAD_FILE('/etc/passwd')",
    "SELECT READFILE('/etc/passwd')",
    "SELECT LOAD_EXTENSION('x')",
    "SELECT SQLITE_VERSION()",
    "SELECT SLEEP(10)",
    "SELECT BENCHMARK(1000000000, 1)",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM sqlite_schema",
    "SELECT * FROM main.keeper",
    "SELECT * FROM temp.keeper",
    "SELECT * FROM pragma_table_info('keeper')",
    "SELECT * FROM generate_series(1, 10)",
    "SELECT rowid FROM keeper",
    "SELECT _rowid_ FROM keeper",
    "SELECT `oid` FROM keeper",
    "SELECT @a, @@version",
    "SELECT ?",
    "SELECT :a",
    "SELECT Name FROM keeper WHERE Name REGEXP '(a+)+$'",
    "SELECT Name FROM keeper WHERE Name RLIKE '(a+)+$'",
    "SELECT MY_SIGNED(1)",
    "SELECT `MY_TEXT`(1)",
    "SELECT x'00'",
]


def test_whatever_does_not_only_read_the_database_is_refused(refusal, query, subtests):
    for statement in NO_READING:
        with subtests.test(case=statement):
            assert refusal(statement).reason in (
                Reason.NOT_A_QUERY, Reason.UNSUPPORTED, Reason.UNKNOWN_NAME, Reason.SYNTAX,
            )  # fmt: skip
            assert query("SELECT COUNT(*) FROM keeper") == [(5,)]


@pytest.mark.parametrize(
    "sql",
    [
        "ATTACH 'x' AS y",
        "PRAGMA table_info(keeper)",
        "SELECT * FROM pragma_table_info('keeper')",
        "SELECT * FROM sqlite_master",
        "CREATE TABLE x (a)",
        "CREATE TEMP TABLE x (a)",
        "DELETE FROM keeper",
        "INSERT INTO keeper DEFAULT VALUES",
        "VACUUM INTO '/tmp/x'",
        "SELECT load_extension('x')",
        "SELECT zeroblob(5)",
        "SELECT randomblob(5)",
        "SELECT printf('%d', 1)",
        "SELECT * FROM json_each('[1]')",
        "BEGIN",
    ],
)
def test_the_second_wall_holds_without_the_first(small, sql):
    """What the translation would let through by mistake, SQLite's authoriser and the read-only file refuse."""
    connection = sqlite3.connect(f"file:{small.path('Zoo')}?mode=ro&immutable=1", uri=True)
    restrict(connection, session=Session(database="Zoo", most_calls=1, most_bytes=1))
    with pytest.raises(sqlite3.Error):
        connection.execute(sql).fetchall()
    assert connection.execute("SELECT COUNT(*) FROM keeper").fetchall() == [(5,)]
    connection.close()


DEEP = [
    "(" * 900 + "1" + ")" * 900,
    "(SELECT " * 300 + "1" + ")" * 300,
    "CONCAT(" * 300 + "1" + ")" * 300,
    "CASE WHEN 1 THEN " * 150 + "1" + " END" * 150,
    "NOT " * 900 + "1",
    "- " * 1900 + "1",
    "1 + " * 900 + "1",
    "1 = " * 900 + "1",
    "(" * 3900,
    "f(" * 1900,
    "[" * 3000,
    "{a:" * 900,
    "CAST(" * 300 + "1" + " AS CHAR)" * 300,
    "IF(1," * 300 + "1" + ",2)" * 300,
    "EXISTS (SELECT " * 200 + "1" + ")" * 200,
]


def test_deep_nesting_is_refused(refusal, subtests):
    from evaluator.lumos.sql.translation.parsing import MOST_CHARACTERS

    for expression in DEEP:
        with subtests.test(case=expression):
            assert refusal(f"SELECT {expression}"[:MOST_CHARACTERS]).reason in (Reason.TOO_DEEP, Reason.SYNTAX)


@pytest.mark.parametrize("form", ["({})", "CONCAT({})", "IF(1, {}, 2)", "(SELECT {})", "CASE WHEN 1 THEN {} END"])
def test_nesting_up_to_the_limit_is_executed(query, form):
    from evaluator.lumos.sql.translation.parsing import MOST_DEPTH

    expression = "1"
    for _ in range(MOST_DEPTH - 1):
        expression = form.format(expression)
    ((found,),) = query(f"SELECT {expression}")
    assert str(found) == "1"


def test_long_conditions_are_executed(query):
    condition = " OR ".join(f"id = {number}" for number in range(150))
    assert query(f"SELECT COUNT(*) FROM keeper WHERE {condition}") == [(5,)]
    assert query(f"SELECT COUNT(*) FROM keeper WHERE id IN ({', '.join(['1'] * 1000)})") == [(1,)]


def test_a_statement_that_is_too_long_is_refused(refusal):
    from evaluator.lumos.sql.translation.parsing import MOST_CHARACTERS

    assert refusal(f"SELECT '{'x' * MOST_CHARACTERS}'").reason is Reason.TOO_LONG
    assert refusal(" " * 10_000_000).reason is Reason.TOO_LONG


@pytest.mark.parametrize("text", ["SELECT 'a\0b'", "SELECT \ud800", "\0", "SELECT '\udfff'"])
def test_texts_that_are_no_texts_are_refused(refusal, text):
    assert refusal(text).reason is Reason.SYNTAX


def test_like_does_not_backtrack(runner):
    for pattern in ("%a" * 90 + "b", "_%" * 90 + "b", "%" * 190 + "b"):
        found = runner.run(f"SELECT REPEAT('a', 100000) LIKE '{pattern}'", database="world_1")
        assert isinstance(found, Result), pattern
