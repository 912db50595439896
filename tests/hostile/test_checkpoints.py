"""Hostile checkpoints, each by the whole way from submission to row, on one site with real workers."""

from collections.abc import Mapping

import pytest

from tests.hostile.checkpoints.base import CASES, Case
from tests.hostile.site import Fate

pytestmark = pytest.mark.full

OURS = ("worker", "lost", "Traceback", "no progress")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_a_hostile_checkpoint_costs_its_own_evaluation_and_nothing_else(case: Case, fates: Mapping[str, Fate]):
    fate = fates[case.name]
    if not fate.evaluation:
        assert 400 <= fate.status < 500, fate.refused
        assert fate.refused.strip().endswith("."), f"no sentence says why: {fate.refused!r}"
        return
    assert fate.state in {"completed", "failed"}, f"{fate.state}: {fate.reason}"
    assert not [row for row in fate.rows if row["outcome"] == "infra_fault"]
    if fate.state == "failed":
        assert fate.reason.endswith("."), fate.reason
        assert not [word for word in OURS if word in fate.reason], fate.reason
