from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    # Reads all rows without a lock that keeps others from adding some.
    dependencies = [("audit", "0004_season_signed")]

    operations = [ValidateConstraint(model_name="auditentry", name="an_entry_has_a_known_action")]
