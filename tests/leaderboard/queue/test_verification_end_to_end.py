"""From the token of an own worker to the row on the board, with real workers over HTTP; only the experts are fake."""

from collections.abc import Iterator

import pytest
from django.conf import settings as site_settings

from evaluator.engine.store import MemoryStore
from evaluator.records import ResultRecord
from gpu_jobs.client import ApiClient
from gpu_jobs.contract.lease import Lease
from gpu_jobs.exits import Exit
from gpu_jobs.runner import EvaluatorRunner, ShardRunner
from gpu_jobs.worker import Worker
from leaderboard.accounts.models import User
from leaderboard.boards.services import latest_snapshot
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation
from leaderboard.queue.models import AttemptToken
from leaderboard.queue.reconcile import sweep
from leaderboard.queue.workers.tokens import create_worker_token
from tests.fakes.runner import FakeRunner
from tests.leaderboard.factories import make_suite, make_user
from tests.leaderboard.planning import REAL, make_toolmini
from tests.leaderboard.serving import server
from tests.leaderboard.site.api.helpers import client_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def url(settings, tmp_path, launcher) -> Iterator[str]:
    settings.STORE_DIR = tmp_path / "store"
    with server() as served:
        yield served


def submit(user: User, suite: Suite, *, bundled: str = "gold") -> str:
    """The evaluation of a submission for the user's own worker, through the API."""
    body = {
        "planner": {"name": "mine", "kind": "bundled", "bundled_name": bundled},
        "suites": [suite.slug],
        "own_worker": True,
    }
    response = client_of(user).post("submissions/", body)
    assert response.status_code == 201, response.content
    return response.json()["evaluations"][0]["id"]


def work(url: str, *, token: str, runner: ShardRunner | None = None) -> None:
    """A worker with this token, until it finds nothing more to do."""
    sweep()
    client = ApiClient(url=url, token=token)
    assert Worker(client=client, runner=runner or FakeRunner(), name="w", idle_seconds=0.0).run() == Exit.IDLE
    sweep()
    sweep()


class ForgingJudge(EvaluatorRunner):
    """Says of every plan that it solves its request."""

    def run(self, lease: Lease) -> Iterator[ResultRecord]:
        for record in super().run(lease):
            indicators = record.indicators and {**record.indicators, "SE": 1.0, "NR": 1.0, "undecided": 0.0}
            yield record.model_copy(update={"score": 1.0 if indicators else 0.0, "indicators": indicators})


def test_from_an_own_worker_s_token_to_the_board(url):
    ada, suite = make_user("ada"), make_suite(runnable=30)
    token = client_of(ada).post("worker-tokens/", {"name": "desktop"}).json()["token"]
    evaluation = submit(ada, suite)
    work(url, token=site_settings.WORKER_TOKEN)
    assert not Evaluation.objects.get(pk=evaluation).results.exists(), "our workers leave it alone"
    own = FakeRunner()
    work(url, token=token, runner=own)
    assert sorted(own.ran, key=int) == [str(number) for number in range(30)]
    told = client_of(ada).get(f"evaluations/{evaluation}/").json()
    assert (told["state"], told["reason"], told["verified"]) == ("completed", "awaiting_verification", False)
    assert latest_snapshot(suite=suite) is None
    idle = FakeRunner()
    work(url, token=token, runner=idle)
    assert idle.ran == [], "the own worker does not verify itself"
    ours = FakeRunner()
    work(url, token=site_settings.WORKER_TOKEN, runner=ours)
    assert len(ours.ran) == 20
    told = client_of(ada).get(f"evaluations/{evaluation}/").json()
    assert (told["reason"], told["verified"]) == ("verified", True)
    board = client_of(ada).get(f"boards/{suite.slug}/").json()
    assert [(row["evaluation"], row["run_by_owner"]) for row in board["content"]["rows"]] == [(evaluation, True)]
    assert set(AttemptToken.objects.values_list("attempt__shard__evaluation", flat=True)) == {
        Evaluation.objects.get(pk=evaluation).pk
    }


@pytest.mark.full
@pytest.mark.parametrize(("judge", "reason"), [(EvaluatorRunner, "verified"), (ForgingJudge, "verification_failed")])
def test_where_plans_are_judged_it_is_the_same(url, settings, judge, reason):
    settings.EVALUATOR = REAL
    ada, suite = make_user("ada"), make_toolmini()
    token = create_worker_token(owner=ada, name="desktop").token
    evaluation = submit(ada, suite, bundled="random-valid")
    work(url, token=token, runner=judge(store=MemoryStore(), device="cpu"))
    work(url, token=site_settings.WORKER_TOKEN, runner=EvaluatorRunner(store=MemoryStore(), device="cpu"))
    told = client_of(ada).get(f"evaluations/{evaluation}/").json()
    assert told["reason"] == reason, told["reason_text"]
    assert (latest_snapshot(suite=suite) is not None) == (reason == "verified")
