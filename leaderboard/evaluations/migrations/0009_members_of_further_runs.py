from django.db import migrations, models

# Django would lock out writers while it builds the index.
_CREATE = """
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS one_member_for_each_kind_and_condition
    ON evaluations_evaluation (member_of_id, is_further_run, perturbation, repetition)
    WHERE NOT (state IN ('failed', 'cancelled'));
"""
_DROP = "DROP INDEX CONCURRENTLY IF EXISTS one_member_for_each_kind_and_condition;"


class Migration(migrations.Migration):

    atomic = False
    dependencies = [
        ('evaluations', '0008_further_runs'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(_CREATE, _DROP)],
            state_operations=[
                migrations.AddConstraint(
                    model_name='evaluation',
                    constraint=models.UniqueConstraint(condition=models.Q(('state__in', ['failed', 'cancelled']), _negated=True), fields=('member_of', 'is_further_run', 'perturbation', 'repetition'), name='one_member_for_each_kind_and_condition'),
                ),
            ],
        ),
        migrations.RemoveConstraint(
            model_name='evaluation',
            name='one_member_for_each_condition',
        ),
    ]
