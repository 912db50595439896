"""Runs of the workbench, through a real server and the real worker's loop with a fake runner."""

import asyncio
import base64
import html
import json
import re
from collections.abc import Callable, Iterator
from datetime import timedelta

import httpx
import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.utils import timezone

from evaluator.core.tools.types import ResourceType
from evaluator.planners.named import planners_of_requests
from gpu_jobs.client import ApiClient, AttemptOverError
from gpu_jobs.contract import GivenUp, LeaseRequest, RunEvents, RunsAnnounced
from gpu_jobs.worker import Worker
from leaderboard.people.models import Scope, User
from leaderboard.people.services import create_token
from leaderboard.workbench import asking, leasing, tasks
from leaderboard.workbench.asking import GivenFile, NewRun, TooManyRunsError
from leaderboard.workbench.models import Run, RunState
from leaderboard.workbench.web import live
from leaderboard.workbench.web.presenters import submit_address
from tests.fakes.runner import FakeRunner
from tests.leaderboard.factories import make_evaluation, make_suite
from tests.leaderboard.serving import server
from tests.leaderboard.workbench.factories import PLAN, make_run

pytestmark = pytest.mark.django_db(transaction=True)
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC")


@pytest.fixture(autouse=True)
def suite(own_store, settings):
    settings.WORKBENCH_IS_OPEN = True
    return make_suite(slug="toolworld")


@pytest.fixture
def site() -> Iterator[str]:
    with server() as url:
        yield url


def planner() -> str:
    return planners_of_requests("toolworld")[0].name


def ask(text: str = "Draw it", *, asker: str = "address a", user: User | None = None, **parts) -> Run:
    return asking.start(NewRun(text=text, planner=planner(), **parts), user=user, asker=asker)


def client(site: str, settings) -> ApiClient:
    return ApiClient(url=site, token=settings.WORKER_TOKEN, patience_seconds=5)


def request(name: str = "w", token: str = "t") -> LeaseRequest:
    return LeaseRequest(worker=name, token=token * 43, knows_roles=True, knows_runs=True)


def work(site: str, settings, runner: FakeRunner | None = None) -> FakeRunner:
    runner = runner or FakeRunner()
    Worker(client=client(site, settings), runner=runner, name="w", idle_seconds=0.05, poll_seconds=0.02).run()
    return runner


def test_an_idle_worker_runs_a_request_and_its_page_shows_what_happened(site, settings):
    run = ask(files=[GivenFile(name="a.png", data=PNG)])
    runner = work(site, settings)

    run.refresh_from_db()
    assert runner.ran == ["Draw it"]
    assert (run.state, run.token_hash) == (RunState.ENDED, None)
    assert [event.body["kind"] for event in run.events.all()] == ["given", "ended"]
    page = httpx.get(f"{site}/workbench/{run.pk}/")
    assert page.status_code == 200
    assert "I echoed Draw it." in page.text
    digest = run.events.last().body["answers"][0]["digest"]
    assert httpx.get(f"{site}/objects/{digest}").text == "answer to Draw it"


def test_the_stream_gives_each_event_and_its_end_and_goes_on_after_the_last_one(site, settings):
    run = ask()
    with httpx.stream("GET", f"{site}/workbench/{run.pk}/events/", timeout=10) as response:
        assert response.headers["content-type"] == "text/event-stream"
        lines = response.iter_lines()
        work(site, settings)
        told = []
        for line in lines:
            told.append(line)
            if line == "event: end":
                break
    assert [json.loads(line[6:])["kind"] for line in told if line.startswith('data: {"kind')] == ["given", "ended"]
    later = httpx.get(f"{site}/workbench/{run.pk}/events/", headers={"Last-Event-ID": "1-0"})
    assert '"given"' not in later.text
    assert '"ended"' in later.text


def test_an_open_stream_keeps_a_run_alive(site):
    run = ask()
    Run.objects.filter(pk=run.pk).update(seen_at=timezone.now() - timedelta(seconds=50))
    with httpx.stream("GET", f"{site}/workbench/{run.pk}/events/", timeout=10) as response:
        next(response.iter_lines())
        run.refresh_from_db()
    assert run.seen_at > timezone.now() - timedelta(seconds=20)


def test_a_run_that_nobody_follows_is_cancelled_unless_it_is_kept():
    left, kept = ask(), ask(keep=True)
    Run.objects.update(seen_at=timezone.now() - timedelta(seconds=90))
    leasing.expire()

    left.refresh_from_db()
    kept.refresh_from_db()
    assert (left.state, left.reason) == (RunState.CANCELLED, "Nobody followed it any more.")
    assert kept.state == RunState.WAITING


def test_a_cancelled_run_ends_at_its_worker(site, settings):
    run = ask()
    worker = client(site, settings)
    lease = worker.lease_run(request())
    assert lease is not None
    asking.cancel(run.pk, reason="You cancelled it.")

    with pytest.raises(AttemptOverError):
        worker.run_events(lease=lease, events=RunEvents())


def test_a_lost_worker_gives_its_run_to_another_which_tells_everything_again(site, settings):
    run = ask()
    worker = client(site, settings)
    lease = worker.lease_run(request())
    worker.run_events(lease=lease, events=RunEvents(events=({"kind": "asked", "planner": "p", "tools": 1},)))
    Run.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    work(site, settings)

    run.refresh_from_db()
    assert (run.state, run.tries) == (RunState.ENDED, 2)
    assert [event.body["kind"] for event in run.events.all()] == ["given", "ended"]
    with pytest.raises(AttemptOverError):
        worker.run_events(lease=lease, events=RunEvents(first=1, events=({"kind": "asked"},)))


def test_a_run_that_loses_three_workers_is_given_up():
    run = ask()
    for number in range(3):
        assert leasing.lease(worker="w", token=f"{number}" * 43) is not None
        Run.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert leasing.lease(worker="w", token="x" * 43) is None

    run.refresh_from_db()
    assert (run.state, run.reason) == (RunState.CANCELLED, "The worker was lost three times.")


def test_repeated_calls_change_nothing(site, settings):
    run = ask()
    worker = client(site, settings)
    lease = worker.lease_run(request())
    again = worker.lease_run(request())
    assert (again.run, again.token) == (lease.run, lease.token)
    events = RunEvents(events=({"kind": "asked", "planner": "p", "tools": 1},))
    worker.run_events(lease=lease, events=events)
    worker.run_events(lease=lease, events=events)

    assert run.events.count() == 1


def test_a_run_that_a_worker_cannot_run_says_so(site, settings):
    run = ask("Fail")
    work(site, settings, FakeRunner(fails_at="Fail"))

    run.refresh_from_db()
    body = run.events.last().body
    assert (run.state, body["ending"]) == (RunState.ENDED, "failed")
    assert "the expert fell over" in body["text"]


def test_a_stopped_worker_returns_its_run(site, settings):
    run = ask()
    worker = client(site, settings)
    lease = worker.lease_run(request())
    worker.return_run(lease=lease, how=GivenUp.RELEASED, reason="the worker was stopped")

    run.refresh_from_db()
    assert run.state == RunState.WAITING


def test_a_worker_of_runs_only_loads_experts_before_the_first_and_leaves_shards_alone(site, settings, monkeypatch):
    monkeypatch.setattr("gpu_jobs.worker.LONGEST_WAIT_SECONDS", 0.0)
    make_evaluation(suite=make_suite(runnable=8), state="launching")
    runner = FakeRunner()
    worker = Worker(client=client(site, settings), runner=runner, name="w", idle_seconds=0.0, only_runs=True)
    worker.run()
    assert (runner.ready_for, runner.ran) == ([("toolworld", "lilliput")], [])
    ask()
    worker.run()
    assert (runner.ready_for, runner.ran) == ([("toolworld", "lilliput")], ["Draw it"])


def test_a_run_that_waits_when_its_worker_starts_is_not_kept_waiting(site, settings, monkeypatch):
    monkeypatch.setattr("gpu_jobs.worker.LONGEST_WAIT_SECONDS", 0.0)
    ran_before = []

    class Loading(FakeRunner):
        def get_ready(self, **wanted):
            ran_before.append(list(self.ran))
            super().get_ready(**wanted)

    ask()
    Worker(client=client(site, settings), runner=Loading(), name="w", idle_seconds=0.0, only_runs=True).run()
    assert ran_before == [["Draw it"]]


def test_a_waiting_worker_hears_of_a_run_and_of_one_that_was_lost():
    async def heard(happens: Callable[[], object]) -> bool:
        answer = asyncio.ensure_future(anext(live.announced(seconds=3600)))
        while str(asking.ANY_RUN) not in live.hub()._queues or not live.hub().listens:
            await asyncio.sleep(0.01)
        await asyncio.to_thread(_then_close, happens)
        return RunsAnnounced.model_validate_json(await answer).waits

    assert asyncio.run(heard(ask))
    leased = leasing.lease(worker="w", token="t" * 43)
    Run.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert leased is not None
    assert asyncio.run(heard(leasing.expire))


def _then_close(happens: Callable[[], object]) -> None:
    happens()
    connection.close()


@pytest.mark.parametrize("seconds", ["-1", "21", "1e1", "nan", ""])
def test_no_worker_waits_longer_than_a_call_may_last(site, settings, seconds):
    session = client(site, settings)._current_session()
    headers = {"Authorization": f"Bearer {session}"}
    answer = httpx.get(f"{site}/api/v1/worker/runs/announced/", params={"seconds": seconds}, headers=headers)
    assert (answer.status_code, list(answer.json()["errors"])) == (400, ["seconds"])


def test_a_run_whose_plan_ran_is_a_task_to_download():
    run = make_run(User.objects.create_user("ada"))
    address = f"/workbench/{run.pk}/task.json"
    assert Client().get(address).status_code == 404
    assert address not in Client().get(f"/workbench/{run.pk}/").content.decode()
    ended = run.events.last()
    ended.body["ending"] = "made"
    ended.save()
    task = Client().get(address)
    assert task.headers["Content-Disposition"] == f'attachment; filename="task-{str(run.pk)[:8]}.json"'
    assert task.json() == {
        "format": "planarena-task/1", "suite": "toolworld", "request": run.text, "resources": {"a.txt": "text"},
        "plan": PLAN,
    }  # fmt: skip
    assert address in Client().get(f"/workbench/{run.pk}/").content.decode()


def test_the_sweep_keeps_workers_of_runs_ready(launcher):
    tasks.sweep()
    assert launcher.kept_ready == 1


def test_askers_take_turns():
    many = [ask(str(number), asker="address a") for number in range(3)]
    other = ask("other", asker="address b")
    order = [leasing.lease(worker="w", token=f"{number}" * 43).run.pk for number in range(3)]

    assert order == [many[0].pk, other.pk, many[1].pk]


def test_an_overdue_run_takes_every_second_turn(site, settings):
    make_evaluation(suite=make_suite(runnable=8), state="launching")
    run = ask()
    Run.objects.update(created=timezone.now() - timedelta(seconds=30))
    worker = client(site, settings)

    answer = worker.lease(request(token="b"))
    assert (answer.lease, answer.runs_wait) == (None, True)
    assert worker.lease_run(request(token="c")).run == str(run.pk)
    later = ask("later", asker="address b")
    Run.objects.filter(text="later").update(created=timezone.now() - timedelta(seconds=30))
    assert worker.lease(request(token="d")).lease is not None, "a shard comes between two runs"
    assert worker.lease(request(token="e")).runs_wait is True
    assert worker.lease_run(request(token="f")).run == str(later.pk)


def test_limits_are_of_each_asker(settings):
    settings.RUNS_AT_ONCE = 2
    ask()
    ask()
    with pytest.raises(TooManyRunsError):
        ask()
    ask(asker="address b")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"text": "  "}, "text"),
        ({"text": "a" * 2001}, "text"),
        ({"planner": "nobody"}, "planner"),
        ({"planner": "999999999"}, "planner"),
        ({"suite": "no-such"}, "suite"),
        ({"files": [{"name": "../a.png", "content": "aaaa"}]}, "files"),
        ({"files": [{"name": "a.exe", "content": "aaaa"}]}, "files"),
        ({"files": [{"name": "a.png", "content": "%%%"}]}, "files"),
        ({"files": [{"name": "a.png", "content": "aaaa"}] * 2}, "files"),
        ({"after": "5e8c0a52-1d3f-47e6-b6a4-2f9b7f3c9d21"}, "after"),
        ({"marks": [{"type": "point", "picture": "b.png", "at": [[1, 1]]}]}, "marks"),
        ({"marks": [{"type": "point", "picture": "a.png", "at": [[1, -1]]}]}, "marks.0.at.0.1"),
        ({"marks": [{"type": "box", "picture": "a.png", "at": [[1, 1]]}]}, "marks"),
        ({"plan": {"steps": "a\x00b"}}, "plan"),
        ({"plan": "a\ud800b"}, "plan"),
        ({"plan": json.loads("[" * 50 + "]" * 50)}, "plan"),
        ({"plan": {"steps": "a" * 50_001}}, "plan"),
        ({"plan": " "}, "plan"),
        ({"more": 1}, "more"),
    ],
)
def test_the_api_says_what_is_wrong(changes, field):
    user = User.objects.create_user("ada")
    token = create_token(user=user, scopes=Scope.values).token
    body = {"text": "Draw it", "planner": planner(), **changes}
    response = Client().post(
        "/api/v1/runs/", json.dumps(body), content_type="application/json", headers={"Authorization": f"Bearer {token}"}
    )
    assert response.status_code == 400
    assert field in response.json()["errors"]


def test_the_api_runs_a_request_and_the_next_one_sees_its_results(site, settings):
    user = User.objects.create_user("ada")
    headers = {"Authorization": f"Bearer {create_token(user=user, scopes=Scope.values).token}"}
    body = {
        "text": "Draw it",
        "planner": planner(),
        "files": [{"name": "a.png", "content": base64.b64encode(PNG).decode()}],
    }
    response = httpx.post(f"{site}/api/v1/runs/", json=body, headers=headers)
    assert response.status_code == 202
    work(site, settings)
    shown = httpx.get(f"{site}{response.headers['location']}").json()
    assert (shown["state"], [event["kind"] for event in shown["events"]]) == ("ended", ["given", "ended"])

    after = httpx.post(
        f"{site}/api/v1/runs/", json={"text": "Again", "planner": planner(), "after": shown["id"]}, headers=headers
    )
    lease = client(site, settings).lease_run(request())
    assert lease.run == after.json()["id"]
    assert lease.history == ({"request": "Draw it", "response": "I echoed Draw it."},)
    assert [file.name for file in lease.files] == ["a.png"]


def test_nobody_else_cancels_a_run():
    run = make_run(User.objects.create_user("ada"))
    Run.objects.filter(pk=run.pk).update(state=RunState.WAITING, ended_at=None)
    other = User.objects.create_user("eve")
    token = create_token(user=other, scopes=Scope.values).token
    eve, stranger = Client(), Client()
    eve.force_login(other)
    answers = [
        stranger.post(f"/workbench/{run.pk}/cancel/"), eve.post(f"/workbench/{run.pk}/cancel/"),
        Client(headers={"Authorization": f"Bearer {token}"}).post(
            f"/api/v1/runs/{run.pk}/cancel/", content_type="application/json"
        ),
    ]  # fmt: skip
    assert [answer.status_code for answer in answers] == [404, 404, 404]
    run.refresh_from_db()
    assert run.state == RunState.WAITING


def test_strangers_may_ask_only_where_the_site_is_open(settings):
    settings.WORKBENCH_IS_OPEN = False
    response = Client().post("/workbench/", {"text": "Draw it"})
    assert (response.status_code, response.url.startswith("/accounts/login/")) == (302, True)
    assert Run.objects.count() == 0
    settings.WORKBENCH_IS_OPEN = True
    assert Client().post("/workbench/", {"text": "Draw it"}).url.startswith("/workbench/")


def test_a_planner_with_an_endpoint_of_somebody_else_is_not_offered():
    evaluation = make_evaluation(state="launching")
    planner = evaluation.submission.planner
    planner.kind, planner.bundled_name, planner.endpoint_url = "endpoint", "", "https://planner.example.org/"
    planner.save()
    assert asking.why_not(planner=planner, user=None) == "Only its owner may call its endpoint from here."
    assert asking.why_not(planner=planner, user=planner.owner) == ""
    assert planner not in asking.planners_for(None)


def test_an_event_too_long_to_show_is_cut_and_one_with_nul_is_kept(site, settings):
    run = ask()
    worker = client(site, settings)
    lease = worker.lease_run(request())
    worker.run_events(
        lease=lease,
        events=RunEvents(events=({"kind": "plan", "notes": "a" * 250_000}, {"kind": "asked", "planner": "a\x00b"})),
    )
    bodies = [event.body for event in run.events.all()]
    assert bodies == [{"kind": "plan", "is_too_long": True}, {"kind": "asked", "planner": "a�b"}]
    assert Client().get(f"/workbench/{run.pk}/").status_code == 200


def test_the_first_pool_that_executes_plans_is_scaled_for_runs(settings):
    from gpu_jobs.launchers.pools import pools_from
    from leaderboard.queue.pools import demand_of

    settings.WORKER_POOLS = pools_from(json.dumps([
        {"name": "judges", "takes": ["judged"], "most": 3}, {"name": "executors", "takes": ["executed"], "most": 3},
    ]))  # fmt: skip
    ask()
    assert [demand_of(pool).workers for pool in settings.WORKER_POOLS] == [0, 1]


def test_a_run_that_lasts_too_long_is_cancelled_at_its_next_call(site, settings):
    run = ask()
    worker = client(site, settings)
    lease = worker.lease_run(request())
    Run.objects.update(leased_at=timezone.now() - timedelta(minutes=11))
    with pytest.raises(AttemptOverError):
        worker.run_events(lease=lease, events=RunEvents())

    run.refresh_from_db()
    assert (run.state, run.reason) == (RunState.CANCELLED, "It took longer than ten minutes.")


POINT = {"type": "point", "picture": "a.png", "at": [[0, 0]]}


def test_a_point_of_the_page_reaches_the_worker_and_is_drawn(site, settings):
    page = Client().post(
        "/workbench/",
        {
            "text": "What is at point-1?", "mark_kind": "point", "mark_at": "0,0",
            "files": [SimpleUploadedFile("a.txt", b"a note"), SimpleUploadedFile("a.png", PNG)],
        },
    )  # fmt: skip
    assert Run.objects.get().marks == [POINT]
    runner = work(site, settings)

    assert runner.received[0].files["point-1"] == (ResourceType.POINT, "0,0")
    shown = httpx.get(f"{site}{page.url}").text
    assert "point-1 at 0,0 in a.png" in shown
    assert '<circle class="mark" cx="0.5" cy="0.5"' in shown


@pytest.mark.parametrize(
    ("kind", "drawn"),
    [("box", "0.5,0.5 0.5,0.5 0.5,0.5 0.5,0.5 0.5,0.5"), ("stroke", "0.5,0.5 0.5,0.5")],
)
def test_a_box_and_a_stroke_of_the_page_reach_the_worker_and_are_drawn(site, settings, kind, drawn):
    files = [SimpleUploadedFile("a.png", PNG)]
    form = {"text": "What is here?", "mark_kind": kind, "mark_at": "0,0; 0, 0;", "files": files}
    page = Client().post("/workbench/", form)
    runner = work(site, settings)

    assert runner.received[0].files[f"{kind}-1"][0] is {"box": ResourceType.BBOX, "stroke": ResourceType.MASK}[kind]
    shown = httpx.get(f"{site}{page.url}").text
    assert f'<polyline class="mark" points="{drawn}"/>' in shown
    assert f"{kind}-1 " in shown


def test_a_point_outside_of_its_picture_fails_with_the_size(site, settings):
    run = ask(files=[GivenFile(name="a.png", data=PNG)], marks=asking.stored_marks([{**POINT, "at": [[5, 5]]}]))
    work(site, settings)

    assert run.events.last().body["text"] == "point-1 lies outside a.png, which has 1x1 pixels."


@pytest.mark.parametrize(
    "mark",
    [
        {"mark_at": "3"}, {"mark_at": "a,1"}, {"mark_at": "1,1"}, {"mark_at": "1,1; 2,2", "mark_kind": "circle"},
        {"mark_at": "1,1", "mark_kind": "box"}, {"mark_at": "1,1,1; 2,2", "mark_kind": "stroke"},
    ],
)  # fmt: skip
def test_a_mark_that_is_none_is_refused_on_the_page(mark):
    response = Client().post("/workbench/", {"text": "Draw it", **mark})
    assert response.status_code == 400
    assert Run.objects.count() == 0


def test_the_next_request_and_an_edited_plan_keep_the_points(site, settings):
    first = ask(files=[GivenFile(name="a.png", data=PNG)], marks=asking.stored_marks([POINT]))
    work(site, settings)
    visitor = Client()
    visitor.post(
        f"/workbench/{first.pk}/next/",
        {"text": "More", "mark_picture": "a.png", "mark_kind": "point", "mark_at": "0,0"},
    )
    assert "may name it as point-2, box-1 or stroke-1." in visitor.get(f"/workbench/{first.pk}/").content.decode()
    visitor.post(f"/workbench/{first.pk}/again/", {"plan": "[]"})
    after, again = Run.objects.exclude(pk=first.pk).order_by("created")

    assert (after.marks, again.marks) == ([POINT, POINT], [POINT])


def test_places_in_a_picture_that_was_scaled_down_are_those_of_the_given_one():
    run = make_run(User.objects.create_user("ada"))
    event = run.events.get(number=0)
    event.body["files"] = {
        "a.png": {"type": "image", "digest": "d" * 64, "media_type": "image/png", "size": [2048, 1024]}
    }
    event.save()
    visitor = Client()
    visitor.force_login(User.objects.get())
    assert 'data-width="2048" data-height="1024"' in visitor.get(f"/workbench/{run.pk}/").content.decode()


def test_an_alternative_is_shown_with_its_score_and_runs_as_a_plan():
    run = make_run(User.objects.create_user("ada"))
    event = run.events.get(number=2)
    event.body["alternatives"] = [{"steps": PLAN["steps"][:1], "answers": ["s1.text"]}]
    event.body["notes"] = {"search": [{"candidates": [{"tools": ["image_captioning"], "score": 3.25}]}]}
    event.save()
    page = Client().get(f"/workbench/{run.pk}/").content.decode()

    assert "score 3.25" in page
    assert re.search(r"Run this plan<span[^>]*>: alternative 1</span>", page)


def test_the_planner_of_a_run_can_be_submitted_with_the_same_settings():
    user = User.objects.create_user("ada")
    run = make_run(user)
    Run.objects.filter(pk=run.pk).update(bundled_name=planner())
    visitor = Client()
    visitor.force_login(user)
    address = html.unescape(
        re.search(r'href="(/submit/[^"]+)"', visitor.get(f"/workbench/{run.pk}/").content.decode())[1]
    )
    form = visitor.get(address).context["form"]

    assert form.initial == {"bundled_name": planner(), "name": planner().replace("/", "-"), "suites": ["toolworld"]}
    chosen = re.search(rf'<input[^>]*value="{re.escape(planner())}"[^>]*>', visitor.get(address).content.decode())
    assert " checked" in chosen[0]


def test_the_address_of_an_endpoint_is_for_its_owner_only():
    evaluation = make_evaluation(state="launching")
    row = evaluation.submission.planner
    row.kind, row.bundled_name, row.endpoint_url = "endpoint", "", "https://planner.example.org/"
    row.save()
    run = Run(planner=row, suite="toolworld")

    assert submit_address(run, reader=AnonymousUser()) == ""
    assert "endpoint_url=https%3A%2F%2Fplanner.example.org%2F" in submit_address(run, reader=row.owner)


def test_no_secret_is_taken_from_an_address():
    visitor = Client()
    visitor.force_login(User.objects.create_user("ada"))
    form = visitor.get("/submit/endpoint/?header_value=secret&endpoint_url=https://a.example").context["form"]

    assert form.initial == {"endpoint_url": "https://a.example"}
