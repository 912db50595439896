from django.db import migrations, models


class Migration(migrations.Migration):
    """A strategy's name with its language model's takes more than 40 characters."""

    dependencies = [
        ('planners', '0001_initial'),
    ]

    operations = [
        migrations.AlterField(
            model_name='planner',
            name='bundled_name',
            field=models.CharField(blank=True, max_length=100),
        ),
    ]
