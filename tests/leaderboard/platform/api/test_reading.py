"""Reading through the API what pages show, walking through lists, and what owners may do there."""

import json
from base64 import b64encode
from datetime import timedelta

import numpy as np
import pytest
from django.test import Client
from django.utils import timezone
from PIL import Image

from evaluator.core.records import Outcome
from evaluator.core.sounds import Sound, wav_of
from evaluator.core.values import Clip, encode
from evaluator.core.web_pages import page_of
from evaluator.execution.engine.store import LocalStore
from leaderboard.boards.services import publish
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.evaluations.results.objects import server_store
from leaderboard.queue.leasing import leases
from leaderboard.queue.reconcile import sweep
from leaderboard.queue.workers.finishing import deliver
from leaderboard.submissions import services
from tests.leaderboard.evaluations.web import factories as pages
from tests.leaderboard.factories import make_evaluation, make_lease, make_record, make_suite, make_user
from tests.leaderboard.platform.api.helpers import ApiClient, client_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]

EVERYBODY = ApiClient()


def finish(evaluation, *, faults: int = 0, score: float = 0.5) -> None:
    """Run an evaluation to its end, or to `on_hold` if tasks are faulty."""
    lease = make_lease(evaluation)
    slug = lease.evaluation.suite.slug
    records = [
        make_record(task, suite=slug, outcome=Outcome.INFRA_FAULT if number < faults else Outcome.SCORED, score=score)
        for number, task in enumerate(lease.tasks)
    ]
    assert isinstance(server_store(split="public"), LocalStore)
    deliver(attempt_id=lease.attempt.pk, records=records, store=server_store(split="public"))
    leases.complete(lease.attempt.pk)
    sweep()


def test_evaluations_are_public_and_can_be_filtered():
    first = make_evaluation(state=EvaluationState.LAUNCHING)
    owner = make_user()
    second = make_evaluation(user=owner)
    listed = EVERYBODY.get("evaluations/").json()
    assert {row["id"] for row in listed["results"]} == {str(first.pk), str(second.pk)}
    assert [row["id"] for row in EVERYBODY.get("evaluations/", state="queued").json()["results"]] == [str(second.pk)]
    suite = first.suite.slug
    assert [row["id"] for row in EVERYBODY.get("evaluations/", suite=suite).json()["results"]] == [str(first.pk)]
    assert [row["id"] for row in client_of(owner).get("evaluations/", mine=1).json()["results"]] == [str(second.pk)]
    for query in ({"state": "odd"}, {"suite": "a\x00b"}, {"state": "\x00"}):
        response = EVERYBODY.get("evaluations/", **query)
        assert (response.status_code, list(response.json()["errors"])) == (400, list(query))


def test_results_come_in_the_suite_s_order_and_can_be_filtered():
    evaluation = make_evaluation(suite=make_suite(runnable=4, not_run=2), state=EvaluationState.LAUNCHING)
    finish(evaluation, faults=1)
    path = f"evaluations/{evaluation.pk}/results/"
    listed = EVERYBODY.get(path).json()
    assert [row["task"] for row in listed["results"]] == ["0", "1", "2", "3", "x0", "x1"]
    assert [row["task"] for row in EVERYBODY.get(path, outcome="infra_fault").json()["results"]] == ["0"]
    assert len(EVERYBODY.get(path, metric="vit").json()["results"]) == 6
    assert EVERYBODY.get(path, outcome="odd").status_code == 400
    assert EVERYBODY.get(path, metric="odd").status_code == 400


def test_the_record_of_a_task_is_shown_whole():
    evaluation = make_evaluation(suite=make_suite(runnable=1, not_run=1), state=EvaluationState.LAUNCHING)
    finish(evaluation)
    shown = EVERYBODY.get(f"evaluations/{evaluation.pk}/results/0/").json()
    assert shown["record"]["version"] == "result/1"
    assert shown["record"]["score"] == shown["score"] == 0.5
    assert EVERYBODY.get(f"evaluations/{evaluation.pk}/results/x0/").json()["record"] is None
    assert EVERYBODY.get(f"evaluations/{evaluation.pk}/results/99/").status_code == 404


def test_owners_accept_what_is_on_hold_once_and_its_row_is_published():
    owner = make_user()
    evaluation = make_evaluation(user=owner, state=EvaluationState.LAUNCHING)
    finish(evaluation, faults=4)
    client, path = client_of(owner), f"evaluations/{evaluation.pk}"
    assert client.post(f"{path}/accept/").json()["state"] == "aggregating"
    sweep()
    assert EVERYBODY.get(f"{path}/").json()["state"] == "completed"
    for action in ("resume", "accept", "cancel"):
        response = client.post(f"{path}/{action}/")
        assert (response.status_code, response.json()["detail"][:29]) == (409, "The evaluation is 'completed'")


def test_an_artefact_is_served_for_ever_and_runs_nothing(client):
    evaluation = make_evaluation(state=EvaluationState.LAUNCHING)
    finish(evaluation)
    digest = evaluation.results.first().record_digest
    response = client.get(f"/objects/{digest}")
    assert json.loads(response.content)["version"] == "result/1"
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert "immutable" in response["Cache-Control"]
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in response["Content-Security-Policy"]
    assert client.get(f"/objects/{digest}", headers={"If-None-Match": f'"{digest}"'}).status_code == 304
    assert client.get(f"/objects/{'0' * 64}").status_code == 404
    assert client.get("/objects/..%2f..%2fsecrets").status_code == 404
    assert client.post(f"/objects/{digest}").status_code == 405


def test_a_sound_is_served_in_ranges_and_that_of_a_clip_alone(client):
    sound = Sound(np.arange(-500, 500, dtype=np.int16))
    clip = encode(Clip(np.zeros((2, 4, 4, 3), dtype=np.uint8), sound=sound))
    store, wav = server_store(split=""), wav_of(sound)
    path = f"/objects/{store.put(encode(sound))}"
    whole, part, end, outside = (
        client.get(path, headers={"Range": wanted} if wanted else {})
        for wanted in ("", "bytes=40-49", "bytes=2000-", f"bytes={len(wav)}-")
    )

    assert (whole["Content-Type"], whole["Accept-Ranges"], whole.content) == ("audio/wav", "bytes", wav)
    assert (part.status_code, part["Content-Range"], part.content) == (206, f"bytes 40-49/{len(wav)}", wav[40:50])
    assert (end.status_code, end.content, outside.status_code) == (206, wav[2000:], 416)
    assert (outside["Cache-Control"], "ETag" in outside) == ("no-store", False)
    assert client.get(path, headers={"Range": "bytes=5-3"}).content == wav, "no range, and ignored"
    path = f"/objects/{store.put(clip)}"
    assert client.get(path)["Content-Type"] == "image/apng; sound=wav"
    alone = client.get(path, {"part": "sound"})
    assert (alone["Content-Type"], alone.content) == ("audio/wav", wav)
    silent = store.put(encode(Clip(np.zeros((2, 4, 4, 3), dtype=np.uint8))))
    assert client.get(f"/objects/{silent}", {"part": "sound"}).status_code == 404


def test_a_web_page_is_served_for_frames_of_this_site_and_runs_nothing(client):
    page = page_of(title="A film", description="Dogs.", tags=("dog",), picture=b"\x89PNG", media_type="image/png")
    store = server_store(split="")
    path = f"/objects/{store.put(encode(page))}"
    framed = client.get(path, {"part": "page"})
    assert (framed.status_code, framed["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert framed["X-Frame-Options"] == "SAMEORIGIN"
    policy = framed["Content-Security-Policy"]
    assert "sandbox" in policy.split("; ")
    assert "allow-" not in policy
    assert {"default-src 'none'", "form-action 'none'", "frame-ancestors 'self'"} <= set(policy.split("; "))
    whole = client.get(path)
    assert whole["Content-Type"].startswith("text/plain")
    assert whole["ETag"] != framed["ETag"]
    for other in (page.replace("<p>", "<p onclick='x()'>"), "no page", "\x00", Image.new("RGB", (4, 4))):
        assert client.get(f"/objects/{store.put(encode(other))}", {"part": "page"}).status_code == 404


def test_an_unexpected_error_is_answered_in_json(settings):
    settings.EVALUATOR = "tests.fakes.evaluator.BrokenEvaluator"
    make_suite(slug="openagi")
    client = client_of(make_user())
    client._client.raise_request_exception = False
    body = {"planner": {"name": "a", "kind": "bundled", "bundled_name": "gold"}, "suites": ["openagi"]}
    response = client.post("submissions/", body)
    assert response.status_code == 500
    assert response.json()["code"] == "internal_error"


def walk(address: str, *, direction: str = "next") -> list[list[str]]:
    pages = []
    while address:
        page = EVERYBODY.get(address.split("/api/v1/")[-1]).json()
        pages.append([row["id"] for row in page["results"]])
        address = page[direction]
    return pages


def test_every_row_is_on_one_page_also_if_many_were_made_at_one_moment():
    made = [make_evaluation() for _ in range(5)]
    Evaluation.objects.update(created=timezone.now())
    pages = walk("evaluations/?page_size=2")
    assert [len(page) for page in pages] == [2, 2, 1]
    ids = [row for page in pages for row in page]
    assert ids == sorted((str(one.pk) for one in made), reverse=True)
    suite = made[0].suite
    make_evaluation(suite=suite)
    assert sum(len(page) for page in walk(f"evaluations/?page_size=1&suite={suite.slug}")) == 2, "filters stay"


def test_a_row_that_comes_in_meanwhile_moves_no_other():
    for _ in range(3):
        make_evaluation()
    first = EVERYBODY.get("evaluations/?page_size=2").json()
    late = make_evaluation()
    rest = walk(first["next"])
    assert str(late.pk) not in rest[0]
    assert not {row["id"] for row in first["results"]} & set(rest[0])
    back = EVERYBODY.get(first["next"].split("/api/v1/")[-1]).json()["previous"]
    assert [row["id"] for row in EVERYBODY.get(back.split("/api/v1/")[-1]).json()["results"]] == [
        row["id"] for row in first["results"]
    ]


def test_a_made_up_cursor_is_never_more_than_a_mistake():
    make_suite(slug="one")
    for path in ("evaluations/", "suites/", "suites/one/tasks/"):
        assert EVERYBODY.get(path, cursor="no cursor").status_code == 400
        for inside in ("", "p=abc", "p=%00", "o=-1", "o=x&p=1", "p=9999-99-99", "r=1&p=", "\xff"):
            cursor = b64encode(inside.encode("latin1")).decode()
            assert EVERYBODY.get(path, cursor=cursor).status_code in {200, 400}, (path, inside)


def test_done_counts_the_tasks_that_have_ended_in_every_state():
    suite = make_suite(runnable=3, not_run=2)
    completed, cancelled, queued = (
        make_evaluation(suite=suite, state=state) for state in ["launching"] * 2 + ["queued"]
    )
    finish(completed)
    services.cancel(cancelled)
    Evaluation.objects.filter(pk=completed.pk).update(created=timezone.now() - timedelta(days=1))
    rows = {row["id"]: row for row in EVERYBODY.get("evaluations/").json()["results"]}
    done = {name: rows[str(one.pk)]["done"] for name, one in
            (("completed", completed), ("cancelled", cancelled), ("queued", queued))}  # fmt: skip
    # Two have no expert, whatever the planner; tasks that were cancelled have not ended.
    assert done == {"completed": 5, "cancelled": 2, "queued": 2}
    completed.refresh_from_db()
    assert completed.state == EvaluationState.COMPLETED


def get(path: str, **query):
    answer = EVERYBODY.get(path, **query)
    assert answer.status_code == 200, answer.content
    return answer.json()


class TestBoards:
    def test_rows_are_filtered_sorted_and_paged_as_on_the_page(self):
        suite, _ = pages.make_board()
        for number in range(20):
            planner = pages.make_planner(owner=pages.make_user(f"user{number:02}"), endpoint_url="https://example.org")
            newest = publish(pages.make_evaluation(planner=planner, suite=suite, summary=pages.make_summary(0.1)))
        whole = get("boards/openagi/rows/")
        assert (whole["snapshot"], whole["total"], whole["matching"]) == (newest.number, 22, 22)
        assert whole["rows"] == newest.content["rows"]
        assert [row["owner"] for row in get("boards/openagi/rows/", kind="bundled")["rows"]] == ["ada", "bea"]
        first = get("boards/openagi/rows/", per_page=20, kind="endpoint", fields="rank,owner")
        assert set(first["rows"][0]) == {"rank", "owner"}
        assert first["next"] is None
        second = get("boards/openagi/rows/", per_page=20)
        assert (second["previous"], len(second["rows"])) == (None, 20)
        last = EVERYBODY.get(second["next"].partition("/api/v1/")[2]).json()
        assert (len(last["rows"]), last["next"], bool(last["previous"])) == (2, None, True)

    def test_plots_are_numbers_with_the_best_and_the_front(self):
        suite = pages.make_suite()
        for name, overall, seconds in (("quick", 0.3, 1.0), ("slow", 0.6, 5.0), ("dear", 0.5, 9.0)):
            summary = {**pages.make_summary(overall), "usage": {"seconds": {"mean": seconds, "tasks": 30}}}
            publish(
                pages.make_evaluation(
                    planner=pages.make_planner(owner=pages.make_user(name)), suite=suite, summary=summary
                )
            )
        told = get("boards/openagi/plots/")
        assert told["metric"] == "overall"
        assert [(one["owner"], one["on_front"]) for one in told["seconds"]] == [
            ("quick", True), ("slow", True), ("dear", False),
        ]  # fmt: skip
        assert told["cost"] == told["tokens"] == []
        assert sum(one["is_best"] for one in told["over_time"]) >= 1
        assert len(told["over_time"]) == 3

    def test_every_snapshot_is_listed_and_answers_the_same_for_ever(self):
        suite, second = pages.make_board()
        listed = get("boards/openagi/snapshots/")["results"]
        assert [row["number"] for row in listed] == [second.number, second.number - 1]
        assert "content" not in listed[0]
        answer = EVERYBODY.get(f"boards/openagi/snapshots/{second.number - 1}/")
        assert [row["owner"] for row in answer.json()["content"]["rows"]] == ["ada"]
        tag = answer.headers["ETag"]
        address = f"/api/v1/boards/openagi/snapshots/{second.number - 1}/"
        again = Client().get(address, headers={"If-None-Match": tag})
        assert again.status_code == 304
        assert EVERYBODY.get("boards/openagi/snapshots/99/").status_code == 404
        assert EVERYBODY.get("boards/none/snapshots/").status_code == 404
        assert get(f"suites/{suite.slug}/")["tasks"] == 185


class TestEvaluations:
    def executed(self):
        evaluation = pages.make_evaluation(
            planner=pages.make_planner(owner=pages.make_user()), suite=pages.make_suite()
        )
        pages.make_results(evaluation, samples=0)
        return evaluation

    def test_results_are_filtered_by_what_tasks_are(self):
        evaluation = self.executed()
        path = f"evaluations/{evaluation.pk}/results/"

        def keys(**query) -> set[str]:
            return {row["task"] for row in get(path, page_size=500, **query)["results"]}

        tasks = {task.key: task for task in evaluation.suite.tasks.all()}
        for name in ("base", "language"):
            value = next(task.attributes[name] for task in tasks.values() if task.attributes.get(name))
            assert keys(**{name: value}) == {k for k, task in tasks.items() if task.attributes.get(name) == value}
        some = next(task for task in tasks.values() if task.attributes.get("degradations"))
        degradation = some.attributes["degradations"][0]
        assert keys(degradation=degradation) == {
            key for key, task in tasks.items() if degradation in (task.attributes.get("degradations") or ())
        }
        assert keys(reason="invalid_plan") == {"3", "9"}
        assert keys(structure=some.structure) == {k for k, task in tasks.items() if task.structure == some.structure}
        assert keys(q="GERMAN") == {k for k, task in tasks.items() if "german" in task.text.lower()} != set()
        for name in ("reason", "structure", "degradation", "base", "language"):
            assert EVERYBODY.get(path, **{name: "odd"}).status_code == 400, name

    def test_the_place_in_the_queue_is_told_while_it_waits(self):
        first, second = make_evaluation(), make_evaluation()
        told = get(f"evaluations/{second.pk}/place/")
        assert told["place"] >= 1
        assert told["why"]
        done = pages.make_evaluation(planner=pages.make_planner(owner=pages.make_user("zoe")), suite=pages.make_suite())
        assert set(get(f"evaluations/{done.pk}/place/").values()) == {None}
        assert EVERYBODY.get("queue/").status_code == 401
        assert client_of(first.submission.submitted_by).get("queue/").json()["evaluations"] == 2
