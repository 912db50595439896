"""Final states stay, leases and attempts agree, and what was ranked stays public."""

from django.db import migrations

FINAL_STATES = {
    "evaluation": "'completed', 'failed', 'cancelled'",
    "attempt": "'completed', 'lost', 'failed', 'cancelled'",
    "shard": "'done'",
}

# Raised as check_violation, so that Django raises IntegrityError as for other constraints.
REFUSE_LEAVING = """
CREATE FUNCTION planarena_refuse_leaving_a_final_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% %: % is final and cannot become %', TG_TABLE_NAME, OLD.id, OLD.state, NEW.state
        USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
END $$;
"""

# Deferred to the commit, because leasing and ending an attempt write the two rows one after the other.
CHECK_LEASES = """
CREATE FUNCTION planarena_check_leases() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    shard bigint := CASE WHEN TG_TABLE_NAME = 'evaluations_shard'
                         THEN (to_jsonb(NEW) ->> 'id')::bigint ELSE (to_jsonb(NEW) ->> 'shard_id')::bigint END;
    shard_state text;
    evaluation_state text;
    is_live boolean;
BEGIN
    SELECT s.state, e.state, EXISTS (SELECT 1 FROM evaluations_attempt a WHERE a.shard_id = s.id AND a.state = 'live')
        INTO shard_state, evaluation_state, is_live
        FROM evaluations_shard s JOIN evaluations_evaluation e ON e.id = s.evaluation_id WHERE s.id = shard;
    IF is_live AND shard_state <> 'leased' THEN
        RAISE EXCEPTION 'shard % is % but has a live attempt', shard, shard_state
            USING ERRCODE = 'check_violation', CONSTRAINT = 'a_live_attempt_holds_a_leased_shard', TABLE = TG_TABLE_NAME;
    END IF;
    IF NOT is_live AND shard_state = 'leased' AND evaluation_state IN ('launching', 'running') THEN
        RAISE EXCEPTION 'shard % is leased but has no live attempt: nobody would ever run it', shard
            USING ERRCODE = 'check_violation', CONSTRAINT = 'a_leased_shard_has_a_live_attempt', TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER leases_after_a_change_of_attempts
    AFTER INSERT OR UPDATE OF state, shard_id ON evaluations_attempt
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION planarena_check_leases();
CREATE CONSTRAINT TRIGGER leases_after_a_change_of_shards
    AFTER INSERT OR UPDATE OF state ON evaluations_shard
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION planarena_check_leases();
"""

DROP_LEASES = """
DROP TRIGGER leases_after_a_change_of_attempts ON evaluations_attempt;
DROP TRIGGER leases_after_a_change_of_shards ON evaluations_shard;
DROP FUNCTION planarena_check_leases();
"""


def _keep_final(table: str) -> migrations.RunSQL:
    name = f"final_states_of_{table}s_stay"
    return migrations.RunSQL(
        f"CREATE TRIGGER {name} BEFORE UPDATE OF state ON evaluations_{table} FOR EACH ROW "
        f"WHEN (OLD.state IN ({FINAL_STATES[table]}) AND NEW.state IS DISTINCT FROM OLD.state) "
        "EXECUTE FUNCTION planarena_refuse_leaving_a_final_state();",
        f"DROP TRIGGER {name} ON evaluations_{table};",
    )


# Raised as check_violation, so that Django raises IntegrityError as for other constraints.
REFUSE_HIDING = """
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

ALLOW_HIDING = """
DROP TRIGGER what_was_ranked_stays_public ON evaluations_submission;
DROP FUNCTION planarena_refuse_hiding_what_was_ranked();
"""


class Migration(migrations.Migration):
    dependencies = [("evaluations", "0002_initial")]

    operations = [
        migrations.RunSQL(REFUSE_LEAVING, "DROP FUNCTION planarena_refuse_leaving_a_final_state();"),
        *[_keep_final(table) for table in FINAL_STATES],
        migrations.RunSQL(CHECK_LEASES, DROP_LEASES),
        migrations.RunSQL(REFUSE_HIDING, ALLOW_HIDING),
    ]
