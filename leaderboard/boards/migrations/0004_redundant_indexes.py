import django.db.models.deletion
from django.db import migrations, models

# Another index of the table begins with the same column. Django would also drop the foreign key and check it again.
_DROP = (
    'DROP INDEX CONCURRENTLY IF EXISTS boards_snapshot_suite_id_439dbc2f',
    'DROP INDEX CONCURRENTLY IF EXISTS boards_withdrawal_suite_6088c086',
    'DROP INDEX CONCURRENTLY IF EXISTS boards_withdrawal_suite_6088c086_like',
)
_CREATE = (
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS boards_snapshot_suite_id_439dbc2f ON boards_snapshot USING btree (suite_id)',
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS boards_withdrawal_suite_6088c086 ON boards_withdrawal USING btree (suite)',
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS boards_withdrawal_suite_6088c086_like ON boards_withdrawal USING btree (suite varchar_pattern_ops)',
)


class Migration(migrations.Migration):

    atomic = False
    dependencies = [
        ('boards', '0003_device_class'),
        ('catalog', '0004_redundant_indexes'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(_DROP, _CREATE)],
            state_operations=[
                migrations.AlterField(
                    model_name='snapshot',
                    name='suite',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='snapshots', to='catalog.suite'),
                ),
                migrations.AlterField(
                    model_name='withdrawal',
                    name='suite',
                    field=models.SlugField(db_index=False),
                ),
            ],
        ),
    ]
