"""`planarena export` against the served site."""

import io
import json
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evaluator.client.__main__ import app
from leaderboard.boards.services import publish
from tests.leaderboard.evaluations.web.factories import (
    make_evaluation,
    make_planner,
    make_results,
    make_suite,
    make_user,
)
from tests.leaderboard.serving import server

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_store")]


@pytest.fixture
def evaluation():
    suite = make_suite()
    made = make_evaluation(planner=make_planner(owner=make_user("ada"), name="mine"), suite=suite)
    make_results(made, upto=12)
    publish(made)
    return made


@pytest.fixture
def export(evaluation, tmp_path, monkeypatch):
    """Runs the command; returns the texts of the files by their path."""
    del evaluation

    def run(*arguments: str, status: int = 0) -> dict[str, str] | str:
        done = CliRunner().invoke(app, ["export", *arguments, "--output", str(tmp_path)])
        assert done.exit_code == status, done.output
        if status:
            return done.stderr
        return {
            str(Path(name).relative_to(tmp_path)): Path(name).read_text() for name in done.stdout.split("\n") if name
        }

    with server() as url:
        monkeypatch.setenv("PLANARENA_URL", url)
        monkeypatch.delenv("PLANARENA_TOKEN", raising=False)
        yield run


def test_an_evaluation_is_exported_with_its_address_and_the_command_that_verifies_it(export, evaluation):
    files = export(str(evaluation.pk), "--format", "every-eval-ever")
    (aggregate,) = [json.loads(text) for name, text in files.items() if name.endswith(".json")]
    assert f"{evaluation.pk}.json" in "".join(files), "the id of the evaluation is that of the file"
    details = aggregate["source_metadata"]["additional_details"]
    assert details["evaluation"] == str(evaluation.pk)
    assert details["verify"].endswith("/boards/openagi/")
    assert details["verify"].startswith("planarena verify http://")
    assert json.loads(details["signature"])
    assert aggregate["source_metadata"]["source_organization_url"].endswith(f"/evaluations/{evaluation.pk}/")
    overall = next(one for one in aggregate["evaluation_results"] if one["evaluation_name"] == "openagi/overall")
    assert overall["score_details"]["uncertainty"]["confidence_interval"]["lower"] == pytest.approx(0.65)
    (samples,) = [text for name, text in files.items() if name.endswith(".jsonl")]
    counted = evaluation.results.filter(outcome__in=["scored", "planner_fault"]).count()
    assert len(samples.splitlines()) == counted > 0


def test_trajectories_hugging_face_and_junit(export, evaluation):
    trajectories = export(str(evaluation.pk)[:8], "--format", "atif")
    assert json.loads(next(iter(trajectories.values())))["agent"]["name"] == "mine"
    (results, _) = export(str(evaluation.pk), "--format", "hf-eval-results", "--dataset", "org/openagi").values()
    (entry,) = json.loads(results)
    assert "Verify with: planarena verify http" in entry["notes"]
    (report,) = export(str(evaluation.pk), "--format", "junit").values()
    assert len(ET.fromstring(report).findall("testsuite/testcase")) == 12


def test_the_page_offers_the_files_that_the_command_writes(export, evaluation, client):
    address = f"/evaluations/{evaluation.pk}/"
    assert f'href="{address}formats.zip"' in client.get(address).content.decode()
    made = zipfile.ZipFile(io.BytesIO(b"".join(client.get(f"{address}formats.zip"))))
    (samples,) = [name for name in made.namelist() if name.endswith(".jsonl")]
    written = export(str(evaluation.pk), "--format", "every-eval-ever")
    assert made.read(samples).decode() == written[samples.removeprefix("every-eval-ever/")]
    trajectories = export(str(evaluation.pk), "--format", "atif")
    assert {name for name in made.namelist() if name.startswith("atif/")} == {f"atif/{name}" for name in trajectories}
    failed = make_evaluation(planner=evaluation.submission.planner, suite=evaluation.suite, state="failed")
    assert client.get(f"/evaluations/{failed.pk}/formats.zip").status_code == 404


def test_a_board_is_exported_as_a_whole(export, evaluation):
    files = export("openagi", "--board", "--format", "every-eval-ever")
    assert [name for name in files if name.endswith(f"{evaluation.pk}.json")]
    assert "404" in export("toolmini", "--board", "--format", "atif", status=2)


def test_an_evaluation_without_results_is_refused(export, evaluation):
    running = make_evaluation(planner=evaluation.submission.planner, suite=evaluation.suite, state="running")
    assert "is running: only completed ones are exported" in export(str(running.pk), "--format", "atif", status=2)
