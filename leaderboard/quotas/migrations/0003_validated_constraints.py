from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('quotas', '0002_amounts'),
    ]

    operations = [
        ValidateConstraint(model_name='quotaentry', name='an_entry_charges_or_refunds_something'),
    ]
