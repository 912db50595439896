"""An evaluation on the hidden split by a real worker, and what the public can read of it: nothing of its data."""

import json
import stat

import pytest
from django.test import Client
from django.utils import timezone

from evaluator.core.records import ResultRecord
from evaluator.core.suites.registry import suite_of
from evaluator.core.values import Artefact, MediaType
from evaluator.execution.engine.store import LocalStore
from gpu_jobs.runner import EvaluatorRunner
from leaderboard.catalog.library import split_of
from leaderboard.catalog.models import Season, Suite
from leaderboard.catalog.services import register_suite
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.evaluations.results.objects import server_store
from leaderboard.planners.kinds import KINDS
from leaderboard.queue.launching import local_launcher
from tests.leaderboard.factories import (
    make_evaluation,
    make_season,
    make_submission,
    make_suite,
    make_user,
    planner_data,
)
from tests.leaderboard.planning import REAL
from tests.leaderboard.queue.working import work_through
from tests.leaderboard.serving import server
from tests.leaderboard.suites import JUDGED

SECRET = "5eed5eed" * 8
TASKS = ("0", "14")
"""A restoration and one with a text for an answer."""


@pytest.fixture
def hidden(settings, tmp_path, launcher) -> Evaluation:
    """Two tasks on the hidden split, evaluated with real experts, in the stores that an installation has."""
    settings.EVALUATOR, settings.SPLIT, settings.SAMPLES = REAL, "hidden", 1
    settings.DATA_DIR, settings.STORE_DIR = tmp_path, tmp_path / "store"
    settings.HIDDEN_SEED = SECRET
    register_suite(suite_of("openagi"))
    suite = Suite.objects.get(slug="openagi", current=True)
    make_season()
    evaluation = make_submission(suite=suite, user=make_user(), bundled_name="random-valid").evaluations.get()
    evaluation.shards.exclude(number=0).delete()
    evaluation.shards.update(task_keys=list(TASKS))
    with server() as url:
        work_through(url, runner=EvaluatorRunner(store=LocalStore(local_launcher()._store), device="cpu"))
    return evaluation


def digests_of(evaluation: Evaluation) -> list[str]:
    """Every object of the evaluation, its records first."""
    found = []
    for result in TaskResult.objects.filter(evaluation=evaluation).exclude(record_digest=""):
        record = server_store(split=evaluation.split).get(result.record_digest)
        found += [result.record_digest]
        found += [one.digest for one in ResultRecord.model_validate_json(record.data).artefacts()]
    return found


def addresses_of_tasks(evaluation: Evaluation) -> list[str]:
    page, api = f"/evaluations/{evaluation.pk}/tasks/", f"/api/v1/evaluations/{evaluation.pk}/results/"
    return [f"{place}{task}/" for task in TASKS for place in (page, api)]


@pytest.mark.django_db(transaction=True)
def test_nothing_of_the_hidden_split_is_public_and_staff_read_it(hidden, tmp_path):
    digests = digests_of(hidden)
    assert len(digests) > 2 * len(TASKS)
    client = Client()
    client.force_login(hidden.submission.submitted_by)
    for digest in digests:
        assert client.get(f"/objects/{digest}").status_code == 404
        assert client.get(f"/hidden-objects/{digest}").status_code == 404
    assert not list((tmp_path / "store" / "public").rglob("*.*"))
    for path in ("results/", *(f"results/{task}/" for task in TASKS), ""):
        text = client.get(f"/api/v1/evaluations/{hidden.pk}/{path}").content.decode()
        assert '"record_digest":"' not in text or '"record_digest":""' in text
        assert not [digest for digest in digests if digest in text]
        assert SECRET not in text
    for address in addresses_of_tasks(hidden):
        assert client.get(address).status_code == 403
    staff = Client()
    staff.force_login(make_user("operator"))
    type(hidden.submission.submitted_by).objects.filter(username="operator").update(is_staff=True)
    shown = staff.get(f"/api/v1/evaluations/{hidden.pk}/results/{TASKS[0]}/").json()
    assert len(shown["record"]["samples"]) == 1
    assert json.loads(staff.get(f"/hidden-objects/{shown['record_digest']}").content) == shown["record"]
    Season.objects.update(closed=timezone.now())
    for task in TASKS:
        shown = client.get(f"/api/v1/evaluations/{hidden.pk}/results/{task}/").json()
        assert shown["record"]["plan"] is not None
        assert shown["record"]["samples"] == []
        page = client.get(f"/evaluations/{hidden.pk}/tasks/{task}/").content.decode()
        assert not [digest for digest in digests if digest in page]
    # Planners are asked in words that are in no public answer.
    store = server_store(split="hidden")
    found = TaskResult.objects.filter(evaluation=hidden).exclude(record_digest="")
    asked = [ResultRecord.model_validate_json(store.get(one.record_digest).data).request for one in found]
    public = [suite_of("openagi").task(task).text for task in TASKS]
    assert len(asked) == len(TASKS)
    assert not set(asked) & set(public)
    paths = [f"/evaluations/{hidden.pk}/", f"/api/v1/evaluations/{hidden.pk}/results/", "/api/v1/suites/openagi/tasks/"]
    paths += addresses_of_tasks(hidden)
    for reader in (Client(), client):
        texts = [reader.get(path).content.decode() for path in paths]
        assert not [words for words in asked for text in texts if words in text]
        assert [words for words in public for text in texts if words in text]


def test_suites_have_a_hidden_split_where_their_requests_can_be_hidden(settings):
    for splits, split in (
        (["public", "validation", "hidden"], "hidden"),
        (["all", "hidden"], "hidden"),
        (["all"], "all"),
    ):
        settings.SPLIT = "hidden"
        assert split_of(Suite(conditions={"splits": splits})) == split
        settings.SPLIT = "public"
        assert split_of(Suite(conditions={"splits": splits})) == splits[0]


@pytest.mark.django_db
@pytest.mark.parametrize("split", ["public", "hidden"])
def test_hidden_requests_come_in_no_order_that_tells_which_they_are(settings, split):
    settings.SPLIT = split
    suite = make_suite(runnable=40)
    make_season()
    shards = make_evaluation(suite=suite).shards.order_by("number").values_list("task_keys", flat=True)
    asked = [key for keys in shards for key in keys]
    in_order = [str(number) for number in range(40)]
    assert sorted(asked) == sorted(in_order)
    assert (asked == in_order) == (split == "public")


@pytest.mark.django_db
def test_no_plans_can_be_written_down_for_hidden_requests(settings):
    make_suite(slug="toolmini")
    Suite.objects.update(**JUDGED)
    assert KINDS["plans"].check_suites(data=planner_data(), suites=["toolmini"]) == {}
    settings.SPLIT = "hidden"
    refused = KINDS["plans"].check_suites(data=planner_data(), suites=["toolmini"])
    assert "has hidden requests on this site" in refused["suites"][0]


@pytest.mark.django_db
def test_local_workers_write_into_no_store_that_is_served_and_get_none_of_the_site_s_secrets(settings, monkeypatch):
    ours = {"PLANARENA_SECRET_KEY", "PLANARENA_SECRET_KEY_BEFORE", "PLANARENA_GITHUB_SECRET", "PLANARENA_METRICS_TOKEN"}
    ours |= {"DATABASE_URL", "BROKER_URL", "EMAIL_HOST_PASSWORD"}
    for name in ours:
        monkeypatch.setenv(name, "a secret")
    assert not ours & set(local_launcher()._environment)
    store = local_launcher()._store
    for split in ("public", "hidden"):
        assert store not in {settings.STORE_DIR, server_store(split=split).path}
        assert not server_store(split=split).path.is_relative_to(store)
        assert not store.is_relative_to(server_store(split=split).path)


def test_nobody_else_on_the_machine_can_read_the_hidden_store(settings, tmp_path):
    settings.STORE_DIR = tmp_path / "store"
    digest = server_store(split="hidden").put(Artefact(data=b"hidden", media_type=MediaType.TEXT))
    assert server_store(split="hidden").has(digest)
    assert stat.S_IMODE(server_store(split="hidden").path.stat().st_mode) == 0o700
