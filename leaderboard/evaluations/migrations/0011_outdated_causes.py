from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('evaluations', '0010_cheaper_updates'),
    ]

    operations = [
        migrations.AddField(
            model_name='evaluation',
            name='causes_outdated_since',
            field=models.DateTimeField(null=True),
        ),
    ]
