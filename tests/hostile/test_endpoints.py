"""Hostile endpoints, each by the whole way from submission to row, on one site with real workers."""

from collections.abc import Mapping

import pytest

from tests.hostile.endpoints import ENDPOINTS, HOSTILE_TASKS, Endpoint, Serving
from tests.hostile.site import Fate, Site

pytestmark = pytest.mark.full


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda one: one.name.replace(" ", "-"))
def test_a_hostile_answer_costs_its_own_task_and_nothing_else(endpoint: Endpoint, fates: Mapping[str, Fate]):
    fate = fates[endpoint.name]
    assert fate.evaluation, fate.refused
    hostile = [row for row in fate.rows if row["task"] in HOSTILE_TASKS]
    others = [row for row in fate.rows if row["task"] not in HOSTILE_TASKS]
    assert len(others) == 10, f"{fate.state}: {fate.reason}"
    assert not [row["reason_text"] for row in others if row["outcome"] != "scored"]
    if endpoint.away:
        assert fate.state in {"on_hold", "completed"}, fate.reason
    else:
        assert fate.state == "completed", [row["reason_text"] for row in hostile]
        assert {row["outcome"] for row in hostile} <= {"scored", "planner_fault"}
    assert all(row["reason_text"].endswith(".") for row in hostile if row["outcome"] != "scored")


def test_no_redirect_link_or_cookie_is_followed_to_this_machine(fates: Mapping[str, Fate], endpoints: Serving):
    assert fates
    assert endpoints.internal == []


def test_the_secret_header_is_sent_to_its_endpoint_only(fates: Mapping[str, Fate], site: Site):
    said = [fate for name, fate in fates.items() if name.startswith("the secret")]
    assert said
    for fate in said:
        assert site.bait.header not in str(fate.rows)
        assert site.bait.header not in fate.reason
