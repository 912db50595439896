"""`planarena evaluate` with an endpoint that nobody can reach."""

from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.planners import endpoint as client
from tests.evaluator.planners.test_endpoint import endpoint


def test_a_dead_endpoint_costs_the_tries_of_one_task(monkeypatch):
    monkeypatch.setattr(client, "BACKOFF_SECONDS", (0.0,))
    with endpoint((503, b"")) as (url, seen):
        done = CliRunner().invoke(app, ["evaluate", "--suite", "toolmini", "--planner", url])
    assert done.exit_code == 4
    assert "120 infra_fault" in done.output
    assert len(seen) == client.MAX_TRIES
