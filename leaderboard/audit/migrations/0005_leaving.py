from django.db import migrations, models

# The setting lasts for one transaction, and what was done, when and to what can never be changed.
LET_NAMES_GO = """
CREATE OR REPLACE FUNCTION planarena_refuse_changing_the_audit_log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND current_setting('planarena.erasing_a_person', true) = 'on'
        AND (NEW.id, NEW.at, NEW.action, NEW.target_kind, NEW.target)
            IS NOT DISTINCT FROM (OLD.id, OLD.at, OLD.action, OLD.target_kind, OLD.target) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'audit entry % cannot be changed or deleted: the log is only ever added to', OLD.id
        USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
END $$;
"""
KEEP_NAMES = """
CREATE OR REPLACE FUNCTION planarena_refuse_changing_the_audit_log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit entry % cannot be changed or deleted: the log is only ever added to', OLD.id
        USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
END $$;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('audit', '0004_passwords'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='auditentry',
            name='an_entry_has_a_known_action',
        ),
        migrations.AlterField(
            model_name='auditentry',
            name='action',
            field=models.CharField(choices=[('submitted', 'Submitted a planner'), ('rerun', 'Ran an evaluation again'), ('resumed', 'Resumed an evaluation'), ('accepted', 'Accepted infrastructure faults'), ('cancelled', 'Cancelled an evaluation'), ('requeued', 'Requeued an evaluation'), ('priority_set', 'Set the priority of an evaluation'), ('visibility_set', 'Set who sees a submission'), ('embargo_ended', 'Published what was under embargo, on its date'), ('hidden', 'Took an evaluation off the boards'), ('shown_again', 'Put a hidden evaluation back on the boards'), ('header_set', 'Set the secret header of a planner'), ('header_removed', 'Removed the secret header of a planner'), ('weight_set', 'Set the weight of a user or a team'), ('token_made', 'Made an API token'), ('token_revoked', 'Revoked an API token'), ('worker_token_made', 'Made a worker token'), ('worker_token_revoked', 'Revoked a worker token'), ('webhook_added', 'Added a webhook'), ('webhook_removed', 'Removed a webhook'), ('message_sent_again', 'Had a message sent again'), ('team_made', 'Made a team'), ('team_invited', 'Invited somebody to a team'), ('team_invitation_ended', 'Declined or withdrew an invitation to a team'), ('team_joined', 'Joined a team'), ('team_left', 'Left a team'), ('team_removed', 'Removed somebody from a team'), ('password_changed', 'Changed the password'), ('password_reset', 'Reset the password by mail'), ('second_factor_removed', "Took somebody's second factor off"), ('team_described', 'Changed whether everybody sees who is in a team'), ('account_closed', 'Closed an account'), ('account_reopened', 'Opened a closed account again'), ('account_deleted', 'Deleted an account'), ('team_handed_over', 'Handed a team over')], max_length=40),
        ),
        migrations.AddConstraint(
            model_name='auditentry',
            constraint=models.CheckConstraint(condition=models.Q(('action__in', ['submitted', 'rerun', 'resumed', 'accepted', 'cancelled', 'requeued', 'priority_set', 'visibility_set', 'embargo_ended', 'hidden', 'shown_again', 'header_set', 'header_removed', 'weight_set', 'token_made', 'token_revoked', 'worker_token_made', 'worker_token_revoked', 'webhook_added', 'webhook_removed', 'message_sent_again', 'team_made', 'team_invited', 'team_invitation_ended', 'team_joined', 'team_left', 'team_removed', 'password_changed', 'password_reset', 'second_factor_removed', 'team_described', 'account_closed', 'account_reopened', 'account_deleted', 'team_handed_over'])), name='an_entry_has_a_known_action'),
        ),
        migrations.RunSQL(LET_NAMES_GO, KEEP_NAMES),
    ]
