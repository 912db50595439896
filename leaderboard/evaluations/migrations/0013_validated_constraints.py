from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('evaluations', '0012_lock_not_signed'),
    ]

    operations = [
        ValidateConstraint(model_name='evaluation', name='further_runs_are_unperturbed_members'),
        ValidateConstraint(model_name='submission', name='a_submission_is_asked_again_for_a_known_share'),
        ValidateConstraint(model_name='evaluation', name='an_evaluation_has_a_known_reason'),
    ]
