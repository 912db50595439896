# Adds the score of each sample to results.

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('evaluations', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='taskresult',
            name='sample_scores',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.FloatField(), db_default=[], default=list, size=None),
        ),
    ]
