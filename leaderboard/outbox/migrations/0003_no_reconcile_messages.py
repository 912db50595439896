from django.db import migrations, models


def delete_reconcile_messages(apps, schema_editor):
    """The sweep finds every evaluation that one of them was about."""
    apps.get_model("outbox", "OutboxMessage").objects.filter(kind="reconcile").delete()


class Migration(migrations.Migration):
    dependencies = [
        ("outbox", "0002_receivers"),
    ]

    operations = [
        migrations.RunPython(delete_reconcile_messages, migrations.RunPython.noop),
        migrations.RemoveConstraint(model_name="outboxmessage", name="a_message_has_a_known_kind"),
        migrations.AlterField(
            model_name="outboxmessage",
            name="kind",
            field=models.CharField(choices=[("mail", "Mail"), ("webhook", "Webhook")], max_length=20),
        ),
        migrations.AddConstraint(
            model_name="outboxmessage",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["mail", "webhook"])), name="a_message_has_a_known_kind"
            ),
        ),
    ]
