"""Chat planners submitted with the site's form: every service is called by worker processes, and scores as gold."""

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from tests.end_to_end.chat_planners import GATEWAY, NATIVE, SERVICES, SUITE, ChatEntry, answering_gold

if TYPE_CHECKING:
    # They import PyTorch, which no module does before a test needs it.
    from tests.hostile.site import Fate, Site

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]
SECONDS = 240.0
BOARD = f"boards/{SUITE.slug}/"


@pytest.fixture(scope="module")
def site() -> "Iterator[Site]":
    """With one worker, and nothing to evaluate."""
    from tests.hostile.site import running_site

    with running_site(is_idle=True, PLANARENA_LOCAL_WORKERS="1") as running:
        yield running


@pytest.fixture(scope="module")
def entries() -> Iterator[Mapping[str, ChatEntry]]:
    with answering_gold() as found:
        yield found


@pytest.fixture(scope="module")
def outcomes(site: "Site", entries: Mapping[str, ChatEntry]) -> "dict[str, Fate]":
    from tests.hostile.site import User

    user = User(site.arena, "ada", suite=SUITE.slug)
    found = {name: user.enter_by_form({}, **entry.planner) for name, entry in entries.items()}
    found["gold"] = user.enter({"name": "gold-plans", "kind": "bundled", "bundled_name": "gold"})
    until = time.monotonic() + SECONDS
    for outcome in found.values():
        assert outcome.evaluation, outcome.refused
        site.finish(outcome, user=user, until=until, every=0.5)
    user.close()
    return found


def board_of(site: "Site") -> dict[str, Any]:
    rows = site.arena.get(BOARD)["content"]["rows"]
    return {row["planner"]: row for row in rows}


@pytest.mark.parametrize("name", [*SERVICES, NATIVE])
def test_every_service_scores_as_the_gold_plans(outcomes: "dict[str, Fate]", name: str):
    outcome, gold = outcomes[name], outcomes["gold"]
    assert outcome.state == "completed", outcome.reason
    assert len(outcome.rows) == len(SUITE.tasks)
    scores = {row["task"]: (row["outcome"], row["score"]) for row in outcome.rows}
    assert scores == {row["task"]: (row["outcome"], row["score"]) for row in gold.rows}
    assert {outcome for outcome, _ in scores.values()} == {"scored"}


def test_the_board_has_a_row_of_each_with_the_figures_of_gold(site: "Site", outcomes: "dict[str, Fate]"):
    assert outcomes
    site.arena.wait_for(lambda: board_of(site).keys() >= {*SERVICES, NATIVE, "gold-plans"}, what="rows", seconds=30)
    rows = board_of(site)
    for name in (*SERVICES, NATIVE):
        assert rows[name]["metrics"] == rows["gold-plans"]["metrics"], name
        assert rows[name]["readable"]["mean"] == 1.0


def test_errors_of_the_gateway_were_retried(entries: Mapping[str, ChatEntry], outcomes: "dict[str, Fate]"):
    assert outcomes
    assert len(entries[GATEWAY].service.requests) >= len(SUITE.tasks) * 9 // 8
