from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('boards', '0002_version_changes'),
    ]

    operations = [
        migrations.AddField(
            model_name='snapshot',
            name='device_class',
            field=models.CharField(blank=True, db_default='', default='', max_length=20),
        ),
    ]
