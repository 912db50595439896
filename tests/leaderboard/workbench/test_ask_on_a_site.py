"""`planarena ask --site` with a real server and worker."""

import json
import threading
from datetime import timedelta

import httpx
import pytest
from django.utils import timezone
from typer.testing import CliRunner

from evaluator.cli.main import app
from gpu_jobs.contract import RunEvents
from leaderboard.people.models import Scope, User
from leaderboard.people.services import create_token
from leaderboard.workbench.models import Run, RunState
from tests.leaderboard.workbench.test_runs import PNG, ask, client, request, site, suite, work  # noqa: F401 - fixtures

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def token(monkeypatch):
    user = User.objects.create_user("ada")
    monkeypatch.setenv("PLANARENA_TOKEN", create_token(user=user, scopes=Scope.values).token)


def test_a_run_on_a_site_is_followed_and_written(site, settings, token, tmp_path):  # noqa: F811 - the fixture
    (tmp_path / "a.png").write_bytes(PNG)
    words = ["ask", "Draw it", "--site", site, "--file", str(tmp_path / "a.png"), "--output", str(tmp_path / "run")]
    done = []
    asking = threading.Thread(target=lambda: done.append(CliRunner().invoke(app, words)))
    asking.start()
    while not Run.objects.exists() and asking.is_alive():
        asking.join(0.05)
    work(site, settings)
    asking.join(30)

    assert done[0].exit_code == 0, done[0].output
    assert done[0].stdout.splitlines() == ["file a.png: image", "Done: I echoed Draw it."]
    assert f"{site}/workbench/{Run.objects.get().pk}/" in done[0].stderr
    assert (tmp_path / "run" / "results" / "1.txt").read_text() == "answer to Draw it"


def test_ctrl_c_cancels_the_run_on_the_site(site, token, monkeypatch):  # noqa: F811 - the fixture
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("evaluator.client.api.Client.run_events", interrupted)
    done = CliRunner().invoke(app, ["ask", "Draw it", "--site", site])

    assert done.exit_code == 130, done.output
    assert (Run.objects.get().state, Run.objects.get().reason) == (RunState.CANCELLED, "Its owner cancelled it.")


def test_a_run_that_the_site_cancels_is_exit_code_4_with_the_reason(site, token, monkeypatch):  # noqa: F811
    def cancelled(client, run_id):
        client.cancel_run(run_id)
        yield from ()

    monkeypatch.setattr("evaluator.client.api.Client.run_events", cancelled)
    done = CliRunner().invoke(app, ["ask", "Draw it", "--site", site])

    assert done.exit_code == 4
    assert "the run was cancelled: Its owner cancelled it." in done.stderr


def test_a_reader_of_a_lost_try_learns_that_its_events_are_void(site, settings):  # noqa: F811 - the fixture
    run = ask()
    worker = client(site, settings)
    lease = worker.lease_run(request())
    worker.run_events(lease=lease, events=RunEvents(events=({"kind": "asked", "planner": "p", "tools": 1},)))
    with httpx.stream("GET", f"{site}/workbench/{run.pk}/events/", timeout=10) as response:
        lines = response.iter_lines()
        assert next(lines) == "id: 1-0"
    Run.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    work(site, settings)

    later = httpx.get(f"{site}/workbench/{run.pk}/events/", headers={"Last-Event-ID": "1-0"}).text.splitlines()
    assert later[0] == "event: again"
    assert [line for line in later if line.startswith("id: ")] == ["id: 2-0", "id: 2-1"]
    kinds = [json.loads(line[6:])["kind"] for line in later if line.startswith('data: {"kind"')]
    assert kinds == ["given", "ended"]
