"""Hub models and uploaded checkpoints from the API through a real worker to the results; only the hub is fake."""

import json
from collections.abc import Iterator

import pytest
import torch
from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.client import Client, NewSubmission, PlannerEntry
from evaluator.core.suites.registry import suite_of
from evaluator.execution.engine.store import LocalStore, MemoryStore
from evaluator.planners.language_models.shipped import shipped_folder
from gpu_jobs.checkpoints import CheckpointCache
from gpu_jobs.client import ApiClient
from gpu_jobs.runner import EvaluatorRunner
from leaderboard.boards.services import latest_snapshot
from leaderboard.catalog.models import Suite, Task
from leaderboard.catalog.services import register_suite
from leaderboard.evaluations.models import Attempt
from leaderboard.people.services import create_token
from tests.evaluator.execution.experts.hub_server import serving
from tests.fakes.checkpoints import zipped_folder
from tests.fakes.tiny_models import released_llama
from tests.leaderboard.factories import make_user
from tests.leaderboard.planning import REAL
from tests.leaderboard.queue.working import work_through
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
        entries = [
            PlannerEntry.bundled(f"{STRATEGY}:{SHIPPED}", name="bundled"),
            PlannerEntry.checkpoint(digest, name="uploaded", strategy=STRATEGY),
            PlannerEntry.hub("own/planner", name="fetched", strategy=STRATEGY),
        ]
        made = [people.submit(NewSubmission(planner=one, suites=["openagi"]), key=one.name) for one in entries]
        evaluations = [one.evaluations[0].id for one in made]
        client = ApiClient(url=url, token=settings.WORKER_TOKEN)
        cache = CheckpointCache(client=client, folder=tmp_path / "checkpoints")
        store = LocalStore(tmp_path / "worker-store")
        work_through(url, runner=EvaluatorRunner(store=store, device="cpu", checkpoints=cache, hub=hub))
        cache.close()
    ended = [people.evaluation(evaluation) for evaluation in evaluations]
    assert [one.state for one in ended] == ["completed"] * 3, [one.reason_text for one in ended]
    wanted, *others = [
        {row.task: (row.outcome, row.score, row.plan_summary) for row in people.results(one)} for one in evaluations
    ]
    assert {outcome for outcome, _, _ in wanted.values()} == {"scored"}
    assert sum(score for _, score, _ in wanted.values()) > 0
    assert others == [wanted, wanted]
    assert ended[0].summary.metrics == ended[1].summary.metrics == ended[2].summary.metrics
    # The canary went first: with two tasks to a shard there is one shard more.
    assert Attempt.objects.filter(shard__evaluation=evaluations[0]).count() == 2
    assert Attempt.objects.filter(shard__evaluation=evaluations[1]).count() == 3
    board = {row["planner"]: row["strategy"] for row in latest_snapshot(suite=openagi).content["rows"]}
    assert board == {"bundled": f"{STRATEGY}:{SHIPPED}", "uploaded": STRATEGY, "fetched": STRATEGY}
    assert not list((tmp_path / "checkpoints").iterdir())


def test_a_model_tuned_by_lumos_train_is_submitted_as_it_is_and_gets_a_row(url, people, tmp_path, settings):
    settings.EVALUATOR = REAL
    register_suite(suite_of("lumos-mini"))
    suite = Suite.objects.get(slug="lumos-mini", current=True)
    Task.objects.filter(suite=suite, position__gte=3).delete()
    tiny = released_llama(tmp_path / "Llama-2-tiny", texts=["Subgoal 1: add the numbers."], template=True)
    chat = [{"role": "user", "content": "Add 1 and 2."}, {"role": "assistant", "content": "Subgoal 1: add."}]
    data = tmp_path / "train_annot.jsonl"
    data.write_text("".join(json.dumps({"dataset": "gsm8k", "id": n, "messages": chat}) + "\n" for n in range(4)))
    words = ["lumos", "train", "plan_iterative", "--model", tiny, "--data", data, "--steps", 2, "--batch", 2]
    trained = CliRunner().invoke(app, [*map(str, words), "--out", str(tmp_path / "trained")])
    assert trained.exit_code == 0, trained.output
    file = tmp_path / "trained.zip"
    file.write_bytes(zipped_folder(tmp_path / "trained"))
    planner = PlannerEntry.checkpoint(people.upload_checkpoint(file), name="tuned", strategy="lumos/iterative")
    made = people.submit(NewSubmission(planner=planner, suites=["lumos-mini"]), key="tuned")
    cache = CheckpointCache(client=ApiClient(url=url, token=settings.WORKER_TOKEN), folder=tmp_path / "checkpoints")
    work_through(url, runner=EvaluatorRunner(store=MemoryStore(), device="cpu", checkpoints=cache))
    cache.close()
    ended = people.evaluation(made.evaluations[0].id)
    assert ended.state == "completed", ended.reason_text
    # A model of two steps answers nothing that can be read; it was loaded, asked and scored on every task.
    assert {row.outcome for row in people.results(made.evaluations[0].id)} <= {"scored", "planner_fault"}
    (row,) = latest_snapshot(suite=suite).content["rows"]
    assert (row["planner"], row["strategy"]) == ("tuned", "lumos/iterative")
    assert row["usage"]["completion_tokens"] > 0
