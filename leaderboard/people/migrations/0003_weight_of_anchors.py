"""Weights of 0, as of the account that submits the anchors of boards (`submissions/anchors.py` sets it)."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("people", "0002_token_scopes")]

    operations = [migrations.RemoveConstraint(model_name="user", name="a_weight_is_at_least_one")]
