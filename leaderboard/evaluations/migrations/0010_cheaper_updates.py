from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('evaluations', '0009_members'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='evaluation',
            index=models.Index(fields=['state'], name='evaluations_by_state'),
        ),
        RemoveIndexConcurrently(
            model_name='evaluation',
            name='evaluations_state_6f0fed_idx',
        ),
        RemoveIndexConcurrently(
            model_name='attempt',
            name='evaluations_shard_i_470723_idx',
        ),
    ]
