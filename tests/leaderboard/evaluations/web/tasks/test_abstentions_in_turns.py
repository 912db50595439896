"""Pages of tasks in turns whose planner abstained, refused in words, or gave a wrong answer without an action."""

import pytest

from evaluator.core.records import Reason
from evaluator.core.suites.registry import suite_of
from evaluator.core.turns import TurnResponse
from evaluator.episodes.base import Setting, episode_of
from evaluator.execution.engine.store import LocalStore
from evaluator.scoring.metrics.aggregate import TaskScore, summarise
from leaderboard.catalog.models import Suite
from leaderboard.catalog.services import register_suite
from tests.evaluator.episodes.turns.toy import Answers
from tests.leaderboard.evaluations.web.factories import evaluation_page, keep_result, make_evaluation, make_planner
from tests.leaderboard.evaluations.web.factories import task_page as page_of
from tests.leaderboard.factories import make_user
from tests.leaderboard.planning import REAL

pytestmark = pytest.mark.django_db
SUITE = suite_of("lumos-mini")
ABSTAINED, SILENT, REFUSED, WRONG = [task.key for task in SUITE.tasks if task.metric == "qa"][:4]
WHY = "The lamp & the switch are out of reach."
REPLIES = {
    ABSTAINED: {"plan": None, "reason": WHY},
    SILENT: {"stop": True},
    REFUSED: {"answer": "I'm sorry, I cannot help with that."},
    WRONG: {"answer": "forty-two"},
}


@pytest.fixture
def evaluation(tmp_path, settings):
    settings.EVALUATOR = REAL
    setting = Setting(profile="lilliput", split=SUITE.conditions.splits[0], open_store=lambda: LocalStore(tmp_path))
    evaluator = episode_of(SUITE.slug).evaluator(suite=SUITE, setting=setting)
    planner = Answers(lambda request: TurnResponse.model_validate(REPLIES[request.task.id]))
    records = list(evaluator.run(planner=planner, tasks=list(REPLIES)))
    register_suite(SUITE)
    made = make_evaluation(
        planner=make_planner(owner=make_user("ada"), name="shy", bundled_name="no-op"),
        suite=Suite.objects.get(slug=SUITE.slug, current=True), tasks_total=len(records), samples=1, tasks_not_run=0,
        summary=summarise(suite=SUITE, results=map(TaskScore.of, records), samples=1),
    )  # fmt: skip
    for record in records:
        keep_result(record, evaluation=made)
    return made


def test_only_an_abstention_is_said_to_abstain_and_its_reason_is_shown(client, evaluation):
    page = page_of(client, evaluation, ABSTAINED)
    assert "The planner abstained." in page
    assert "The lamp &amp; the switch are out of reach." in page
    assert "the tools can meet this request" in page
    assert "The planner abstained" in page_of(client, evaluation, SILENT)
    refused = page_of(client, evaluation, REFUSED)
    assert "The planner abstained" not in refused
    assert "it is a refusal in words" in refused
    assert "The planner abstained" not in page_of(client, evaluation, WRONG)


def test_the_breakdown_counts_how_episodes_ended(client, evaluation):
    html = evaluation_page(client, evaluation)
    assert "Abstained" in html
    reasons = sorted(evaluation.results.values_list("reason", flat=True))
    assert reasons == sorted(["", Reason.ABSTAINED, Reason.ABSTAINED, Reason.UNPARSABLE_PLAN])
