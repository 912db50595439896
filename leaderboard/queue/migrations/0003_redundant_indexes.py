import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

# Another index of the table begins with the same column. Django would also drop the foreign key and check it again.
_DROP = (
    'DROP INDEX CONCURRENTLY IF EXISTS queue_agentturn_evaluation_id_d0405dca',
    'DROP INDEX CONCURRENTLY IF EXISTS queue_job_owner_id_e96a3ea6',
    'DROP INDEX CONCURRENTLY IF EXISTS queue_logchunk_log_id_dd72f9e0',
)
_CREATE = (
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS queue_agentturn_evaluation_id_d0405dca ON queue_agentturn USING btree (evaluation_id)',
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS queue_job_owner_id_e96a3ea6 ON queue_job USING btree (owner_id)',
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS queue_logchunk_log_id_dd72f9e0 ON queue_logchunk USING btree (log_id)',
)


class Migration(migrations.Migration):

    atomic = False
    dependencies = [
        ('evaluations', '0014_redundant_indexes'),
        ('queue', '0002_doctor_reports'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(_DROP, _CREATE)],
            state_operations=[
                migrations.AlterField(
                    model_name='agentturn',
                    name='evaluation',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='agent_turns', to='evaluations.evaluation'),
                ),
                migrations.AlterField(
                    model_name='job',
                    name='owner',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='jobs', to=settings.AUTH_USER_MODEL),
                ),
                migrations.AlterField(
                    model_name='logchunk',
                    name='log',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='chunks', to='queue.attemptlog'),
                ),
            ],
        ),
    ]
