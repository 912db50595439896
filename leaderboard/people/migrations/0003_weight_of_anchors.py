"""The weight 0 of the account that submits the anchors of boards."""

from typing import Any

from django.db import migrations

OWNER = "planarena"


def let_others_go_first(apps: Any, schema_editor: Any) -> None:  # noqa: ARG001 - the operation's signature
    apps.get_model("people", "User").objects.filter(username=OWNER, queue_weight=1).update(queue_weight=0)


def share_equally(apps: Any, schema_editor: Any) -> None:  # noqa: ARG001 - the same
    apps.get_model("people", "User").objects.filter(queue_weight=0).update(queue_weight=1)


class Migration(migrations.Migration):
    dependencies = [("people", "0002_token_scopes")]

    operations = [
        migrations.RemoveConstraint(model_name="user", name="a_weight_is_at_least_one"),
        migrations.RunPython(let_others_go_first, share_equally),
    ]
