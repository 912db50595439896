"""An operator's arbiter settles undecided pairs: from the site's setting over a worker to the board."""

import re
import runpy

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from evaluator.controlllm.toolbench.suite import DECIDED_BY
from evaluator.execution.engine.store import MemoryStore
from evaluator.scoring.arbiters.base import parse_arbiter
from gpu_jobs.runner import EvaluatorRunner
from gpu_jobs.worker_secrets import harmless, proxies_in, secrets_in
from leaderboard.catalog.library import Library
from leaderboard.evaluations.models import Evaluation, EvaluationState
from tests.evaluator.scoring.arbiters.arbiter_server import MODEL, ArbiterServer, serving
from tests.leaderboard.boards.signing.boards import mismatches, verified
from tests.leaderboard.evaluations.web.test_undecided import UNDECIDED
from tests.leaderboard.factories import make_submission
from tests.leaderboard.planning import REAL, make_questions_undecided, make_toolmini
from tests.leaderboard.queue.working import work_through
from tests.leaderboard.serving import server
from tests.rings import usual

KEY = "key-of-the-arbiter"
ANOTHER = "chat:http://127.0.0.1:9/v1#another"


@pytest.fixture
def endpoint(settings, launcher, tmp_path, monkeypatch):
    settings.EVALUATOR, settings.STORE_DIR = REAL, tmp_path / "store"
    make_questions_undecided(monkeypatch)
    with serving() as found:
        settings.ARBITER = parse_arbiter(found.name)
        yield found


def evaluated(endpoint: ArbiterServer, *, name: str | None = None) -> Evaluation:
    """What a worker with the arbiter of this name, by default the site's, makes of gold plans."""
    made = make_submission(suite=make_toolmini(), name="gold", bundled_name="gold").evaluations.get()
    arbiter = parse_arbiter(endpoint.name if name is None else name) if name != "" else None
    runner = EvaluatorRunner(store=MemoryStore(), device="cpu", arbiter=arbiter, arbiter_key=KEY)
    with server() as url:
        work_through(url, runner=runner, secrets=[KEY])
    made.refresh_from_db()
    return made


@pytest.mark.django_db(transaction=True)
def test_settled_pairs_count_and_the_range_by_the_rules_stays_beside_them(endpoint, settings):
    endpoint.script = ["Verdict: same"] * 30 + ["Verdict: different"] * 30 + ["Verdict: unsure"]
    made = evaluated(endpoint)
    assert made.state == EvaluationState.COMPLETED, made.reason_text
    assert made.profile_digest == Library().rules_digest(suite="toolmini", profile="none")
    asked = len(endpoint.asked) // 3
    metrics = made.summary["metrics"]
    # A few requests have two texts.
    assert 20 < asked <= UNDECIDED
    assert {key for key, _ in endpoint.asked} == {f"Bearer {KEY}"}
    assert metrics["SE"]["mean"] > metrics["SE_low"]["mean"] == pytest.approx(1 - UNDECIDED / 120)
    assert 0 < metrics["undecided"]["mean"] < UNDECIDED / 120
    assert metrics["SE_high"]["mean"] == 1.0
    assert mismatches(verified("/boards/toolmini/")) == []
    html = " ".join(Client().get("/boards/toolmini/").content.decode().split())
    assert f"shipped network</a>, then by {MODEL} (same-meaning/1)" in html
    shares = {who: f"{100 * metrics[key]['mean']:.1f}" for who, key in DECIDED_BY.items()} | {
        "undecided": f"{100 * metrics['undecided']['mean']:.1f}"
    }
    assert shares["network"] == "0.0" != shares["arbiter"]
    words = f"rules 65.0 %, network 0.0 %, arbiter {shares['arbiter']} %, undecided {shares['undecided']} %"
    assert f"<dt>SE decided by</dt><dd>{words}</dd>" in html
    assert "0.650 \N{EN DASH} 1.000 by the rules alone" in html
    assert KEY not in html
    record = Client().get(f"/api/v1/evaluations/{made.pk}/results/QA/0/").json()["record"]
    assert (record["arbiter"]["name"], len(record["arbiter"]["prompt_sha256"])) == (MODEL, 64)
    (pair,) = record["pairs"]
    html = " ".join(Client().get(f"/evaluations/{made.pk}/tasks/QA/0/").content.decode().split())
    assert "By the rules alone it is undecided." in html
    assert f"The arbiter {MODEL} (same-meaning/1) decided; its answers: {', '.join(pair['answers'])}." in html
    html = Client().get(f"/evaluations/{made.pk}/").content.decode()
    assert MODEL in html
    assert f"Decided by: {words}" in html


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", usual(["", ANOTHER], of=[ANOTHER]))
def test_a_worker_with_another_arbiter_is_refused(endpoint, settings, name):
    made = evaluated(endpoint, name=name)
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
    from leaderboard.platform.settings import evaluations

    monkeypatch.setenv("PLANARENA_ARBITER", "chat:http://h/v1#m")
    monkeypatch.setenv(variable, value)
    with pytest.raises(ImproperlyConfigured, match=re.escape(said)):
        runpy.run_path(evaluations.__file__)
