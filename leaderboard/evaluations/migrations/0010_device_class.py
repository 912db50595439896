from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('evaluations', '0009_members_of_further_runs'),
    ]

    operations = [
        migrations.AddField(
            model_name='evaluation',
            name='device_class',
            field=models.CharField(blank=True, db_default='', default='', max_length=20),
        ),
    ]
