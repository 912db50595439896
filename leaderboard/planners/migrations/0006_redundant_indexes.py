import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

# Another index of the table begins with the same column. Django would also drop the foreign key and check it again.
_DROP = (
    'DROP INDEX CONCURRENTLY IF EXISTS planners_checkpointupload_owner_id_17f17118',
    'DROP INDEX CONCURRENTLY IF EXISTS planners_fileplan_file_id_2f380b55',
    'DROP INDEX CONCURRENTLY IF EXISTS planners_planner_owner_id_ee56bb1b',
    'DROP INDEX CONCURRENTLY IF EXISTS planners_plansfile_owner_id_0ee73bad',
    'DROP INDEX CONCURRENTLY IF EXISTS planners_rolesecret_planner_id_83998e25',
)
_CREATE = (
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS planners_checkpointupload_owner_id_17f17118 ON planners_checkpointupload USING btree (owner_id)',
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS planners_fileplan_file_id_2f380b55 ON planners_fileplan USING btree (file_id)',
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS planners_planner_owner_id_ee56bb1b ON planners_planner USING btree (owner_id)',
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS planners_plansfile_owner_id_0ee73bad ON planners_plansfile USING btree (owner_id)',
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS planners_rolesecret_planner_id_83998e25 ON planners_rolesecret USING btree (planner_id)',
)


class Migration(migrations.Migration):

    atomic = False
    dependencies = [
        ('planners', '0005_worker_gpus'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(_DROP, _CREATE)],
            state_operations=[
                migrations.AlterField(
                    model_name='checkpointupload',
                    name='owner',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='checkpoints', to=settings.AUTH_USER_MODEL),
                ),
                migrations.AlterField(
                    model_name='fileplan',
                    name='file',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='plans', to='planners.plansfile'),
                ),
                migrations.AlterField(
                    model_name='planner',
                    name='owner',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='planners', to=settings.AUTH_USER_MODEL),
                ),
                migrations.AlterField(
                    model_name='plansfile',
                    name='owner',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='plans_files', to=settings.AUTH_USER_MODEL),
                ),
                migrations.AlterField(
                    model_name='rolesecret',
                    name='planner',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='role_secrets', to='planners.planner'),
                ),
            ],
        ),
    ]
