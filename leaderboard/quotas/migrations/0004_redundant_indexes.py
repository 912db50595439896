import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

# Another index of the table begins with the same column. Django would also drop the foreign key and check it again.
_DROP = (
    'DROP INDEX CONCURRENTLY IF EXISTS quotas_quotabalance_team_id_40dc37bc',
    'DROP INDEX CONCURRENTLY IF EXISTS quotas_quotabalance_user_id_13827dae',
)
_CREATE = (
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS quotas_quotabalance_team_id_40dc37bc ON quotas_quotabalance USING btree (team_id)',
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS quotas_quotabalance_user_id_13827dae ON quotas_quotabalance USING btree (user_id)',
)


class Migration(migrations.Migration):

    atomic = False
    dependencies = [
        ('people', '0004_redundant_indexes'),
        ('quotas', '0003_validated_constraints'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(_DROP, _CREATE)],
            state_operations=[
                migrations.AlterField(
                    model_name='quotabalance',
                    name='team',
                    field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='quota_balances', to='people.team'),
                ),
                migrations.AlterField(
                    model_name='quotabalance',
                    name='user',
                    field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='quota_balances', to=settings.AUTH_USER_MODEL),
                ),
            ],
        ),
    ]
