"""Reports are files of strangers: what is none is refused with a sentence that says what and where."""

import copy
import json
import os

import pytest

from leaderboard.evaluations.web.reports import reading
from leaderboard.evaluations.web.reports.reading import ReportError, read_report
from tests.leaderboard.evaluations.web.reports.making import judged_document, written


@pytest.fixture(scope="module")
def document():
    return judged_document()


@pytest.fixture
def changed(document, tmp_path):
    """Writes the report after a change and returns why it is refused."""

    def refusal(change) -> str:
        other = copy.deepcopy(document)
        change(other)
        with pytest.raises(ReportError) as error:
            read_report(written(other, tmp_path))
        return str(error.value).removeprefix(str(tmp_path / "report.json"))

    return refusal


def test_a_report_is_read_with_its_own_figures(document, tmp_path):
    report = read_report(written(document, tmp_path))
    assert (report.name, report.contradiction) == ("clumsy", "")
    assert next(iter(report.records)) == "image_detection/0", "in the suite's order"
    assert report.summary["metrics"]["SE"]["mean"] == document["summary"]["metrics"]["SE"]["mean"]
    assert report.findings["QA/1"] == []
    assert report.findings["image_detection/0"][0]["cause"]


def test_figures_are_of_the_records_and_a_summary_that_contradicts_them_is_named(document, tmp_path):
    other = copy.deepcopy(document)
    mean = other["summary"]["metrics"]["SE"]["mean"]
    other["summary"]["metrics"]["SE"]["mean"] = 0.99
    report = read_report(written(other, tmp_path))
    assert report.summary["metrics"]["SE"]["mean"] == mean
    assert f"(SE 0.990 instead of {mean:.3f})" in report.contradiction
    del other["summary"]
    assert "no summary" in read_report(written(other, tmp_path)).contradiction


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is not a report: it is not JSON: Expecting value in line 1"),
        ("[1]", "is not a report but a JSON list; a report is an object"),
        ("{}", 'is not a report: it has no "version"; planarena view shows the evaluation/1 that evaluate'),
        ('{"version": "evaluation/0"}', "has the older format evaluation/0; planarena view shows"),
        ('{"version": "evaluation/2"}', "has the newer format evaluation/2; this release reads evaluation/1."),
        ('{"version": "causes/1"}', 'is not a report: its format is "causes/1"'),
        ('{"version": "result/1"}', "is the record of one task"),
        ('{"submission": "x", "evaluations": []}', "is a site's answer about a submission"),
        ("## gold on openagi\n\n| metric |", "is not a report but Markdown, such as the summary for a CI job"),
        ("<?xml version='1.0'?><testsuites/>", "is not a report but XML or HTML, such as a JUnit file"),
        ('{"version":"result/1"}\n{"version":"result/1"}\n', "has the records of an interrupted evaluation"),
        ('{"version": NaN}', "is not JSON: NaN is not a number of JSON"),
        ("[" * 200_000, "is nested too deeply"),
        ('{"version": "evaluation/1", "suite": "toolmini"}', '"suite" must be an object with the texts'),
        (
            '{"version": "evaluation/1", "suite": {"slug": "toolmimi", "digest": "0"}}',
            "there is no suite 'toolmimi' in this release. Did you mean 'toolmini'?",
        ),
        (
            '{"version": "evaluation/1", "suite": {"slug": "toolmini", "version": "1", "digest": "00"}}',
            "is about toolmini 1 (00), and this release has toolmini 2",
        ),
    ],
)  # fmt: skip
def test_what_is_no_report_of_this_release_is_named(tmp_path, text, sentence):
    with pytest.raises(ReportError) as error:
        read_report(written(text, tmp_path))
    assert sentence in str(error.value)


def test_only_regular_files_are_read_and_none_without_end(tmp_path, monkeypatch):
    with pytest.raises(ReportError, match="is a folder; give the file"):
        read_report(tmp_path)
    with pytest.raises(ReportError, match="cannot be read: No such file"):
        read_report(tmp_path / "missing.json")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ReportError, match="is not a regular file"):
        read_report(tmp_path / "pipe")
    monkeypatch.setattr(reading, "MOST_BYTES", 10)
    with pytest.raises(ReportError, match="more than 0 MiB; evaluate fewer tasks"):
        read_report(written("x" * 11, tmp_path))


def test_every_part_is_checked_and_named(changed):
    record = "results"
    assert changed(lambda report: report.update(results={})).endswith("must be a list with a record for each task")
    assert "results[0] (task image_detection/0): score: input should be a valid number" in changed(
        lambda report: report[record][0].update(score="much")
    )
    assert "results[1] (task image_detection/1): extra: extra inputs are not permitted" in changed(
        lambda report: report[record][1].update(extra=1)
    )
    assert "a score is 7.0; scores are in [-1, 1]" in changed(lambda report: report[record][5].update(score=7.0))
    assert "results[0] (task none/0): toolmini has no such task" in changed(
        lambda report: report[record][0].update(task="none/0")
    )
    assert "the task has two results" in changed(lambda report: report[record].__setitem__(1, report[record][0]))
    assert "is of the suite 'openagi'" in changed(lambda report: report[record][0].update(suite="openagi"))
    assert "`plan` is not a plan/1" in changed(lambda report: report[record][0].update(plan={"steps": [7]}))
    assert '"planner" must be the name of a planner' in changed(lambda report: report.update(planner=["x"]))
    assert "provenance has more than" in changed(lambda report: report.update(notes="x" * 60_000))
    assert '"data.samples" must be a number' in changed(lambda report: report.update(data={"samples": 10**9}))
    assert "the report has no result of this task" in changed(
        lambda report: report["causes"]["findings"].update({"none/0": []})
    )
    assert "is not a finding of this release" in changed(
        lambda report: report["causes"]["findings"].update({"QA/0": [{"cause": "sorcery"}]})
    )


def test_texts_of_findings_are_bounded(document, tmp_path):
    other = copy.deepcopy(document)
    other["causes"]["findings"]["QA/0"] = [{"cause": "missing_step", "tool": "x" * 10_000}]
    assert len(read_report(written(other, tmp_path)).findings["QA/0"][0]["tool"]) == 200
    del other["causes"]
    assert read_report(written(json.dumps(other), tmp_path)).findings is None
