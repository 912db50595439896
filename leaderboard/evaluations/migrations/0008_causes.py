# Adds why tasks are below the gold score to results.

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('evaluations', '0007_agents'),
    ]

    operations = [
        migrations.AddField(
            model_name='taskresult',
            name='causes',
            field=models.JSONField(null=True),
        ),
    ]
