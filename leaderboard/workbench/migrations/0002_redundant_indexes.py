import django.db.models.deletion
from django.db import migrations, models

# Another index of the table begins with the same column. Django would also drop the foreign key and check it again.
_DROP = (
    'DROP INDEX CONCURRENTLY IF EXISTS workbench_runevent_run_id_aadc1930',
    'DROP INDEX CONCURRENTLY IF EXISTS workbench_runfile_run_id_e7e3efe1',
)
_CREATE = (
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS workbench_runevent_run_id_aadc1930 ON workbench_runevent USING btree (run_id)',
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS workbench_runfile_run_id_e7e3efe1 ON workbench_runfile USING btree (run_id)',
)


class Migration(migrations.Migration):

    atomic = False
    dependencies = [
        ('workbench', '0001_initial'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(_DROP, _CREATE)],
            state_operations=[
                migrations.AlterField(
                    model_name='runevent',
                    name='run',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='events', to='workbench.run'),
                ),
                migrations.AlterField(
                    model_name='runfile',
                    name='run',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='files', to='workbench.run'),
                ),
            ],
        ),
    ]
