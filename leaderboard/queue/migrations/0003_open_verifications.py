from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('queue', '0002_worker_pools'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='verification',
            index=models.Index(condition=models.Q(('verdict', 'open')), fields=['created'], name='open_verifications'),
        ),
    ]
