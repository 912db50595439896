from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('planners', '0008_validated_kinds'),
    ]

    operations = [
        migrations.AddField(
            model_name='fileplan',
            name='usage',
            field=models.JSONField(blank=True, db_default={}, default=dict),
        ),
        migrations.AddField(
            model_name='planner',
            name='is_imported',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name='plansfile',
            name='source',
            field=models.JSONField(blank=True, db_default={}, default=dict),
        ),
    ]
