from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('platform', '0007_regraded'),
    ]

    operations = [
        ValidateConstraint(model_name='auditentry', name='an_entry_has_a_known_action'),
    ]
