# Adds the indicators of each sample to results.

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('evaluations', '0003_seasons'),
    ]

    operations = [
        migrations.AddField(
            model_name='taskresult',
            name='sample_indicators',
            field=models.JSONField(blank=True, db_default={}, default=dict),
        ),
    ]
