from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('planners', '0010_model_for_each_role'),
    ]

    operations = [
        ValidateConstraint(model_name='planner', name='a_planner_has_what_its_kind_needs'),
    ]
