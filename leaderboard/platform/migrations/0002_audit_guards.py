"""The audit log is only ever added to."""

from django.db import migrations

# Raised as check_violation, so that Django tells of an IntegrityError as with every other constraint. The setting lasts
# for one transaction, and what was done, when and to what can never be changed.
REFUSE = """
CREATE FUNCTION planarena_refuse_changing_the_audit_log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND current_setting('planarena.erasing_a_person', true) = 'on'
        AND (NEW.id, NEW.at, NEW.action, NEW.target_kind, NEW.target)
            IS NOT DISTINCT FROM (OLD.id, OLD.at, OLD.action, OLD.target_kind, OLD.target) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'audit entry % cannot be changed or deleted: the log is only ever added to', OLD.id
        USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
END $$;

CREATE TRIGGER the_audit_log_is_append_only
    BEFORE UPDATE OR DELETE ON platform_auditentry
    FOR EACH ROW EXECUTE FUNCTION planarena_refuse_changing_the_audit_log();
"""

ALLOW = """
DROP TRIGGER the_audit_log_is_append_only ON platform_auditentry;
DROP FUNCTION planarena_refuse_changing_the_audit_log();
"""


class Migration(migrations.Migration):
    dependencies = [("platform", "0001_initial")]

    operations = [migrations.RunSQL(REFUSE, ALLOW)]
