"""What the tables hold and refuse: columns, constraints, indexes, triggers and functions, as `tables.txt` lists them.

Migrations may be rewritten; what they lead to may change only together with that list:

    WRITE_TABLES=1 ./planarena test tests/leaderboard/platform/test_tables.py
"""

import os
from pathlib import Path

import pytest
from django.apps import apps
from django.db import connection

LISTED = Path(__file__).with_name("tables.txt")
QUERIES = {
    "column": """
        SELECT k.relname, k.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
            || CASE WHEN a.attnotnull THEN ' not null' ELSE '' END
            || COALESCE(' default ' || pg_get_expr(d.adbin, d.adrelid), '')
            || CASE WHEN a.attidentity <> '' THEN ' identity' ELSE '' END
        FROM pg_class k
        JOIN pg_attribute a ON a.attrelid = k.oid AND a.attnum > 0 AND NOT a.attisdropped
        LEFT JOIN pg_attrdef d ON d.adrelid = k.oid AND d.adnum = a.attnum
        WHERE k.relkind = 'r'""",
    # Names of foreign and unique keys contain a hash of Django's; those of checks are ours.
    "constraint": """
        SELECT k.relname, k.relname || ' ' || CASE c.contype WHEN 'c' THEN c.conname || ' ' ELSE '' END
            || pg_get_constraintdef(c.oid)
        FROM pg_constraint c JOIN pg_class k ON k.oid = c.conrelid WHERE c.contype <> 'n'""",
    "index": r"""
        SELECT tablename, regexp_replace(indexdef, ' INDEX \S+ ON ', ' INDEX ON ') FROM pg_indexes
        WHERE schemaname = 'public'""",
    "trigger": """
        SELECT k.relname, pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class k ON k.oid = t.tgrelid
        WHERE NOT t.tgisinternal""",
    "storage": """
        SELECT relname, relname || ' ' || CASE relpersistence WHEN 'u' THEN 'unlogged' ELSE 'logged' END
            || COALESCE(' ' || array_to_string(reloptions, ', '), '')
        FROM pg_class WHERE relkind = 'r'""",
}
FUNCTIONS = r"""
    SELECT 'function: ' || proname || ' ' || regexp_replace(prosrc, '\s+', ' ', 'g') FROM pg_proc
    WHERE proname LIKE 'planarena%'"""


@pytest.mark.django_db
def test_the_tables_hold_and_refuse_what_is_listed():
    found = described()
    if os.environ.get("WRITE_TABLES"):
        LISTED.write_text("\n".join(found) + "\n")

    listed = LISTED.read_text().splitlines()

    assert [line for line in found if line not in listed] == [], "not listed in tables.txt"
    assert [line for line in listed if line not in found] == [], "listed, but not in the database"


@pytest.mark.django_db
def test_constraints_hold_for_earlier_rows_too():
    assert [line for line in described() if line.endswith("NOT VALID")] == [], "no migration validates them"


@pytest.mark.django_db
def test_no_index_repeats_the_beginning_of_another():
    """Every insert pays for it. Those with `varchar_pattern_ops` are Django's, beside each text that is unique."""
    with connection.cursor() as cursor:
        cursor.execute(
            r"""
            SELECT tablename, substring(indexdef from '\((.*)\)$'), indexdef LIKE 'CREATE UNIQUE%'
            FROM pg_indexes WHERE schemaname = 'public' AND indexdef LIKE '%USING btree%'
                AND indexdef NOT LIKE '% WHERE %' AND indexdef NOT LIKE '% INCLUDE %'"""
        )
        indexes = cursor.fetchall()
    own = {model._meta.db_table for model in apps.get_models() if model.__module__.startswith("leaderboard.")}
    repeated = [
        f"{table} ({columns})"
        for table, columns, is_unique in indexes
        for other_table, others, other_is_unique in indexes
        if table == other_table and table in own and not is_unique
        if others.startswith(f"{columns}, ") or (others == columns and other_is_unique)
    ]
    assert repeated == []


def described() -> list[str]:
    """What the database holds of the site's own tables, sorted."""
    own = {model._meta.db_table for model in apps.get_models() if model.__module__.startswith("leaderboard.")}
    lines = []
    with connection.cursor() as cursor:
        for kind, query in QUERIES.items():
            cursor.execute(query)
            lines += [f"{kind}: {line}" for table, line in cursor.fetchall() if table in own]
        cursor.execute(FUNCTIONS)
        lines += [row[0] for row in cursor.fetchall()]
    return sorted(lines)
