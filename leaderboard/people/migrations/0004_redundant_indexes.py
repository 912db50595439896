import django.db.models.deletion
from django.db import migrations, models

# Another index of the table begins with the same column. Django would also drop the foreign key and check it again.
_DROP = (
    'DROP INDEX CONCURRENTLY IF EXISTS people_invitation_team_id_6e30d989',
    'DROP INDEX CONCURRENTLY IF EXISTS people_membership_team_id_61ae9260',
)
_CREATE = (
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS people_invitation_team_id_6e30d989 ON people_invitation USING btree (team_id)',
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS people_membership_team_id_61ae9260 ON people_membership USING btree (team_id)',
)


class Migration(migrations.Migration):

    atomic = False
    dependencies = [
        ('people', '0003_weight_of_anchors'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(_DROP, _CREATE)],
            state_operations=[
                migrations.AlterField(
                    model_name='invitation',
                    name='team',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to='people.team'),
                ),
                migrations.AlterField(
                    model_name='membership',
                    name='team',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='people.team'),
                ),
            ],
        ),
    ]
