import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

# Another index of the table begins with the same column. Django would also drop the foreign key and check it again.
_DROP = (
    'DROP INDEX CONCURRENTLY IF EXISTS evaluations_attempt_shard_id_5f689a32',
    'DROP INDEX CONCURRENTLY IF EXISTS evaluations_idempotencykey_user_id_9cb2880a',
    'DROP INDEX CONCURRENTLY IF EXISTS evaluations_shard_evaluation_id_95e93469',
    'DROP INDEX CONCURRENTLY IF EXISTS evaluations_taskresult_evaluation_id_f63058dd',
)
_CREATE = (
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS evaluations_attempt_shard_id_5f689a32 ON evaluations_attempt USING btree (shard_id)',
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS evaluations_idempotencykey_user_id_9cb2880a ON evaluations_idempotencykey USING btree (user_id)',
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS evaluations_shard_evaluation_id_95e93469 ON evaluations_shard USING btree (evaluation_id)',
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS evaluations_taskresult_evaluation_id_f63058dd ON evaluations_taskresult USING btree (evaluation_id)',
)

# Rows of these tables change several times each: with the default of 20 %, the dead rows of a large table fill its pages for weeks.
_HOT = ('evaluations_attempt', 'evaluations_evaluation', 'evaluations_shard')
_OFTEN = tuple(
    f'ALTER TABLE {table} SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02)'
    for table in _HOT
)
_SELDOM = tuple(
    f'ALTER TABLE {table} RESET (autovacuum_vacuum_scale_factor, autovacuum_analyze_scale_factor)' for table in _HOT
)


class Migration(migrations.Migration):

    atomic = False
    dependencies = [
        ('evaluations', '0013_validated_constraints'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(_DROP, _CREATE)],
            state_operations=[
                migrations.AlterField(
                    model_name='attempt',
                    name='shard',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='attempts', to='evaluations.shard'),
                ),
                migrations.AlterField(
                    model_name='idempotencykey',
                    name='user',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='idempotency_keys', to=settings.AUTH_USER_MODEL),
                ),
                migrations.AlterField(
                    model_name='shard',
                    name='evaluation',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='shards', to='evaluations.evaluation'),
                ),
                migrations.AlterField(
                    model_name='taskresult',
                    name='evaluation',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='results', to='evaluations.evaluation'),
                ),
            ],
        ),
        migrations.RunSQL(_OFTEN, _SELDOM),
    ]
