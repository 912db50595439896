import django.db.models.deletion
from django.db import migrations, models

# Another index of the table begins with the same column. Django would also drop the foreign key and check it again.
_DROP = (
    'DROP INDEX CONCURRENTLY IF EXISTS catalog_sealedentry_suite_1c8548ba',
    'DROP INDEX CONCURRENTLY IF EXISTS catalog_sealedentry_suite_1c8548ba_like',
    'DROP INDEX CONCURRENTLY IF EXISTS catalog_seasonannouncement_season_id_41966413',
    'DROP INDEX CONCURRENTLY IF EXISTS catalog_seasonannouncement_season_id_41966413_like',
    'DROP INDEX CONCURRENTLY IF EXISTS catalog_seasondata_season_id_07338d64',
    'DROP INDEX CONCURRENTLY IF EXISTS catalog_seasondata_season_id_07338d64_like',
    'DROP INDEX CONCURRENTLY IF EXISTS catalog_task_suite_id_6a53221c',
)
_CREATE = (
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS catalog_sealedentry_suite_1c8548ba ON catalog_sealedentry USING btree (suite)',
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS catalog_sealedentry_suite_1c8548ba_like ON catalog_sealedentry USING btree (suite varchar_pattern_ops)',
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS catalog_seasonannouncement_season_id_41966413 ON catalog_seasonannouncement USING btree (season_id)',
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS catalog_seasonannouncement_season_id_41966413_like ON catalog_seasonannouncement USING btree (season_id varchar_pattern_ops)',
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS catalog_seasondata_season_id_07338d64 ON catalog_seasondata USING btree (season_id)',
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS catalog_seasondata_season_id_07338d64_like ON catalog_seasondata USING btree (season_id varchar_pattern_ops)',
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS catalog_task_suite_id_6a53221c ON catalog_task USING btree (suite_id)',
)


class Migration(migrations.Migration):

    atomic = False
    dependencies = [
        ('catalog', '0003_signed_lock'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(_DROP, _CREATE)],
            state_operations=[
                migrations.AlterField(
                    model_name='sealedentry',
                    name='suite',
                    field=models.SlugField(db_index=False),
                ),
                migrations.AlterField(
                    model_name='seasonannouncement',
                    name='season',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='announcements', to='catalog.season'),
                ),
                migrations.AlterField(
                    model_name='seasondata',
                    name='season',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='suites', to='catalog.season'),
                ),
                migrations.AlterField(
                    model_name='task',
                    name='suite',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='tasks', to='catalog.suite'),
                ),
            ],
        ),
    ]
