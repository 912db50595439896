from django.contrib.postgres.operations import AddConstraintNotValid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('catalog', '0003_signed_lock'),
        ('evaluations', '0014_redundant_indexes'),
        ('people', '0003_weight_of_anchors'),
        ('planners', '0004_roles'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='evaluation',
            name='an_evaluation_has_a_known_reason',
        ),
        migrations.AddField(
            model_name='evaluation',
            name='tasks_missing',
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='submission',
            name='is_regrade',
            field=models.BooleanField(db_default=False, default=False),
        ),
        AddConstraintNotValid(
            model_name='evaluation',
            constraint=models.CheckConstraint(condition=models.Q(('reason__in', ['', 'waiting', 'starting_worker', 'waiting_for_worker', 'waiting_for_own_worker', 'waiting_for_agent', 'launch_failed', 'profile_mismatch', 'running', 'canary', 'second_canary', 'canary_retry', 'worker_lost', 'worker_failed', 'set_aside', 'aggregating', 'aggregate_retry', 'infra_faults', 'planner_unavailable', 'workers_lost', 'resumed', 'accepted', 'published', 'not_public', 'incomplete', 'lock_not_signed', 'not_verified', 'awaiting_verification', 'verified', 'verification_failed', 'not_verifiable', 'run_again', 'not_run_again', 'member_measured', 'asked_again', 'further_run', 'cancelled_by_owner', 'cancelled_too', 'abandoned', 'no_worker', 'other_rules', 'stalled', 'canary_failed', 'canary_ended_workers', 'aggregate_failed'])), name='an_evaluation_has_a_known_reason'),
        ),
        AddConstraintNotValid(
            model_name='submission',
            constraint=models.CheckConstraint(condition=models.Q(('is_regrade', False), ('rerun_of__isnull', False), _connector='OR'), name='a_regrade_has_an_original'),
        ),
    ]
