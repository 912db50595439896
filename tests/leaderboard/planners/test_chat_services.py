"""Chat planners with every service, from the API through a worker to the board: the figures of gold plans."""

from collections.abc import Iterator, Mapping

import pytest

from evaluator.client import Client, NewSubmission, PlannerEntry
from evaluator.planners.language_models.chat.parameters import MOST_ADAPTATIONS
from leaderboard.boards.services import latest_snapshot
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.models import Evaluation
from leaderboard.people.services import create_token
from tests.end_to_end.chat_planners import GATEWAY, NATIVE, PRICES, SERVICES, SUITE, ChatEntry, answering_gold
from tests.leaderboard.factories import make_user
from tests.leaderboard.planning import REAL, make_toolmini
from tests.leaderboard.queue.working import work_through
from tests.leaderboard.serving import server

pytestmark = pytest.mark.django_db(transaction=True)
TASKS = tuple(task.key for task in SUITE.tasks[::8])
GOLD = "gold-plans"
REFUSED = frozenset({"max_tokens", "temperature", "stop", "seed"})
"""Parameters that reasoning models refuse."""


@pytest.fixture
def suite(settings) -> Suite:
    """A few tasks of toolmini, in several shards."""
    settings.DEMO, settings.EVALUATOR, settings.PLANNING_TASKS_PER_SHARD = True, REAL, 6
    suite = make_toolmini()
    Task.objects.filter(suite=suite).exclude(key__in=TASKS).delete()
    return suite


@pytest.fixture
def entries() -> Iterator[Mapping[str, ChatEntry]]:
    with answering_gold() as found:
        yield found


def test_every_service_is_published_with_the_figures_of_gold_plans(suite, entries, settings, tmp_path, launcher):
    settings.STORE_DIR = tmp_path / "store"
    planners = [PlannerEntry.model_validate(entry.planner) for entry in entries.values()]
    planners.append(PlannerEntry.bundled("gold", name=GOLD))
    with server() as url:
        with Client(url=url, token=create_token(user=make_user("ada")).token) as people:
            made = [people.submit(NewSubmission(planner=one, suites=[suite.slug]), key=one.name) for one in planners]
        work_through(url)
    ended = {one.name: Evaluation.objects.get(pk=of.evaluations[0].id) for one, of in zip(planners, made, strict=True)}
    states = {name: (evaluation.state, evaluation.reason_text) for name, evaluation in ended.items()}
    assert {state for state, _ in states.values()} == {"completed"}, states
    results = {name: set(one.results.values_list("task__key", "outcome", "score")) for name, one in ended.items()}
    assert {outcome for found in results.values() for _, outcome, _ in found} == {"scored"}
    assert len(results[GOLD]) == len(TASKS)
    assert all(found == results[GOLD] for found in results.values())
    rows = {row["planner"]: row for row in latest_snapshot(suite=suite).content["rows"]}
    assert rows.keys() == {*SERVICES, NATIVE, GOLD}
    for name in (*SERVICES, NATIVE):
        assert rows[name]["metrics"] == rows[GOLD]["metrics"], name
        assert rows[name]["readable"]["mean"] == 1.0
    # 90 tokens of prompts, 64 of which were cached, and 830 of answers.
    assert rows["reasoning-chat"]["usage"]["cached_tokens"] == 64.0
    assert rows["reasoning-chat"]["cost"] == {**PRICES, "usd": (26 * 2.0 + 64 * 0.5 + 830 * 10.0) / 1_000_000}
    assert rows["old-chat"]["cost"] == {**PRICES, "usd": (90 * 2.0 + 30 * 10.0) / 1_000_000}
    # Later shards know from the first what the model refuses.
    known = [REFUSED.isdisjoint(request) for request in entries["reasoning-chat"].service.requests]
    assert known[-len(TASKS) :] == [True] * len(TASKS)
    assert known.count(False) <= MOST_ADAPTATIONS
    assert len(entries[GATEWAY].service.requests) > len(TASKS)
