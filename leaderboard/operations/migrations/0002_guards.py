"""Attempts that are deleted stay counted."""

from django.db import migrations

# A trigger per statement, not per row: deleting many attempts locks one counter per state, once.
COUNT = """
CREATE FUNCTION planarena_count_deleted_attempts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO operations_endedattempts AS known (state, deleted)
    SELECT state, count(*) FROM gone WHERE state <> 'live' GROUP BY state ORDER BY state
    ON CONFLICT (state) DO UPDATE SET deleted = known.deleted + EXCLUDED.deleted;
    RETURN NULL;
END $$;

CREATE TRIGGER deleted_attempts_stay_counted
    AFTER DELETE ON evaluations_attempt REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION planarena_count_deleted_attempts();
"""

FORGET = """
DROP TRIGGER deleted_attempts_stay_counted ON evaluations_attempt;
DROP FUNCTION planarena_count_deleted_attempts();
"""


class Migration(migrations.Migration):
    dependencies = [("evaluations", "0003_guards"), ("operations", "0001_initial")]

    operations = [migrations.RunSQL(COUNT, FORGET)]
