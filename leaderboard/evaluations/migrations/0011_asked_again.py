from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('evaluations', '0010_device_class'),
    ]

    operations = [
        migrations.AddField(
            model_name='submission',
            name='asked_again',
            field=models.CharField(choices=[('tenth', 'A tenth of the tasks'), ('half', 'Half of the tasks'), ('all', 'All tasks')], db_default='tenth', default='tenth', max_length=10),
        ),
        AddConstraintNotValid(
            model_name='submission',
            constraint=models.CheckConstraint(condition=models.Q(('asked_again__in', ['tenth', 'half', 'all'])), name='a_submission_is_asked_again_for_a_known_share'),
        ),
    ]
