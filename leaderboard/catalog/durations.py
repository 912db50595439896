"""Expected processor time of suites, from their metadata. No database access."""

from evaluator.core.suites.metadata import MEASURED_SAMPLES, metadata_of
from leaderboard.catalog.library import samples_of
from leaderboard.catalog.models import Suite

_ASSUMED = {False: 0.01, True: 1.0}
"""Seconds per task of suites without a measurement, by whether experts run."""


def declared_seconds(suite: Suite) -> float | None:
    """Processor time per task of evaluating the gold plans under this site's conditions, in seconds, as the suite
    declares it; None if it declares none. Experts take it in proportion to the samples."""
    try:
        seconds = metadata_of(suite.slug).task_seconds
    except LookupError:
        return None
    if seconds is None:
        return None
    return seconds * samples_of(suite) / MEASURED_SAMPLES if suite.conditions["samples"] else seconds


def task_seconds(suite: Suite) -> float:
    """`declared_seconds`, or an assumption."""
    declared = declared_seconds(suite)
    return _ASSUMED[suite.runs_experts] if declared is None else declared
