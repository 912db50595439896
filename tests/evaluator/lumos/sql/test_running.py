"""Queries mean what they mean in MySQL. The expected values are MySQL's."""

import re
import threading

import pytest

from evaluator.lumos.sql.executing import Limits
from evaluator.lumos.sql.outcome import Failure, Reason, Result
from evaluator.lumos.sql.running import Runner

EXPRESSIONS = [
    # Operators.
    ("7 / 2", 3.5),
    ("7 div 2", 3),
    ("-7 mod 3", -1),
    ("1 / 0", None),
    ("1 || 0", 1),
    ("1 && 0", 0),
    ("1 xor 1", 0),
    ("!1", 0),
    ("null <=> null", 1),
    ("'3a' * 2", 6),
    ("'a' 'b'", "ab"),
    # Comparisons.
    ("'10' > 9", 1),
    ("'10' > '9'", 0),
    ("9 < '10'", 1),
    ("'1abc' = 1", 1),
    ("'a' = 'A'", 1),
    ("'a ' = 'a'", 1),
    ("'é' = 'E'", 1),
    ("'a' collate utf8mb4_bin = 'A'", 0),
    ("binary 'a' = 'A'", 0),
    ("upper('a') = 'a'", 1),
    ("'b' in ('A', 'B')", 1),
    ("'10' in (9, 10.0)", 1),
    ("'B' between 'a' and 'c'", 1),
    ("'a%b' like 'a\\\\%b'", 1),
    ("'axb' like 'a\\\\%b'", 0),
    ("'a%b' like 'a!%b' escape '!'", 1),
    ("5 is true", 1),
    ("0 is not true", 1),
    ("2 > all (select 1)", 1),
    ("2 > all (select 3 union select 1)", 0),
    ("1 = any (select 1)", 1),
    # Functions.
    ("if(1 > 2, 'y', 'n')", "n"),
    ("ifnull(null, 3)", 3),
    ("concat('a', 1, null)", None),
    ("concat('a', 1, 2.5)", "a12.5"),
    ("concat_ws('-', 1, null, 'x')", "1-x"),
    ("length('é')", 2),
    ("char_length('é')", 1),
    ("left('abc', 2)", "ab"),
    ("right('abc', 2)", "bc"),
    ("substring('abcdef' from 2 for 3)", "bcd"),
    ("substr('abcdef', 0, 2)", ""),
    ("substr('abcdef', -3, 2)", "de"),
    ("substring_index('www.a.com', '.', -2)", "a.com"),
    ("locate('B', 'abc')", 2),
    ("position('c' in 'abc')", 3),
    ("trim(both 'x' from 'xxaxx')", "a"),
    ("trim(trailing 'x' from 'axx')", "a"),
    ("lpad('5', 3, '0')", "005"),
    ("replace('aAa', 'a', 'b')", "bAb"),
    ("greatest(1, 2.5)", 2.5),
    ("least('b', 'A')", "A"),
    ("field('b', 'a', 'B')", 2),
    ("find_in_set('b', 'a,b,c')", 2),
    ("strcmp('a', 'B')", -1),
    ("format(1234567.891, 2)", "1,234,567.89"),
    ("round(2.5)", 3),
    ("round(-1.005, 2)", -1.01),
    ("round(1234, -2)", 1200),
    ("truncate(-1.999, 1)", -1.9),
    ("ceil(-1.5)", -1),
    ("floor(-1.5)", -2),
    ("sqrt(-1)", None),
    ("log(2, 8)", 3),
    ("cast('12abc' as signed)", 12),
    ("cast(2.5 as signed)", 3),
    ("cast('3.456' as decimal(5, 2))", 3.46),
    ("cast(5 as char)", "5"),
    ("cast('2020-1-2' as date)", "2020-01-02"),
    ("convert('7', signed)", 7),
    # Dates.
    ("year('2018-03-19')", 2018),
    ("year('nothing')", None),
    ("extract(month from '2018-03-19')", 3),
    ("dayname('2018-03-19')", "Monday"),
    ("dayofweek('2018-03-19')", 2),
    ("datediff('2020-03-01', '2020-02-01')", 29),
    ("timestampdiff(month, '2020-01-31', '2020-03-30')", 1),
    ("timestampdiff(year, '2000-02-29', '2020-02-28')", 19),
    ("date_add('2020-01-31', interval 1 month)", "2020-02-29"),
    ("date_sub('2020-01-01', interval 1 second)", "2019-12-31 23:59:59"),
    ("'2020-02-28' + interval 2 day", "2020-03-01"),
    ("date_format('2020-01-02 13:04:05', '%W %M %e %Y %h:%i %p')", "Thursday January 2 2020 01:04 PM"),
    ("last_day('2020-02-03')", "2020-02-29"),
    ("now()", "2023-04-28 07:04:13"),
    ("curdate()", "2023-04-28"),
    ("current_timestamp", "2023-04-28 07:04:13"),
    ("database()", "zoo"),
]


def test_expressions_have_the_value_of_mysql(query, subtests):
    for expression, value in EXPRESSIONS:
        with subtests.test(case=expression):
            ((found,),) = query(f"SELECT {expression}")
            assert found == (pytest.approx(value) if isinstance(value, float) else value)
            assert isinstance(found, float) == isinstance(value, float) or isinstance(value, int)


QUERIES = [
    # Text columns compare with numbers as numbers, and with texts as texts.
    ("SELECT id FROM keeper WHERE age > 8 ORDER BY id", [(1,), (2,), (4,)]),
    ("SELECT id FROM keeper WHERE age > '8' ORDER BY id", [(1,), (3,)]),
    ("SELECT id FROM keeper WHERE age > (SELECT AVG(age) FROM keeper) ORDER BY id", [(4,)]),
    ("SELECT id FROM keeper WHERE age IN (9, 10) ORDER BY id", [(1,), (2,)]),
    ("SELECT id FROM keeper WHERE age BETWEEN 9 AND 10 ORDER BY id", [(1,), (2,)]),
    ("SELECT id FROM keeper WHERE id = '2'", [(2,)]),
    ("SELECT COUNT(*) FROM keeper HAVING COUNT(*) > '4'", [(5,)]),
    # Case, accents and spaces at the end.
    ("SELECT id FROM keeper WHERE name = 'zoe'", [(2,)]),
    (
        "SELECT kind, COUNT(*) FROM animal WHERE kind IS NOT NULL GROUP BY kind ORDER BY 2 DESC",
        [("Cat", 2), ("dog", 1)],
    ),
    ("SELECT COUNT(DISTINCT kind) FROM animal", [(2,)]),
    ("SELECT COUNT(DISTINCT kind, keeper) FROM animal", [(3,)]),
    ("SELECT kind FROM animal WHERE id < 3 INTERSECT SELECT 'CAT'", [("Cat",)]),
    ("SELECT Name FROM keeper WHERE Name LIKE 'A%'", [("Ada",)]),
    ("SELECT KEEPER.NAME FROM Keeper WHERE ID = 1", [("Ada",)]),
    # Dates.
    ("SELECT id FROM keeper WHERE seen = '2018-3-19'", [(1,)]),
    ("SELECT id FROM keeper WHERE hired BETWEEN '2018-1-1' AND '2018-12-31'", [(1,)]),
    ("SELECT SUM(hired) FROM keeper", [(20180309 + 20190101,)]),
    # Reserved words, quotes, aliases.
    ("SELECT `order` FROM animal WHERE id = 1", [(1,)]),
    ('SELECT "it\'s", \'a "b"\'', [("it's", 'a "b"')]),
    ("SELECT k.Name AS 'the name' FROM keeper k WHERE k.id = 1;", [("Ada",)]),
    ("SELECT zoo.keeper.id FROM Zoo.keeper WHERE id = 1", [(1,)]),
    # Joins and sets.
    (
        "SELECT k.id, a.id FROM keeper k LEFT JOIN animal a ON a.keeper = k.id ORDER BY 1, 2 LIMIT 1, 2",
        [(1, 2), (2, 3)],
    ),
    ("SELECT a.id FROM keeper k RIGHT JOIN animal a ON a.keeper = k.id WHERE k.id IS NULL", [(4,)]),
    ("SELECT k.id FROM (keeper k JOIN animal a ON a.keeper = k.id) WHERE a.id = 3", [(2,)]),
    ("(SELECT 1 LIMIT 1) UNION (SELECT 2) ORDER BY 1 DESC", [(2,), (1,)]),
    ("SELECT 1 UNION SELECT 2 INTERSECT SELECT 3", [(1,)]),
    ("SELECT 1 FROM dual", [(1,)]),
    ("WITH a (n) AS (SELECT 2) SELECT n FROM a", [(2,)]),
    (
        "WITH RECURSIVE a AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM a WHERE n < 3) SELECT n FROM a",
        [(1,), (2,), (3,)],
    ),
    ("SELECT id FROM animal WHERE (keeper, kind) IN (SELECT 1, 'CAT')", [(1,)]),
    # Aggregates and windows.
    ("SELECT GROUP_CONCAT(kind ORDER BY id DESC SEPARATOR '/') FROM animal", [("CAT /dog/Cat",)]),
    ("SELECT GROUP_CONCAT(DISTINCT kind) FROM animal", [("Cat,dog",)]),
    ("SELECT VARIANCE(id), STDDEV_SAMP(id) FROM animal WHERE id < 3", [(0.25, 0.5**0.5)]),
    ("SELECT id, RANK() OVER (ORDER BY keeper) FROM animal ORDER BY id", [(1, 2), (2, 2), (3, 4), (4, 1)]),
    (
        "SELECT id, SUM(id) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM animal LIMIT 3",
        [(1, 1), (2, 3), (3, 5)],
    ),
]


def test_queries_have_the_rows_of_mysql(query, subtests):
    for statement, rows in QUERIES:
        with subtests.test(case=statement):
            assert query(statement) == rows


def test_a_decimal_column_holds_reals(query):
    assert query("SELECT weight, SUM(weight) FROM animal WHERE id = 2") == [(12.0, 12.0)]


def test_the_same_statement_always_has_the_same_result(query):
    statement = "SELECT id, RAND(), NOW() FROM animal ORDER BY RAND()"
    assert query(statement) == query(statement)


def test_what_is_more_than_the_limits_is_cut_and_said(small):
    runner = Runner(databases=small, limits=Limits(rows=3, characters=100))
    found = runner.run("SELECT id FROM keeper", database="Zoo")
    assert (len(found.rows), found.is_cut) == (3, True)
    found = runner.run("SELECT id FROM keeper LIMIT 3", database="Zoo")
    assert (len(found.rows), found.is_cut) == (3, False)
    found = runner.run("SELECT REPEAT('x', 40) FROM keeper", database="Zoo")
    assert (len(found.rows), found.is_cut) == (2, True)


FAILURES = [
    ("SELECT nothing FROM keeper", Reason.UNKNOWN_NAME, "there is no column nothing; DESCRIBE"),
    ("SELECT `nothing` FROM keeper", Reason.UNKNOWN_NAME, "there is no column nothing"),
    ("SELECT * FROM nothing", Reason.UNKNOWN_NAME, "no table 'nothing'; there are: keeper, animal"),
    ("SELECT id FROM keeper, animal", Reason.UNKNOWN_NAME, "id is in several tables"),
    ("SELECT * FROM Other.empty", Reason.UNKNOWN_NAME, "only the database Zoo can be read, not Other"),
    ("SELECT FROM keeper", Reason.SYNTAX, "syntax error near"),
    ("SELECT id FROM keeper WHERE", Reason.SYNTAX, "syntax error|not complete"),
    ("SELECT id\nFROM keeper WHERE )", Reason.SYNTAX, "line 2, column 19"),
    ("SELECT 'x", Reason.SYNTAX, "has no end"),
    ("SELECT MAX(1, 2)", Reason.SYNTAX, "GREATEST"),
    ("SELECT LOWER()", Reason.SYNTAX, "wrong number of arguments"),
    ("SELECT 1; SELECT 2", Reason.NOT_ONE_STATEMENT, "2 statements"),
    ("-- nothing", Reason.NOT_ONE_STATEMENT, "no statement"),
    ("SELECT soundex('a')", Reason.UNSUPPORTED, "the function soundex is not available"),
    ("SELECT id FROM keeper GROUP BY id WITH ROLLUP", Reason.UNSUPPORTED, "ROLLUP"),
    ("SELECT * FROM information_schema.tables", Reason.UNSUPPORTED, "use SHOW TABLES and DESCRIBE"),
    ("SELECT 9e307 * 10", Reason.TOO_LARGE, "out of range"),
    ("SELECT id FROM keeper UNION SELECT 1, 2", Reason.FAILED, "number of result columns"),
]


def test_failures_say_what_is_wrong(refusal, subtests):
    for statement, reason, message in FAILURES:
        with subtests.test(case=statement):
            found = refusal(statement)
            assert found.reason is reason
            assert re.search(message, found.message), found.message


def test_threads_share_a_runner(small):
    runner = Runner(databases=small)
    found, wrong = [], []

    def work(number):
        for _ in range(10):
            result = runner.run(f"SELECT {number} + COUNT(*) FROM keeper", database="Zoo")
            (found if isinstance(result, Result) and result.rows == ((number + 5,),) else wrong).append(result)
            failed = runner.run(f"SELECT nothing{number} FROM keeper", database="Zoo")
            (found if isinstance(failed, Failure) and f"nothing{number};" in failed.message else wrong).append(failed)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(found) == 120


def test_a_database_that_is_not_there_is_an_error_of_the_caller(small):
    with pytest.raises(KeyError):
        Runner(databases=small).run("SELECT 1", database="nothing")
