from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('quotas', '0001_initial'),
    ]

    operations = [
        AddConstraintNotValid(
            model_name='quotaentry',
            constraint=models.CheckConstraint(condition=models.Q(('amount', 0), _negated=True), name='an_entry_charges_or_refunds_something'),
        ),
        migrations.RemoveConstraint(
            model_name='quotaentry',
            name='an_entry_is_a_charge_or_a_refund',
        ),
    ]
