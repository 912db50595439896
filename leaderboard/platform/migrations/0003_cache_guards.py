"""Entries of the shared cache are not written to the log: a crash may forget limits that last for minutes."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("platform", "0002_audit_guards")]

    operations = [migrations.RunSQL("ALTER TABLE platform_cacheentry SET UNLOGGED", migrations.RunSQL.noop)]
