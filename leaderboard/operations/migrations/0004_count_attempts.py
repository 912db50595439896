"""Attempts that were counted are not counted again when they are deleted."""

from django.db import migrations

COUNT = """
CREATE OR REPLACE FUNCTION planarena_count_deleted_attempts() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    counted timestamptz;
BEGIN
    -- Waits for a count that is under way.
    SELECT at INTO counted FROM operations_moment WHERE name = 'attempts_counted' FOR SHARE;
    INSERT INTO operations_endedattempts AS known (state, deleted)
    SELECT state, count(*) FROM gone
    WHERE state <> 'live' AND leased_at >= coalesce(counted, '-infinity') GROUP BY state ORDER BY state
    ON CONFLICT (state) DO UPDATE SET deleted = known.deleted + EXCLUDED.deleted;
    RETURN NULL;
END $$;
"""

BEFORE = """
CREATE OR REPLACE FUNCTION planarena_count_deleted_attempts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO operations_endedattempts AS known (state, deleted)
    SELECT state, count(*) FROM gone WHERE state <> 'live' GROUP BY state ORDER BY state
    ON CONFLICT (state) DO UPDATE SET deleted = known.deleted + EXCLUDED.deleted;
    RETURN NULL;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("operations", "0003_status_history")]

    operations = [migrations.RunSQL(COUNT, BEFORE)]
