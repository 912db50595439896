"""The examples for pipelines are run as they stand."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from evaluator.cli.program.exit_codes import ExitCode
from leaderboard.accounts.services import create_token
from tests.leaderboard.factories import make_suite, make_user
from tests.leaderboard.serving import server
from tests.leaderboard.site.api.test_client import run_to_its_end

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).resolve().parents[4]
CI = ROOT / "examples" / "ci"


@pytest.fixture(autouse=True)
def own_settings(own_store, settings):
    settings.DEMO = True


@pytest.fixture
def environment(tmp_path):
    token = create_token(user=make_user()).token
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    with server() as url:
        yield {**kept, "PYTHONPATH": str(ROOT), "PLANARENA_URL": url, "PLANARENA_TOKEN": token}


def start(command: list[str], *, environment: dict[str, str], folder: Path) -> subprocess.Popen:
    return subprocess.Popen(
        command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def test_the_script_for_any_shell(environment, tmp_path):
    make_suite(slug="openagi")
    wants = {"PLANNER": "gold", "PLANNER_NAME": "mine", "BUILD": "17", "FAIL_UNDER": "overall=0.4"}
    python = {"PYTHON": sys.executable}
    process = start([str(CI / "submit.sh")], environment={**environment, **wants, **python}, folder=tmp_path)
    run_to_its_end()
    said, _ = process.communicate(timeout=100)
    assert (process.returncode, "good enough" in said) == (0, True), said
    assert json.loads((tmp_path / "out.json").read_text())["exit_code"] == 0
    assert (tmp_path / "out.xml").exists()


@pytest.mark.full
def test_the_workflow_for_github_is_well_formed_and_its_command_works(environment, tmp_path):
    make_suite(slug="openagi")
    steps = yaml.safe_load((CI / "github-actions.yml").read_text())["jobs"]["evaluate"]["steps"]
    (step,) = [step for step in steps if step["name" if "name" in step else "uses"] == "Evaluate"]
    named = {"GITHUB_REPOSITORY": "ada/planner", "GITHUB_SHA": "0123456789", "GITHUB_RUN_ID": "7"}
    named["GITHUB_STEP_SUMMARY"] = str(tmp_path / "summary.md")
    planner = {
        "PLANNER_URL": "https://example.org/plan",
        "PATH": f"{Path(sys.executable).parent}:{environment['PATH']}",
    }
    assert set(step["env"]) == {"PLANARENA_URL", "PLANARENA_TOKEN", "PLANNER_URL"}
    process = start(["bash", "-ec", step["run"]], environment={**environment, **named, **planner}, folder=tmp_path)
    ended = run_to_its_end()
    said, _ = process.communicate(timeout=100)
    assert process.returncode == 0, said
    assert ended.submission.planner.name == "planner 0123456"
    assert (tmp_path / "out.xml").exists()
    assert (tmp_path / "summary.md").read_text().startswith("## PlanArena: passed")


def test_the_packages_that_the_examples_install_are_pinned():
    pinned = {line.split("==")[0].lower() for line in (ROOT / "constraints.txt").read_text().splitlines()}
    for text in ((CI / "github-actions.yml").read_text(), (ROOT / "docs" / "ci.md").read_text()):
        (names,) = re.findall(r"pip install -c \S+ ([a-z ]+)", text)
        assert set(names.split()) <= pinned


def test_the_documented_exit_codes_are_those_there_are():
    rows = re.findall(r"^\| (\d+) \| ([\w ]+)", (ROOT / "docs" / "ci.md").read_text(), flags=re.MULTILINE)
    assert [int(number) for number, _ in rows] == [int(code) for code in ExitCode]
