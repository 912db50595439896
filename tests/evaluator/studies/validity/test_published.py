"""docs/validity.md says of every suite what `planarena validity SUITE` prints, from scores of the present version.

for suite in ...; do planarena shortcuts measure SUITE --output evaluator/PAPER/metadata/validity/SUITE.json; done
WRITE_TABLES=1 ./planarena test tests/evaluator/studies/validity/test_published.py
"""

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.core.suites.registry import _entries, suite_names, suite_of, whole_plans_of
from evaluator.planners.bundled import shortcuts_of
from evaluator.planners.shortcuts.planners import TRAINED
from evaluator.studies.validity.published import measured, scores_file, section
from evaluator.studies.validity.shortcuts import ShortcutReport, SplitReport

CHAPTER = Path(__file__).resolve().parents[4] / "docs" / "validity.md"
HEADING = "\n## Every suite\n"
SLUGS = tuple(_entries())
MEASURED = tuple(slug for slug in SLUGS if not whole_plans_of(slug) and scores_file(slug).is_file())


def test_the_chapter_has_the_sections_of_all_suites():
    before, heading, rest = CHAPTER.read_text(encoding="utf-8").partition(HEADING)
    assert heading
    written, _, after = rest.partition("\n## ")
    introduction = written.partition("\n### ")[0].rstrip()
    found = "\n\n".join([introduction, *map(section, SLUGS)]) + "\n"
    if os.environ.get("WRITE_TABLES"):
        CHAPTER.write_text(f"{before}{heading}{found}\n## {after}", encoding="utf-8")
        written = found
    assert written.strip() == found.strip()


@pytest.mark.parametrize("slug", [slug for slug in MEASURED if slug in suite_names()])
def test_the_scores_are_of_the_present_version(slug):
    report, suite = measured(slug), suite_of(slug)
    assert report is not None
    assert (report.version, report.digest) == (suite.version, suite.digest), (
        "measure again: `planarena shortcuts measure`"
    )
    planners = {"gold", "no-op", "constant plan", "request copied", "ask-everything", *shortcuts_of(slug)}
    assert planners <= report.splits["public"].means.keys()
    assert ("hidden" in report.splits) == (suite.hidden_requests is not None)


@pytest.mark.parametrize("slug", SLUGS)
def test_each_suite_says_what_its_figures_do_not_show(slug):
    text = section(slug)
    if not whole_plans_of(slug):
        for question in ("what the ranking score estimates", "independent units", "contamination", "not shown"):
            assert f"\n| {question} | " in text
        assert "shortcut" in text


def test_headroom_is_gold_less_the_best_shortcut():
    split = SplitReport(tasks=10, means={"gold": 0.8, "no-op": 0.7, "regex": 0.4, "bag-of-words": 0.6})
    assert (split.best, round(split.share or 0, 3)) == ("bag-of-words", 0.75)
    assert SplitReport(tasks=10, means={"gold": 0.8}).share is None


def test_the_command_prints_a_section_and_knows_the_suites(capsys):
    result = CliRunner().invoke(app, ["validity", "arc-111"])
    assert result.exit_code == 0
    assert section("arc-111") in capsys.readouterr().out + result.output
    assert CliRunner().invoke(app, ["validity", "arc-112"]).exit_code == 2


def test_reports_are_kept_as_json():
    report = measured("toolmini")
    assert report is not None
    assert ShortcutReport.from_json(json.loads(json.dumps(report.to_json()))) == report
    assert set(TRAINED) < set(report.splits["hidden"].means)
