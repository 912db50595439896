"""Ranges of ranks: tested again, or said not to be checked."""

import pytest

from evaluator.cli.program.exit_codes import ExitCode
from evaluator.client.verify.report import Kind
from tests.evaluator.client.verify.test_attacks import mismatches, resigned, verified
from tests.fakes.signed_site import SignedSite, name


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"rank_high": 3}, "the range of ranks of evaluation"),
        ({"rank_low": None}, "the range of ranks of evaluation"),
        ({"rank_tests": 2}, "the range of ranks of evaluation"),
        ({"runs": {"evaluations": [name(2), name(3)]}}, "the mean of overall does not follow"),
    ],
)
def test_ranges_and_runs_that_do_not_follow_from_the_results_are_found(changes, says):
    report, _ = verified(resigned(SignedSite(), lambda row: row.update(changes)))
    assert report.exit_code is ExitCode.CHECK_FAILED
    assert any(says in text for text in mismatches(report)), report.as_text()


def test_without_the_results_of_a_row_the_ranges_are_not_called_right():
    site = SignedSite()
    del site.evaluations[name(2)]
    report, _ = verified(site)
    (found,) = [finding.text for finding in report.of(Kind.NOT_CHECKED) if finding.part == "rows"]
    assert found == "ranges of ranks: the results of 1 evaluations are missing"
    assert "paired tests" not in " ".join(finding.text for finding in report.of(Kind.OK))


def test_a_number_of_samples_that_no_table_can_have_is_not_computed(monkeypatch):
    monkeypatch.setattr("evaluator.client.verify.ranks.MOST_SCORES", 30)
    report, _ = verified(SignedSite())
    assert "ranges of ranks: 3 rows of 13 tasks are too many to test again" in [
        finding.text for finding in report.of(Kind.NOT_CHECKED)
    ]
