import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0008_token_names"),
    ]

    operations = [
        migrations.AddField(model_name="user", name="closed_at", field=models.DateTimeField(null=True)),
        migrations.AddField(model_name="user", name="deleted_at", field=models.DateTimeField(null=True)),
        migrations.AddConstraint(
            model_name="user",
            constraint=models.CheckConstraint(
                condition=models.Q(("closed_at", None), ("is_active", False), _connector="OR"),
                name="nobody_signs_in_to_what_is_closed",
            ),
        ),
        migrations.AddConstraint(
            model_name="user",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("deleted_at", None),
                    models.Q(("bio", ""), ("display_name", ""), ("email", ""), ("is_staff", False)),
                    _connector="OR",
                ),
                name="of_who_was_deleted_nothing_is_known",
            ),
        ),
        migrations.CreateModel(
            name="Erasure",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("username", models.CharField(max_length=150)),
                ("created", models.DateTimeField(auto_now_add=True)),
            ],
        ),
    ]
