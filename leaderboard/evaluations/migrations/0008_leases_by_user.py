import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

USERS_OF_ATTEMPTS = """
UPDATE evaluations_attempt a SET user_id = u.submitted_by_id
FROM evaluations_shard s JOIN evaluations_evaluation e ON e.id = s.evaluation_id
JOIN evaluations_submission u ON u.id = e.submission_id
WHERE s.id = a.shard_id
"""


class Migration(migrations.Migration):

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('evaluations', '0007_reruns_teams_and_keys'),
    ]

    operations = [
        migrations.AddField(
            model_name='attempt',
            name='user',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.RemoveIndex(
            model_name='attempt',
            name='evaluations_leased__3ba90a_idx',
        ),
        migrations.AddIndex(
            model_name='attempt',
            index=models.Index(fields=['leased_at'], include=('user',), name='leases_by_time_and_user'),
        ),
        migrations.AddIndex(
            model_name='attempt',
            index=models.Index(condition=models.Q(('state', 'live')), fields=['user'], name='live_leases_by_user'),
        ),
        migrations.AddConstraint(
            model_name='attempt',
            constraint=models.UniqueConstraint(fields=('token_hash',), name='a_token_is_good_for_one_attempt'),
        ),
        # The last of all: PostgreSQL alters no table whose rows were changed in the same transaction.
        migrations.RunSQL(USERS_OF_ATTEMPTS, migrations.RunSQL.noop),
    ]
