"""Entries of the shared cache are not written to the log: a crash may forget limits that last for minutes."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("coordination", "0001_initial")]

    operations = [migrations.RunSQL("ALTER TABLE coordination_cacheentry SET UNLOGGED", migrations.RunSQL.noop)]
