from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('platform', '0006_redundant_indexes'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='auditentry',
            name='an_entry_has_a_known_action',
        ),
        migrations.AlterField(
            model_name='auditentry',
            name='action',
            field=models.CharField(choices=[('submitted', 'Submitted a planner'), ('rerun', 'Re-ran an evaluation'), ('regraded', 'Regraded an evaluation'), ('resumed', 'Resumed an evaluation'), ('accepted', 'Accepted infrastructure faults'), ('cancelled', 'Cancelled an evaluation'), ('requeued', 'Requeued an evaluation'), ('priority_set', 'Set the priority of an evaluation'), ('visibility_set', "Changed a submission's visibility"), ('embargo_ended', 'Released an embargo on its date'), ('hidden', 'Hid an evaluation'), ('shown_again', 'Unhid an evaluation'), ('profile_requested', 'Requested a reliability profile'), ('profile_cancelled', 'Cancelled a reliability profile'), ('header_set', 'Set the secret header of a planner'), ('header_removed', 'Removed the secret header of a planner'), ('weight_set', 'Set the weight of a user or a team'), ('token_made', 'Created an API token'), ('token_revoked', 'Revoked an API token'), ('worker_token_made', 'Created a worker token'), ('worker_token_revoked', 'Revoked a worker token'), ('webhook_added', 'Added a webhook'), ('webhook_removed', 'Removed a webhook'), ('message_sent_again', 'Sent a message again'), ('team_made', 'Made a team'), ('team_invited', 'Invited a user to a team'), ('team_invitation_ended', 'Declined or withdrew an invitation to a team'), ('team_joined', 'Joined a team'), ('team_left', 'Left a team'), ('team_removed', 'Removed a user from a team'), ('password_changed', 'Changed the password'), ('password_reset', 'Reset the password by email'), ('second_factor_removed', "Removed a user's second factor"), ('team_described', "Changed whether a team's members are public"), ('account_closed', 'Closed an account'), ('account_reopened', 'Reopened a closed account'), ('account_deleted', 'Deleted an account'), ('team_handed_over', 'Transferred a team'), ('season_announced', 'Announced a season'), ('season_signed', 'Signed the announcement of a season'), ('season_closed', 'Closed a season'), ('sealed_added', 'Added a sealed request'), ('sealed_derived', 'Had parsers read a sealed request'), ('sealed_reviewed', 'Reviewed a sealed request'), ('sealed_withdrawn', 'Withdrew a sealed request')], max_length=40),
        ),
        AddConstraintNotValid(
            model_name='auditentry',
            constraint=models.CheckConstraint(condition=models.Q(('action__in', ['submitted', 'rerun', 'regraded', 'resumed', 'accepted', 'cancelled', 'requeued', 'priority_set', 'visibility_set', 'embargo_ended', 'hidden', 'shown_again', 'profile_requested', 'profile_cancelled', 'header_set', 'header_removed', 'weight_set', 'token_made', 'token_revoked', 'worker_token_made', 'worker_token_revoked', 'webhook_added', 'webhook_removed', 'message_sent_again', 'team_made', 'team_invited', 'team_invitation_ended', 'team_joined', 'team_left', 'team_removed', 'password_changed', 'password_reset', 'second_factor_removed', 'team_described', 'account_closed', 'account_reopened', 'account_deleted', 'team_handed_over', 'season_announced', 'season_signed', 'season_closed', 'sealed_added', 'sealed_derived', 'sealed_reviewed', 'sealed_withdrawn'])), name='an_entry_has_a_known_action'),
        ),
    ]
