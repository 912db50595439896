from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('evaluations', '0015_regrades'),
    ]

    operations = [
        ValidateConstraint(model_name='evaluation', name='an_evaluation_has_a_known_reason'),
        ValidateConstraint(model_name='submission', name='a_regrade_has_an_original'),
    ]
