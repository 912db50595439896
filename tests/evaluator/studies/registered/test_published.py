"""The studies of this repository are what their authors signed, and documents show their figures."""

import re
import shutil
from pathlib import Path

from typer.testing import CliRunner

from evaluator.cli.study import app
from evaluator.client.verify.report import Kind, Report
from evaluator.client.verify.studies import check_studies
from evaluator.studies.registered.keys import KEY_VARIABLE
from evaluator.studies.registered.tables import blocks_of, studies_in
from leaderboard.help.documents.chapters import page_of

DOCS = Path(__file__).resolve().parents[4] / "docs"
STUDIES = DOCS / "studies" / "registered"


def test_published_studies_are_what_was_signed_and_documents_show_their_figures():
    report = Report(address="")
    check_studies(folder=STUDIES, documents=DOCS, key="", report=report)
    assert not report.of(Kind.MISMATCH), report.as_text()
    # Later code of the analysis may give other figures; the signed ones stay.
    assert {finding.part for finding in report.of(Kind.NOT_CHECKED)} <= {"figures"}, report.as_text()


def test_every_study_is_shown_and_listed():
    shown = {name for path in DOCS.rglob("*.md") for name, _, _ in blocks_of(path.read_text(encoding="utf-8"))}
    listed = re.findall(r"^\| `([a-z0-9-]+)` \| \[", (DOCS / "studies" / "registered.md").read_text(), re.MULTILINE)
    assert shown == set(listed) == {study.plan.name for study in studies_in(STUDIES)}


def test_pages_do_not_show_the_lines_around_generated_tables():
    html = page_of("constraints").html
    assert "Registered on" in html
    assert "[//]" not in html
    assert "(study rltf" not in html


def test_the_commands_close_and_verify_a_copy_with_the_key_of_who_runs_them(tmp_path, monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, str(tmp_path / "key"))
    folder = tmp_path / "studies" / "rltf-estimators"
    shutil.copytree(STUDIES / "rltf-estimators", folder)
    runner = CliRunner()
    assert runner.invoke(app, ["close", str(folder)]).exit_code == 1, "a key is made only to register or to close"
    for part in ("statements", "results", "code"):
        shutil.rmtree(folder / part)
    assert runner.invoke(app, ["close", str(folder), "--unregistered"]).exit_code == 0
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert runner.invoke(app, ["verify", str(folder)]).exit_code == 0
    scores = folder / "scores" / "seed-0" / "start.json"
    scores.write_text(scores.read_text().replace("0.5", "0.6", 1))
    done = runner.invoke(app, ["verify", str(folder)])
    assert (done.exit_code, "not what was signed" in done.stdout) == (1, True)
    assert runner.invoke(app, ["close", str(tmp_path / "studies")]).exit_code == 2
