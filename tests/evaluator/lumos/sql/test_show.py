"""SHOW and DESCRIBE answer as InterCode's server does."""

from evaluator.lumos.sql.outcome import Reason

KEEPER = [
    ("id", "int", "NO", "PRI", None, "auto_increment"),
    ("Name", "varchar(40)", "YES", "UNI", None, ""),
    ("age", "text", "YES", "", None, ""),
    ("hired", "date", "YES", "", None, ""),
    ("seen", "datetime", "YES", "", None, ""),
]


SHOWN = [
    ("SHOW TABLES", [("animal",), ("keeper",)]),
    ("show tables;", [("animal",), ("keeper",)]),
    ("-- all\nSHOW  TABLES FROM `zoo`", [("animal",), ("keeper",)]),
    ("/* all */ SHOW FULL TABLES", [("animal", "BASE TABLE"), ("keeper", "BASE TABLE")]),
    ("SHOW TABLES LIKE 'KEEP%'", [("keeper",)]),
    ("SHOW TABLES LIKE '_eep%r'", [("keeper",)]),
    ("SHOW TABLES LIKE '%%x%'", []),
    ("SHOW DATABASES", [("other",), ("zoo",)]),
    ("DESCRIBE keeper", KEEPER),
    ("DESC Keeper", KEEPER),
    ("explain `keeper`", KEEPER),
    ("DESCRIBE zoo.keeper", KEEPER),
    ("DESCRIBE keeper Name", KEEPER[1:2]),
    ("SHOW COLUMNS FROM keeper", KEEPER),
    ("SHOW FIELDS IN keeper FROM zoo LIKE '%e%d'", KEEPER[3:4]),
    ("DESCRIBE animal `weight`", [("weight", "decimal(19,4)", "YES", "", "0.0000", "")]),
    ("DESCRIBE animal keeper", [("keeper", "int", "YES", "MUL", None, "")]),
]


def test_what_is_shown(query, subtests):
    for statement, rows in SHOWN:
        with subtests.test(case=statement):
            assert query(statement) == rows


def test_show_create_table_is_the_statement_of_the_dump(query):
    ((name, statement),) = query("SHOW CREATE TABLE Animal")
    assert name == "animal"
    assert statement.startswith("CREATE TABLE `animal` (")
    assert "FOREIGN KEY (`keeper`) REFERENCES `keeper` (`id`)" in statement


NOT_SHOWN = [
    ("DESCRIBE nothing", Reason.UNKNOWN_NAME),
    ("SHOW TABLES FROM other", Reason.UNKNOWN_NAME),
    ("DESCRIBE other.empty", Reason.UNKNOWN_NAME),
    ("SHOW INDEX FROM keeper", Reason.UNSUPPORTED),
    ("SHOW GRANTS", Reason.UNSUPPORTED),
    ("EXPLAIN SELECT 1", Reason.UNSUPPORTED),
    ("SHOW TABLES; SHOW TABLES", Reason.UNSUPPORTED),
    ("SHOW", Reason.UNSUPPORTED),
]


def test_what_is_not_shown(refusal, subtests):
    for statement, reason in NOT_SHOWN:
        with subtests.test(case=statement):
            assert refusal(statement).reason is reason


def test_a_hostile_pattern_is_no_trouble(query):
    assert query(f"SHOW TABLES LIKE '{'%a' * 900}%'") == []
