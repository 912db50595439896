"""`gate` against the served site, and the templates for pipelines that call it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from evaluator.client.__main__ import app
from leaderboard.evaluations.models import Submission
from leaderboard.people.services import create_token
from tests.leaderboard.evaluations.web.compare.test_pages import HIGH, LOW, make_scored
from tests.leaderboard.evaluations.web.factories import make_evaluation, make_suite
from tests.leaderboard.serving import server

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_store")]
ROOT = Path(__file__).resolve().parents[5]
CI = ROOT / "examples" / "ci"


@pytest.fixture
def versions():
    """Evaluations of a planner: `v1` is low, `v2` high, `v3` as `v2`, and `v4` failed."""
    suite = make_suite()
    first = make_scored(suite, "mine", LOW)
    planner = first.submission.planner
    others = {name: make_scored(suite, name, scores) for name, scores in (("v2", HIGH), ("v3", HIGH))}
    found = {"v1": first, **others, "v4": make_evaluation(planner=planner, suite=suite, state="failed")}
    for name, evaluation in found.items():
        Submission.objects.filter(pk=evaluation.submission_id).update(planner=planner, version=name)
    return found


@pytest.fixture
def gate(versions, monkeypatch):
    """Runs the command on the id of an evaluation."""
    token = create_token(user=versions["v1"].submission.planner.owner).token
    with server() as url:
        monkeypatch.setenv("PLANARENA_URL", url)
        monkeypatch.setenv("PLANARENA_TOKEN", token)
        yield lambda *arguments: CliRunner().invoke(app, ["gate", *map(str, arguments)])


def test_a_version_is_compared_with_another_one_of_its_planner(gate, versions, tmp_path):
    low, high = versions["v1"].pk, versions["v2"].pk
    better = gate(high, "--baseline", "v1", "--json")
    assert better.exit_code == 0, better.output
    (suite,) = json.loads(better.stdout)["suites"]
    assert (suite["verdict"], suite["candidate"], suite["baseline"]) == ("better", "mine v2", "mine v1")
    assert (len(suite["fixed"]), suite["broken"]) == (15, [])
    comment = tmp_path / "comment.md"
    worse = gate(low, "--baseline", "v2", "--max-regression", "0.01", "--summary", comment)
    assert (worse.exit_code, "Overall: worse, -0.0750" in worse.stdout) == (1, True), worse.output
    assert f"/compare/?e={high}&e={low})" in comment.read_text()
    assert "0 fixed, 15 broken, of 20 tasks." in comment.read_text()
    equal = gate(versions["v3"].submission_id, "--baseline", str(high)[:8])
    assert (equal.exit_code, "not worse" in equal.stdout) == (0, True), equal.output


def test_missing_and_failed_evaluations_are_no_verdict(gate, versions):
    failed = gate(versions["v4"].pk, "--baseline", "v1")
    assert failed.exit_code == 4, failed.output
    for baseline, sentence in {
        "v9": "neither a submission nor an evaluation 'v9'",
        "v4": f"has no completed evaluation on openagi to compare with: {str(versions['v4'].pk)[:8]} is failed",
        "v2": "there is none",
    }.items():
        refused = gate(versions["v2"].pk, "--baseline", baseline)
        assert (refused.exit_code, sentence in refused.stderr) == (2, True), refused.output


def test_the_list_of_evaluations_is_filtered_by_version(gate, versions, client):
    del gate
    found = client.get("/api/v1/evaluations/", {"version": "v2"}).json()["results"]
    assert [(one["id"], one["version"]) for one in found] == [(str(versions["v2"].pk), "v2")]
    assert client.get("/api/v1/evaluations/", {"version": "v\0"}).status_code in {200, 400}


def workflow_of_github() -> str:
    steps = yaml.safe_load((CI / "github-actions.yml").read_text())["jobs"]["evaluate"]["steps"]
    (step,) = [step for step in steps if step.get("name") == "Compare with the base"]
    assert set(step["env"]) == {"PLANARENA_URL", "PLANARENA_TOKEN", "BASE"}
    return step["run"]


def script_of_gitlab() -> str:
    return yaml.safe_load((CI / "gitlab-ci.yml").read_text())["planner"]["script"][1]


@pytest.mark.parametrize("command_of", [workflow_of_github, script_of_gitlab])
def test_the_templates_fail_on_a_worse_planner_and_leave_the_comment(command_of, gate, versions, tmp_path):
    del gate
    evaluation = versions["v1"]
    report = {"version": "submission-report/1", "submission": str(evaluation.submission_id)}
    (tmp_path / "out.json").write_text(json.dumps(report))
    named = {"BASE": "v2", "CI_MERGE_REQUEST_DIFF_BASE_SHA": "v2", "COMMENT_TOKEN": "", "PYTHONPATH": str(ROOT)}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-ec", command_of()], cwd=tmp_path, env={**os.environ, **named, "PATH": path}, text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert (tmp_path / "comment.md").read_text().startswith("### [openagi](")
    assert json.loads((tmp_path / "gate.json").read_text())["exit_code"] == 1
