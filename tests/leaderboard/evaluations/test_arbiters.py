"""An operator's arbiter settles undecided pairs: from the site's setting over a worker to the board."""

import re
import runpy

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from evaluator.arbiters import named
from evaluator.engine.store import MemoryStore
from gpu_jobs.client import ApiClient
from gpu_jobs.runner import EvaluatorRunner
from gpu_jobs.worker import Worker
from gpu_jobs.worker_secrets import harmless, proxies_in, secrets_in
from leaderboard.boards.models import Snapshot
from leaderboard.catalog.library import Library
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.queue.reconcile import sweep
from tests.evaluator.arbiters.arbiter_server import MODEL, ArbiterServer, serving
from tests.leaderboard.boards.signing.boards import mismatches, verified
from tests.leaderboard.factories import make_submission
from tests.leaderboard.pages.test_undecided import UNDECIDED
from tests.leaderboard.planning import REAL, make_questions_undecided, make_toolmini
from tests.leaderboard.serving import server
from tests.rings import usual

KEY = "key-of-the-arbiter"
ANOTHER = "chat:http://127.0.0.1:9/v1#another"


@pytest.fixture
def endpoint(settings, launcher, tmp_path, monkeypatch):
    settings.EVALUATOR, settings.STORE_DIR = REAL, tmp_path / "store"
    make_questions_undecided(monkeypatch)
    with serving() as found:
        settings.ARBITER = named(found.name)
        yield found


def evaluated(
    endpoint: ArbiterServer, *, token: str, name: str | None = None, store: MemoryStore | None = None
) -> Evaluation:
    made = make_submission(suite=make_toolmini(), name="gold", bundled_name="gold").evaluations.get()
    sweep()
    with server() as url:
        client = ApiClient(url=url, token=token)
        arbiter = named(endpoint.name if name is None else name) if name != "" else None
        runner = EvaluatorRunner(store=store or MemoryStore(), device="cpu", arbiter=arbiter, arbiter_key=KEY)
        Worker(client=client, runner=runner, name="w", idle_seconds=0.0, secrets=[KEY]).run()
    sweep()
    made.refresh_from_db()
    return made


@pytest.mark.django_db(transaction=True)
def test_settled_pairs_count_and_the_range_by_the_rules_stays_beside_them(endpoint, settings):
    endpoint.script = ["Verdict: same"] * 30 + ["Verdict: different"] * 30 + ["Verdict: unsure"]
    made = evaluated(endpoint, token=settings.WORKER_TOKEN)
    assert made.state == EvaluationState.COMPLETED, made.reason_text
    assert made.profile_digest == Library().rules_digest(suite="toolmini", profile="none")
    asked = len(endpoint.asked) // 3
    metrics = made.summary["metrics"]
    assert 20 < asked <= UNDECIDED
    assert {key for key, _ in endpoint.asked} == {f"Bearer {KEY}"}
    assert metrics["SE"]["mean"] > metrics["SE_low"]["mean"] == pytest.approx(1 - UNDECIDED / 120)
    assert 0 < metrics["undecided"]["mean"] < UNDECIDED / 120
    assert metrics["SE_high"]["mean"] == 1.0
    assert mismatches(verified("/boards/toolmini/")) == []
    html = " ".join(Client().get("/boards/toolmini/").content.decode().split())
    assert f"settled by {MODEL} (same-meaning/1)" in html
    assert "0.650 \N{EN DASH} 1.000 by the rules alone" in html
    assert KEY not in html


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_the_task_page_and_the_record_say_who_settled_what(endpoint, settings):
    endpoint.script = ["Verdict: same", "Verdict: same", "Verdict: different"]
    made = evaluated(endpoint, token=settings.WORKER_TOKEN)
    record = Client().get(f"/api/v1/evaluations/{made.pk}/results/QA/0/").json()["record"]
    assert record["arbiter"]["name"] == MODEL
    assert len(record["arbiter"]["prompt_sha256"]) == 64
    (pair,) = record["pairs"]
    assert pair["verdict"] in {"same", "different"}
    html = " ".join(Client().get(f"/evaluations/{made.pk}/tasks/QA/0/").content.decode().split())
    assert "By the rules alone it is undecided. The arbiter judge-2026-01-01 (same-meaning/1) was asked." in html
    assert f"Answers: {', '.join(pair['answers'])}." in html
    assert MODEL in Client().get(f"/evaluations/{made.pk}/").content.decode()


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_planners_and_workers_that_share_a_store_ask_once(endpoint, settings):
    store = MemoryStore()
    first = evaluated(endpoint, token=settings.WORKER_TOKEN, store=store)
    asked = len(endpoint.asked)
    second = evaluated(endpoint, token=settings.WORKER_TOKEN, store=store)
    assert first.summary["metrics"]["SE"] == second.summary["metrics"]["SE"]
    assert len(endpoint.asked) == asked


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_an_endpoint_that_fails_blocks_no_publishing(endpoint, settings):
    endpoint.script = [400]
    made = evaluated(endpoint, token=settings.WORKER_TOKEN)
    assert made.state == EvaluationState.COMPLETED
    metrics = Snapshot.objects.get().content["rows"][0]["metrics"]
    assert metrics["undecided"]["mean"] == UNDECIDED / 120
    record = Client().get(f"/api/v1/evaluations/{made.pk}/results/QA/0/").json()["record"]
    assert "answered 400" in record["pairs"][0]["problem"] or "3 times in a row" in record["pairs"][0]["problem"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", usual(["", ANOTHER], of=[ANOTHER]))
def test_a_worker_with_another_arbiter_is_refused(endpoint, settings, name):
    made = evaluated(endpoint, token=settings.WORKER_TOKEN, name=name)
    assert made.state != EvaluationState.COMPLETED
    assert not made.results.exists()
    assert endpoint.asked == []


def test_the_key_reaches_workers_without_environment_or_command_line():
    environment = {"PLANARENA_ARBITER": "chat:http://h/v1#m", "PLANARENA_ARBITER_KEY": KEY, "PATH": "/bin"}
    assert harmless(environment) == {"PLANARENA_ARBITER": "chat:http://h/v1#m", "PATH": "/bin"}
    assert secrets_in(environment).variables == {"PLANARENA_ARBITER_KEY": KEY}
    assert proxies_in(environment).values() == [KEY]


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("PLANARENA_ARBITER", "hub:owner/name@main", "PLANARENA_ARBITER: the arbiter 'hub:owner/name@main' is none of"),
        ("PLANARENA_ARBITER_THRESHOLD", "often", "PLANARENA_ARBITER_THRESHOLD is 'often', which is no number"),
        ("PLANARENA_ARBITER_THRESHOLD", "2", "the arbiter's threshold is 2; it is from 0.5 to 1"),
    ],
)
def test_a_site_with_a_wrong_arbiter_does_not_start(monkeypatch, variable, value, said):
    from leaderboard.site.settings import evaluations

    monkeypatch.setenv("PLANARENA_ARBITER", "chat:http://h/v1#m")
    monkeypatch.setenv(variable, value)
    with pytest.raises(ImproperlyConfigured, match=re.escape(said)):
        runpy.run_path(evaluations.__file__)
