from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0007_team_weight"),
    ]

    operations = [
        migrations.AddField(
            model_name="tokenscopes",
            name="name",
            field=models.CharField(blank=True, db_default="", default="", max_length=80),
        ),
        migrations.AddField(
            model_name="tokenscopes",
            name="last_used",
            field=models.DateTimeField(null=True),
        ),
    ]
