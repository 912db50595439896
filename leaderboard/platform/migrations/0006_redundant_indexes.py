import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

# Another index of the table begins with the same column. Django would also drop the foreign key and check it again.
_DROP = (
    'DROP INDEX CONCURRENTLY IF EXISTS platform_uploadticket_owner_id_37369dab',
)
_CREATE = (
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS platform_uploadticket_owner_id_37369dab ON platform_uploadticket USING btree (owner_id)',
)


class Migration(migrations.Migration):

    atomic = False
    dependencies = [
        ('platform', '0005_known_actions'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(_DROP, _CREATE)],
            state_operations=[
                migrations.AlterField(
                    model_name='uploadticket',
                    name='owner',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='upload_tickets', to=settings.AUTH_USER_MODEL),
                ),
            ],
        ),
    ]
