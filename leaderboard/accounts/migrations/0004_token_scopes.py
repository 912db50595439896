import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

ALL = ["read", "submit", "manage"]


def keep_what_there_is(apps, _):
    """Tokens of before this release could do everything, and still can until they expire."""
    scopes, tokens = apps.get_model("accounts", "TokenScopes"), apps.get_model("knox", "AuthToken")
    scopes.objects.bulk_create(scopes(token=token, scopes=ALL) for token in tokens.objects.all())


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0003_teams"),
        ("knox", "0009_extend_authtoken_field"),
    ]

    operations = [
        migrations.CreateModel(
            name="TokenScopes",
            fields=[
                (
                    "token",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="granted",
                        serialize=False,
                        to="knox.authtoken",
                    ),
                ),
                (
                    "scopes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[
                                ("read", "Read what you may read"),
                                ("submit", "Submit, and resume, accept, cancel and run evaluations again"),
                                ("manage", "Change teams, webhooks, worker tokens and tokens"),
                            ],
                            max_length=10,
                        ),
                        size=None,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("scopes__contained_by", ALL)), name="a_token_has_known_scopes"
                    )
                ],
            },
        ),
        migrations.RunPython(keep_what_there_is, migrations.RunPython.noop),
    ]
