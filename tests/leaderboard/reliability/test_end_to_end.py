"""From the request for a profile to its figures, with a real worker over HTTP and the real judge."""

import pytest
from django.conf import settings as site_settings
from django.test import Client

from evaluator.engine.store import MemoryStore
from gpu_jobs.client import ApiClient
from gpu_jobs.exits import Exit
from gpu_jobs.runner import EvaluatorRunner
from gpu_jobs.worker import Worker
from leaderboard.catalog.models import Task
from leaderboard.queue.reconcile import sweep
from leaderboard.reliability import measuring
from tests.leaderboard.factories import make_user
from tests.leaderboard.planning import REAL, make_toolmini
from tests.leaderboard.serving import server
from tests.leaderboard.site.api.helpers import client_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def url(settings, own_store):
    settings.EVALUATOR, settings.PLANNING_TASKS_PER_SHARD = REAL, 60
    with server() as served:
        yield served


def work(url: str) -> None:
    """A worker of the site, until it finds nothing more to do."""
    sweep()
    client = ApiClient(url=url, token=site_settings.WORKER_TOKEN)
    runner = EvaluatorRunner(store=MemoryStore(), device="cpu")
    assert Worker(client=client, runner=runner, name="w", idle_seconds=0.0).run() == Exit.IDLE
    sweep()
    sweep()


def test_a_profile_from_the_request_to_its_figures(url):
    ada, suite = make_user("ada"), make_toolmini()
    # A few tasks of each kind.
    Task.objects.filter(suite=suite).exclude(position__in=range(0, 120, 10)).delete()
    client = client_of(ada)
    body = {"planner": {"name": "gold", "kind": "bundled", "bundled_name": "gold"}, "suites": [suite.slug]}
    evaluation = client.post("submissions/", body).json()["evaluations"][0]["id"]
    assert client.post(f"evaluations/{evaluation}/reliability/").status_code == 409, "it has not ended"
    work(url)
    asked = client.post(f"evaluations/{evaluation}/reliability/")
    assert asked.status_code == 201, asked.content
    assert (asked.json()["state"], asked.json()["profile"]) == ("measuring", None)
    assert client_of(make_user()).post(f"evaluations/{evaluation}/reliability/").status_code == 403
    work(url)
    assert measuring.measure(evaluation)

    told = Client().get(f"/api/v1/evaluations/{evaluation}/reliability/").json()
    assert (told["state"], told["gaps"]) == ("measured", [])
    assert {member["state"] for member in told["members"]} == {"completed"}
    profile = told["profile"]
    assert (profile["runs"], profile["tasks"]) == (5, 12)
    assert profile["dimensions"]["success"]["mean"] == profile["dimensions"]["consistency"]["mean"] == 1.0
    ratios = {one["name"]: one["ratio"]["mean"] for one in profile["robustness"]}
    assert list(ratios) == [member["perturbation"] for member in told["members"] if member["perturbation"]]
    # Gold plans are the same whatever is asked, and in the suite's names, which this one does not offer.
    assert (ratios["framed"], ratios["renamed-tools"]) == (1.0, 0.0)
