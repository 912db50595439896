"""Note of every evaluation that a snapshot holds when the first one did, and refuse to make it private from then on."""

from django.db import migrations

NOTE = """
UPDATE evaluations_evaluation e SET first_ranked = ranked.first
FROM (
    SELECT (line ->> 'evaluation')::uuid AS evaluation, min(s.created) AS first
    FROM boards_snapshot s CROSS JOIN LATERAL jsonb_array_elements(s.content -> 'rows') AS line
    GROUP BY 1
) ranked
WHERE e.id = ranked.evaluation AND e.first_ranked IS NULL;
"""

# Raised as check_violation, so that Django tells of an IntegrityError as with every other constraint.
REFUSE = """
CREATE FUNCTION planarena_refuse_hiding_what_was_ranked() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM evaluations_evaluation WHERE submission_id = OLD.id AND first_ranked IS NOT NULL
    ) THEN
        RAISE EXCEPTION 'submission %: a snapshot holds it, so that it stays public', OLD.id
            USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER what_was_ranked_stays_public
    BEFORE UPDATE OF visibility ON evaluations_submission FOR EACH ROW
    WHEN (OLD.visibility = 'public' AND NEW.visibility <> 'public')
    EXECUTE FUNCTION planarena_refuse_hiding_what_was_ranked();
"""

ALLOW = """
DROP TRIGGER what_was_ranked_stays_public ON evaluations_submission;
DROP FUNCTION planarena_refuse_hiding_what_was_ranked();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('boards', '0001_initial'),
        ('evaluations', '0011_visibility'),
    ]

    operations = [migrations.RunSQL(NOTE, migrations.RunSQL.noop), migrations.RunSQL(REFUSE, ALLOW)]
