"""Hub models and uploaded checkpoints from the API through a real worker to the results; only the hub is fake."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from django.conf import settings as site_settings

from evaluator.client import Client, Evaluation, NewSubmission, PlannerEntry
from evaluator.engine.store import LocalStore
from evaluator.planners.language_models.shipped import shipped_folder
from evaluator.suites import suite_of
from gpu_jobs.checkpoints import CheckpointCache
from gpu_jobs.client import ApiClient
from gpu_jobs.exits import Exit
from gpu_jobs.runner import EvaluatorRunner
from gpu_jobs.worker import Worker
from leaderboard.accounts.services import create_token
from leaderboard.boards.services import latest_snapshot
from leaderboard.catalog.models import Suite, Task
from leaderboard.catalog.services import register_suite
from leaderboard.evaluations.models import Attempt
from leaderboard.queue.reconcile import sweep
from tests.evaluator.experts.hub_server import serving
from tests.fakes.checkpoints import zipped, zipped_folder
from tests.leaderboard.factories import make_user
from tests.leaderboard.planning import REAL
from tests.leaderboard.serving import server

pytestmark = [pytest.mark.full, pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]
COMMIT = "c" * 40
SHIPPED = "lilliput-planner"
STRATEGY = "openagi/constrained"
TASKS = ("0", "1", "7", "14")


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def openagi(settings) -> Suite:
    """The suite with a few of its tasks, in the miniature world."""
    settings.EVALUATOR = REAL
    settings.SAMPLES = 1
    settings.TASKS_PER_SHARD = 2
    register_suite(suite_of("openagi"))
    suite = Suite.objects.get(slug="openagi", current=True)
    Task.objects.filter(suite=suite).exclude(key__in=TASKS).delete()
    return suite


@pytest.fixture
def url(settings, tmp_path, launcher, monkeypatch) -> Iterator[str]:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    settings.STORE_DIR = tmp_path / "store"
    with server() as served:
        yield served


@pytest.fixture
def people(url) -> Iterator[Client]:
    """The client that the command line uses."""
    with Client(url=url, token=create_token(user=make_user("ada")).token) as client:
        yield client


def work(url: str, *, folder: Path, hub: str | None = None) -> None:
    """A worker of the operator's, until it finds nothing more to do."""
    sweep()
    client = ApiClient(url=url, token=site_settings.WORKER_TOKEN)
    cache = CheckpointCache(client=client, folder=folder / "checkpoints")
    store = LocalStore(folder / "worker-store")
    runner = EvaluatorRunner(store=store, device="cpu", checkpoints=cache, hub=hub)
    assert Worker(client=client, runner=runner, name="w", idle_seconds=0.0).run() == Exit.IDLE
    cache.close()
    sweep()


def submitted(people: Client, entry: PlannerEntry) -> str:
    made = people.submit(NewSubmission(planner=entry, suites=["openagi"]), key=entry.name)
    return made.evaluations[0].id


def ended(people: Client, evaluation: str) -> tuple[Evaluation, dict[str, tuple[str, float | None, str]]]:
    rows = {row.task: (row.outcome, row.score, row.plan_summary) for row in people.results(evaluation)}
    return people.evaluation(evaluation), rows


def test_what_is_shipped_scores_the_same_uploaded_and_from_a_hub(url, people, openagi, tmp_path, settings):
    folder = shipped_folder(SHIPPED)
    file = tmp_path / "model.zip"
    file.write_bytes(zipped_folder(folder))
    repository = tmp_path / "hub" / "own" / "planner"
    repository.parent.mkdir(parents=True)
    repository.symlink_to(folder)
    with serving(tmp_path / "hub", commits={"own/planner": COMMIT}) as hub:
        settings.HUB_URL = hub
        digest = people.upload_checkpoint(file)
        evaluations = [
            submitted(people, entry)
            for entry in (
                PlannerEntry.bundled(f"{STRATEGY}:{SHIPPED}", name="bundled"),
                PlannerEntry.checkpoint(digest, name="uploaded", strategy=STRATEGY),
                PlannerEntry.hub("own/planner", name="fetched", strategy=STRATEGY),
            )
        ]
        work(url, folder=tmp_path, hub=hub)
    (bundled, wanted), *others = [ended(people, evaluation) for evaluation in evaluations]
    assert bundled.state == "completed", bundled.reason_text
    assert {outcome for outcome, _, _ in wanted.values()} == {"scored"}
    assert sum(score for _, score, _ in wanted.values()) > 0
    for evaluation, rows in others:
        assert evaluation.state == "completed", evaluation.reason_text
        assert rows == wanted
        assert evaluation.summary.metrics == bundled.summary.metrics
    # The canary went first: with two tasks to a shard there is one shard more.
    assert Attempt.objects.filter(shard__evaluation=evaluations[0]).count() == 2
    assert Attempt.objects.filter(shard__evaluation=evaluations[1]).count() == 3
    board = {row["planner"]: row["strategy"] for row in latest_snapshot(suite=openagi).content["rows"]}
    assert board == {"bundled": f"{STRATEGY}:{SHIPPED}", "uploaded": STRATEGY, "fetched": STRATEGY}
    assert not list((tmp_path / "checkpoints").iterdir())


def test_a_checkpoint_that_cannot_be_loaded_fails_after_two_tasks_with_a_sentence(url, people, openagi, tmp_path):
    file = tmp_path / "model.zip"
    file.write_bytes(zipped(config__json=b'{"model_type": "gpt2", "n_embd": 48, "n_head": 2, "n_layer": 2}'))
    entry = PlannerEntry.checkpoint(people.upload_checkpoint(file), name="broken", strategy=STRATEGY)
    evaluation = submitted(people, entry)
    work(url, folder=tmp_path)
    found, rows = ended(people, evaluation)
    assert (found.state, found.reason) == ("failed", "canary_failed")
    assert "lack the right shapes" in found.reason_text
    assert str(tmp_path) not in found.reason_text
    # Those that were never asked say so.
    assert [outcome for outcome, _, _ in rows.values()] == ["planner_fault"] * 2 + ["not_run"] * 2


def test_a_hub_that_is_away_makes_it_wait_and_no_fault_of_the_planner(url, people, openagi, tmp_path, settings):
    folder = tmp_path / "hub" / "own" / "planner"
    folder.parent.mkdir(parents=True)
    folder.symlink_to(shipped_folder(SHIPPED))
    with serving(tmp_path / "hub", commits={"own/planner": COMMIT}) as hub:
        settings.HUB_URL = hub
        evaluation = submitted(people, PlannerEntry.hub("own/planner", name="far", strategy=STRATEGY))
    work(url, folder=tmp_path, hub="http://127.0.0.1:9")
    found, rows = ended(people, evaluation)
    assert (found.state, found.reason, rows) == ("running", "canary_retry", {})
    assert "cannot be fetched from http://127.0.0.1:9" in found.reason_text
