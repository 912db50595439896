"""The conditions of evaluations and snapshots in the API."""

from typing import Any

from rest_framework import serializers

from leaderboard.platform.api.examples import DIGEST

CONDITIONS_EXAMPLE = {
    "profile": "lilliput",
    "profile_digest": DIGEST,
    "split": "public",
    "samples": 8,
    "data_digest": DIGEST,
    "season": None,
}
CONDITION_FIELDS = list(CONDITIONS_EXAMPLE)
"""For `Meta.fields`."""


class ConditionsOutput(serializers.Serializer[Any]):
    """Mixin of a serializer whose model has `MeasuringConditions`."""

    season = serializers.SlugField(
        source="season_id", read_only=True, allow_null=True, help_text="The season of its hidden data; null: open data."
    )
