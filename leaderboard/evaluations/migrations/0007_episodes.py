# Adds how the episodes of a task went to results.

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('evaluations', '0006_agents'),
    ]

    operations = [
        migrations.AddField(
            model_name='taskresult',
            name='episodes',
            field=models.JSONField(blank=True, db_default={}, default=dict),
        ),
    ]
