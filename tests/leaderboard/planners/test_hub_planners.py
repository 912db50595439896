"""Submitting a model of a hub: what the site asks, pins and refuses. The hub speaks real HTTP on 127.0.0.1."""

import json
from functools import partial

import pytest

from evaluator.sandbox.admission import hub_lookup
from evaluator.sandbox.admission.settings_files import inspect_settings, inspect_settings_confined
from leaderboard.evaluations.models import Submission
from leaderboard.planners.models import Planner
from leaderboard.submissions.actions import rerun
from tests.evaluator.execution.experts.hub_server import serving
from tests.fakes.checkpoints import tiny_files
from tests.leaderboard.factories import make_suite, make_user
from tests.leaderboard.platform.api.helpers import client_of, lease_request, worker_client
from tests.leaderboard.queue.job_helpers import ended, run_jobs

pytestmark = pytest.mark.django_db
COMMIT, LATER = "c" * 40, "d" * 40


@pytest.fixture
def repository(tmp_path):
    """The folder of `own/planner` on the hub, to be changed."""
    folder = tmp_path / "hub" / "own" / "planner"
    folder.mkdir(parents=True)
    for name, data in tiny_files().items():
        (folder / name).write_bytes(data)
    return folder


@pytest.fixture
def commits():
    """The newest commit of each model, to be changed."""
    return {"own/planner": COMMIT}


@pytest.fixture
def said():
    """What the hub says beside the truth, to be changed."""
    return {"safetensors": {"total": 38_912, "parameters": {"F32": 38_912}}}


@pytest.fixture
def inspect():
    """How the files of settings are checked; a process of its own takes half a second."""
    return inspect_settings


@pytest.fixture
def hub(repository, commits, said, settings, launcher, monkeypatch, inspect):
    monkeypatch.setattr(hub_lookup, "look_up", partial(hub_lookup.look_up, inspect=inspect))
    with serving(repository.parents[1], commits=commits, said=said, revisions=["main"]) as address:
        settings.HUB_URL = address
        yield address


@pytest.fixture
def user():
    return make_user("ada")


def body(suite, **planner) -> dict:
    chosen = {"name": "mine", "kind": "hub", "model_id": "own/planner", "strategy": "openagi/zero-shot"}
    return {"planner": {**chosen, **planner}, "suites": [suite.slug]}


@pytest.fixture
def suite():
    return make_suite(slug="openagi")


def submit(user, suite, **planner) -> tuple[int, dict]:
    """Status and body of the answer: the submission, or the problem, of which a job may have come to know."""
    api = client_of(user)
    answer = api.post("submissions/", body(suite, **planner))
    if answer.status_code != 202:
        return answer.status_code, answer.json()
    job = ended(api, answer)
    return (201, job["result"]) if job["state"] == "done" else (job["problem"]["status"], job["problem"])


def test_it_is_pinned_and_what_the_hub_says_is_kept(hub, user, suite, repository):
    status, made = submit(user, suite)
    assert status == 201, made
    planner = made["planner"]
    assert {name: planner[name] for name in ("revision", "commit", "licence", "parameters", "open_weights")} == {
        "revision": "main", "commit": COMMIT, "licence": "mit", "parameters": 38_912, "open_weights": True,
    }  # fmt: skip
    row = Planner.objects.get()
    assert (row.model_name, row.weights_bytes) == ("own/planner", (repository / "model.safetensors").stat().st_size)
    told = worker_client().post("worker/lease/", lease_request()).json()["planner"]
    assert told == {"kind": "hub", "model_id": "own/planner", "commit": COMMIT, "strategy": "openagi/zero-shot",
                    "roles": {}}  # fmt: skip


def test_the_same_again_is_the_same_planner_until_its_branch_has_moved(hub, user, suite, commits):
    assert [submit(user, suite)[0], submit(user, suite, revision="main")[0]] == [201, 201]
    assert Planner.objects.count() == 1
    commits["own/planner"] = LATER
    _, moved = submit(user, suite)
    assert moved["errors"] == {"planner.name": ["You have a planner 'mine' with another commit: choose another name."]}
    assert submit(user, suite, name="later")[1]["planner"]["commit"] == LATER


def test_a_rerun_uses_the_pinned_commit_and_does_not_ask_the_hub(hub, user, suite, settings):
    submit(user, suite)
    evaluation = Submission.objects.get().evaluations.get()
    type(evaluation).objects.filter(pk=evaluation.pk).update(state="cancelled")
    settings.HUB_URL = "http://127.0.0.1:9"
    assert rerun(evaluation, by=user).planner.commit == COMMIT


WRONG = [
    ({"model_id": ""}, "model_id", "as ORG/NAME"),
    ({"model_id": "planner"}, "model_id", "is no ORG/NAME"),
    ({"model_id": "own/nothing"}, "model_id", "has no model own/nothing"),
    ({"revision": "nightly"}, "model_id", "has no revision 'nightly'"),
    ({"revision": "a b"}, "revision", "is no branch"),
    ({"strategy": ""}, "strategy", "Choose one of gpt4tools"),
    ({"strategy": "unheard-of"}, "strategy", "Choose one of"),
    ({"strategy": "gold"}, "strategy", "Choose one of"),
    ({"strategy": "native-tools"}, "strategy", "needs a service that takes definitions of tools"),
    ({"strategy": "openagi/zero-shot:chat:http://10.0.0.1/v1#m"}, "strategy", "Choose one of"),
    ({"bundled_name": "gold"}, "bundled_name", "has no bundled planner: leave this empty"),
    ({"endpoint_url": "https://example.org/"}, "endpoint_url", "leave this empty"),
    ({"checkpoint_digest": "a" * 64}, "checkpoint_digest", "leave this empty"),
    ({"kind": "bundled", "bundled_name": "gold", "strategy": ""}, "model_id", "leave this empty"),
]
"""What is entered, the field that is wrong, and what is said."""


def test_what_is_wrong_is_said_beside_its_field_and_nothing_is_saved(hub, user, suite):
    for planner, where, complaint in WRONG:
        status, problem = submit(user, suite, **planner)
        assert (status, list(problem["errors"])) == (400, [f"planner.{where}"]), planner
        assert complaint in problem["errors"][f"planner.{where}"][0]
    assert not Planner.objects.exists()


class TestRefusals:
    def refused(self, user, suite) -> str:
        status, problem = submit(user, suite)
        assert status == 400, problem
        assert not Planner.objects.exists()
        (sentence,) = problem["errors"]["planner.model_id"]
        return sentence

    @pytest.mark.parametrize("inspect", [inspect_settings_confined], ids=["in a process of its own"])
    def test_code_of_its_own(self, hub, user, suite, repository):
        content = json.loads((repository / "config.json").read_text())
        (repository / "config.json").write_text(json.dumps({**content, "auto_map": {"AutoModel": "own.Model"}}))
        assert "It needs code of its own (auto_map in config.json)" in self.refused(user, suite)

    def test_too_large_for_the_gpu_says_both_numbers(self, hub, user, suite, said, settings):
        settings.GPU_MEMORY_GB = 16
        files = {"model.safetensors": 14 * 1024**3, "config.json": 900, "tokenizer.json": 900}
        said["siblings"] = [{"rfilename": name, "size": size} for name, size in files.items()]
        sentence = self.refused(user, suite)
        assert "weights have 14.0 GB" in sentence
        assert "about 18.2 GB of GPU memory, and the workers here have 16 GB" in sentence
        settings.GPU_MEMORY_GB = 19
        assert submit(user, suite)[0] == 201


def test_a_hub_that_is_away_is_503_with_a_sentence_and_nothing_is_saved(hub, user, suite, settings):
    settings.HUB_URL = "http://127.0.0.1:9"
    status, problem = submit(user, suite)
    assert (status, problem["code"]) == (503, "not_ready")
    assert "The model hub http://127.0.0.1:9 did not answer" in problem["detail"]
    assert not Planner.objects.exists()


def test_a_request_is_answered_before_the_hub_is_asked_and_its_key_finds_the_job_and_the_submission(
    hub, user, suite, settings
):
    api = client_of(user)
    # Nothing listens there: the request asks nobody.
    settings.HUB_URL = "http://127.0.0.1:9"
    first, again = (api.post("submissions/", body(suite), Idempotency_Key="k") for _ in range(2))
    assert (first.status_code, again.status_code) == (202, 202)
    assert first["Location"] == again["Location"] == f"/api/v1/submissions/pending/{first.json()['id']}/"
    assert first["Retry-After"] == "1"
    assert api.post("submissions/", body(suite, name="other"), Idempotency_Key="k").status_code == 422
    assert client_of(make_user("eve")).get(first["Location"].removeprefix("/api/v1/")).status_code == 404
    settings.HUB_URL = hub
    job = ended(api, first)
    made = api.post("submissions/", body(suite), Idempotency_Key="k")
    assert (made.status_code, made["Idempotent-Replayed"], made.json()["id"]) == (201, "true", job["result"]["id"])
    assert Submission.objects.count() == 1


class TestPage:
    FORM = {"kind": "hub", "model_id": " own/planner ", "revision": "", "strategy": "hugginggpt", "name": "mine"}

    def test_a_model_is_submitted(self, client, hub, user, suite):
        client.force_login(user)
        shown = client.get("/submit/hub/").content.decode()
        assert 'name="model_id"' in shown
        assert 'value="hub"' in shown
        page = client.post("/submit/", {**self.FORM, "suites": ["openagi"]})
        assert page.status_code == 302
        waiting = client.get(page.url).content.decode()
        assert "Waiting to be checked." in waiting
        assert '<noscript><meta http-equiv="refresh"' in waiting
        assert "HX-Refresh" not in client.get(page.url, headers={"HX-Request": "true"}).headers
        run_jobs()
        assert client.get(page.url, headers={"HX-Request": "true"}).headers["HX-Refresh"] == "true"
        evaluation = Submission.objects.get().evaluations.get()
        assert client.get(page.url).url == f"/evaluations/{evaluation.pk}/"
        assert Planner.objects.get().commit == COMMIT
