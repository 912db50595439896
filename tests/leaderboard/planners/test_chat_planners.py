"""Chat endpoints with a strategy: what may be entered, and from the API through a real worker to the results."""

import json
import logging
from collections.abc import Iterator
from typing import get_args

import pytest

from evaluator.client import Client, NewSubmission, PlannerEntry
from evaluator.planners.language_models.chat.apis import ApiName
from evaluator.planners.language_models.chat.apis.base import CHAT_ABILITIES
from evaluator.planners.language_models.chat.model import KEY_VARIABLE
from gpu_jobs.contract import ChatApi
from leaderboard.evaluations.models import Evaluation
from leaderboard.people.services import create_token
from leaderboard.planners.kinds import kind_of
from leaderboard.planners.kinds.language_models import chat_strategies, model_strategies, worker_strategies
from leaderboard.planners.models import Planner
from tests.fakes.tool_services import ToolService, Written, serving_tools
from tests.leaderboard.factories import make_suite, make_user
from tests.leaderboard.planners.servers import TOKEN, Guarded, chatting
from tests.leaderboard.planners.test_secret_headers import CREDENTIAL, everything_in_the_database
from tests.leaderboard.planning import REAL, make_toolmini
from tests.leaderboard.platform.api.helpers import client_of
from tests.leaderboard.queue.working import work_through
from tests.leaderboard.serving import server
from tests.rings import usual

pytestmark = pytest.mark.django_db
HEADER = {"header_name": "Authorization", "header_value": TOKEN}
CHAT = {
    "kind": "chat",
    "bundled_name": "",
    "endpoint_url": "https://chat.example.org/v1",
    "model_id": "small-model",
    "strategy": "hugginggpt",
}
SOLVED = "image_editing/5"
TASKS = json.dumps(
    [
        {"task": "image_instance_segmentation", "id": 0, "dep": [-1], "args": {"image": "station_000.png"}},
        {"task": "select_mask", "id": 1, "dep": [0], "args": {"mask_list": "<resource>-0", "condition": "keyboard"}},
        {"task": "image_inpainting", "id": 2, "dep": [1], "args": {"image": "station_000.png", "mask": "<resource>-1"}},
    ]
)
"""As HuggingGPT's model writes a plan: one that solves `SOLVED`, and answers nothing else."""
CALLS = Written(
    calls=[
        ("image_instance_segmentation", '{"image": "station_000.png"}'),
        ("select_mask", '{"mask_list": "call_1", "condition": "keyboard"}'),
        ("image_inpainting", '{"image": "station_000.png", "mask": "call_2"}'),
    ]
)


def body(**planner) -> dict:
    return {"planner": {"name": "mine", **CHAT, **planner}, "suites": ["openagi"]}


def test_it_is_kept_and_its_worker_is_told_all_that_it_takes(settings):
    make_suite(slug="openagi")
    answer = client_of(make_user()).post("submissions/", body(**HEADER, timeout_seconds=60, parameters=7))
    assert answer.status_code == 201, answer.json()
    planner = Planner.objects.get()
    assert (planner.model_name, planner.parameters) == ("small-model", 7)
    assert kind_of(planner).lease(planner=planner, tasks=[]).model_dump() == {
        "kind": "chat", "url": "https://chat.example.org/v1", "model": "small-model", "strategy": "hugginggpt",
        "timeout_seconds": 60, "allow_private": settings.DEMO, "has_header": True, "api": "auto",
        "reasoning_effort": "", "answer_tokens": None, "streamed": False, "roles": {},
    }  # fmt: skip


def test_how_the_api_is_called_is_declared_told_the_worker_and_shown_to_everybody(client):
    make_suite(slug="openagi")
    how = {"api": "responses", "reasoning_effort": "high", "answer_tokens": 32768, "streamed": True}
    azure = "https://mine.openai.azure.com/openai/v1?api-version=2026-01-01-preview"
    api = client_of(make_user())
    made = api.post("submissions/", body(**how, endpoint_url=azure))
    assert made.status_code == 201, made.json()
    planner = Planner.objects.get()
    lease = kind_of(planner).lease(planner=planner, tasks=[])
    assert (lease.url, {name: getattr(lease, name) for name in how}) == (azure, how)
    evaluation = made.json()["evaluations"][0]["id"]
    shown = client_of(make_user("eve")).get(f"evaluations/{evaluation}/").json()["planner"]
    assert {name: shown[name] for name in how} == how
    html = client.get(f"/evaluations/{evaluation}/").content.decode()
    assert "reasoning effort" in html
    assert "at most 32,768" in html
    other = api.post("submissions/", body(**{**how, "reasoning_effort": "low"}, endpoint_url=azure))
    assert "with another reasoning effort" in str(other.json()["errors"])


def test_workers_know_the_apis_of_the_site():
    assert get_args(ChatApi) == get_args(ApiName)


WRONG = [
    ({"endpoint_url": ""}, "endpoint_url", "such as https://example.org/v1"),
    ({"endpoint_url": "ftp://example.org"}, "endpoint_url", "http"),
    ({"endpoint_url": "https://127.0.0.1/v1"}, "endpoint_url", "127.0.0.1"),
    ({"endpoint_url": "https://example.org/v1?version=2"}, "endpoint_url", "only '?api-version=...' is possible"),
    ({"endpoint_url": "https://example.org/v1?api-version=1&key=2"}, "endpoint_url", "only '?api-version=...'"),
    ({"endpoint_url": "https://example.org/v1#part"}, "endpoint_url", "only '?api-version=...' is possible"),
    ({"api": "completions"}, "api", "Choose one of auto, chat, responses, messages"),
    ({"reasoning_effort": "extreme"}, "reasoning_effort", "Choose one of none, minimal, low"),
    ({"answer_tokens": 3}, "answer_tokens", "Give 16 to 1000000 tokens"),
    ({"kind": "endpoint", "model_id": "", "strategy": "", "streamed": True}, "streamed", "has no streaming"),
    ({"model_id": ""}, "model_id", "name of the model"),
    ({"model_id": "x" * 201}, "model_id", "at most 200"),
    ({"strategy": ""}, "strategy", "Choose one of"),
    ({"strategy": "openagi/constrained"}, "strategy", "needs the probabilities of tokens"),
    ({"revision": "main"}, "revision", "A chat endpoint has no revision"),
    ({**HEADER, "endpoint_url": "http://chat.example.org/v1"}, "header_name", "https://"),
    ({"header_name": "Authorization"}, "header_value", "Give the value"),
]
"""What is entered, the field that is wrong, and what is said."""


def test_what_cannot_be_is_refused_beside_its_field(settings):
    settings.EVALUATOR, settings.DEMO = REAL, False
    make_suite(slug="openagi")
    api = client_of(make_user())
    for change, field, sentence in WRONG:
        answer = api.post("submissions/", body(**change))
        assert answer.status_code == 400, change
        assert sentence in " ".join(answer.json()["errors"][f"planner.{field}"])
    assert not Planner.objects.exists()


def test_strategies_are_offered_for_what_chat_endpoints_and_workers_can_do():
    assert set(model_strategies()) - set(chat_strategies()) == {"openagi/constrained", "openagi/nonlinear"}
    assert set(model_strategies()) - set(worker_strategies()) == {"native-tools"}
    assert all(entry.needs | entry.optional <= CHAT_ABILITIES for entry in chat_strategies().values())


@pytest.mark.django_db(transaction=True)
class TestThroughAWorker:
    @pytest.fixture
    def site(self, settings, tmp_path, launcher, monkeypatch, caplog) -> Iterator[str]:
        caplog.set_level(logging.DEBUG)
        monkeypatch.setenv(KEY_VARIABLE, "the-workers-own-key")
        settings.STORE_DIR = tmp_path / "store"
        settings.DEMO, settings.EVALUATOR = True, REAL
        make_toolmini()
        with server() as url:
            yield url

    def evaluated(self, site: str, chat: Guarded | ToolService, **planner: str) -> Evaluation:
        """The evaluation after a worker has done what there was."""
        entry = PlannerEntry.model_validate({"name": "mine", **CHAT, **HEADER, "endpoint_url": chat.url, **planner})
        with Client(url=site, token=create_token(user=make_user("ada")).token) as people:
            made = people.submit(NewSubmission(planner=entry, suites=["toolmini"]), key="k")
        work_through(site)
        return Evaluation.objects.get(pk=made.evaluations[0].id)

    def test_calls_of_tools_are_scored_as_the_plan(self, site):
        with serving_tools("chat", lambda prompt: CALLS) as chat:
            evaluation = self.evaluated(site, chat, strategy="native-tools")
        assert evaluation.state == "completed", evaluation.reason_text
        assert all(len(request["tools"]) > 20 for request in chat.requests)
        results = evaluation.results.all()
        assert set(results.values_list("outcome", flat=True)) <= {"scored", "planner_fault"}
        assert results.get(task__key=SOLVED).score == 1.0
        assert results.get(task__key=SOLVED).outcome == "scored"

    def told(self, settings, client, evaluation: Evaluation, log: str) -> str:
        """All that is kept, logged and shown."""
        files = [path for path in settings.STORE_DIR.rglob("*") if path.is_file()]
        stored = [path.read_bytes().decode(errors="replace") for path in files]
        client.force_login(evaluation.submission.planner.owner)
        pages = [client.get(path).content.decode() for path in ("/submissions/", f"/evaluations/{evaluation.pk}/")]
        return "\n".join([*stored, *pages, everything_in_the_database(), log])

    @pytest.mark.parametrize("echo", usual([False, True], of=[True]))
    def test_the_strategy_asks_it_and_no_record_log_or_page_tells_the_secret(
        self, site, settings, client, caplog, echo
    ):
        with chatting(answer=TASKS, echo=echo) as chat:
            evaluation = self.evaluated(site, chat)
        assert set(chat.headers) == {TOKEN}
        assert chat.paths == {"/v1/chat/completions"}
        assert {request["model"] for request in chat.requests} == {"small-model"}
        results = evaluation.results.all()
        if not echo:
            assert evaluation.state == "completed", evaluation.reason_text
            assert results.count() == evaluation.suite.tasks.count() > 5
            assert set(results.values_list("outcome", flat=True)) == {"scored"}
            assert results.get(task__key=SOLVED).score == 1.0
            assert evaluation.summary["reading"]["replies"] == results.count()
            assert evaluation.summary["reading"]["unreadable"] == 0
            assert results.filter(score=0.0).count() > results.count() / 2
        told = self.told(settings, client, evaluation, caplog.text)
        assert CREDENTIAL not in told
        assert "the-workers-own-key" not in told
        assert ("use ***" in told) == echo, "records hold what was answered"
