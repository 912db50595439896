"""Results of single tasks that a site withholds: on hidden data while their season is open, and nowhere else."""

from collections.abc import Callable

import pytest

from evaluator.client.verify.report import ExitCode, Kind
from tests.evaluator.client.verify.test_announcements import COMMITMENTS, SEASON, SEED, announced
from tests.evaluator.client.verify.test_attacks import mismatches, verified
from tests.fakes.signed_site import SignedSite, name

BOUND = f"results of single tasks are signed, and shown when season {SEASON} closes"


def withhold(site: SignedSite, *numbers: int) -> SignedSite:
    """Withhold the results of some evaluations, or of all."""
    for number in numbers or (1, 2, 3):
        site.evaluations[name(number)] |= {"tasks": [], "withheld": True, "salt": None, "records": {}}
    return site


def texts(site: SignedSite, kind: Kind) -> list[str]:
    return [finding.text for finding in verified(site)[0].of(kind)]


def test_while_a_season_is_open_signatures_suffice_and_the_report_says_what_was_not_computed_again():
    report, _ = verified(withhold(announced()))
    assert report.exit_code is ExitCode.PASSED, report.as_text()
    told = f"3 rows: {BOUND}; figures and ranges of ranks were not computed again"
    assert told in [finding.text for finding in report.of(Kind.NOTE)]
    checked = [finding.text for finding in report.of(Kind.OK) if finding.part in {"results", "records"}]
    assert checked == [], "nothing is called right that was not read"
    assert not any("ranges of ranks follow" in finding.text for finding in report.findings)


def close(site: SignedSite) -> None:
    site.seasons[SEASON]["closed"] = site.seasons[SEASON]["announced"]
    for data in site.seasons[SEASON]["suites"]:
        data["seed"] = SEED


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (close, "though no season is open"),
        (lambda site: site.seasons[SEASON]["suites"].pop(0), "though no season is open"),
        (lambda site: site.seasons.pop(SEASON), "season 2026-a cannot be read"),
    ],
)
def test_after_the_season_results_are_shown_or_the_board_is_not_verified(change: Callable[[SignedSite], None], says):
    site = withhold(announced())
    change(site)
    report, _ = verified(site)
    assert report.exit_code is not ExitCode.PASSED
    assert any(says in finding.text for finding in report.of(Kind.NOT_CHECKED)), report.as_text()


def test_hidden_data_without_a_season_excuse_nothing():
    site = withhold(SignedSite(hidden=True))
    report, _ = verified(site)
    assert report.exit_code is ExitCode.INFRASTRUCTURE
    assert any("though no season is open" in text for text in texts(site, Kind.NOT_CHECKED))


@pytest.mark.parametrize("numbers", [(), (2,)])
def test_results_of_open_data_cannot_be_withheld(numbers):
    site = withhold(SignedSite(), *numbers)
    many = "1 row" if numbers else "3 rows"
    assert texts(site, Kind.NOT_CHECKED) == [
        f"{many}: the results of single tasks are withheld, though the data are open"
    ]
    report, _ = verified(site)
    assert report.exit_code is ExitCode.INFRASTRUCTURE
    site.announce(SEASON, COMMITMENTS)
    assert verified(site)[0].exit_code is ExitCode.INFRASTRUCTURE, "an open season excuses its own boards alone"


def two(site: SignedSite) -> dict:
    return site.evaluations[name(2)]


def sign_others(site: SignedSite) -> None:
    """The operator signs other results than the snapshot binds."""
    made = {**two(site), "tasks": announced().evaluations[name(3)]["tasks"]}
    site._sign_evaluation(made)
    two(site)["signature"] = made["signature"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda site: two(site).update(tasks=SignedSite(hidden=True).evaluations[name(2)]["tasks"]),
         "its results are shown, and said to be withheld"),
        (lambda site: two(site).update(salt="salt 2"), "its results are shown, and said to be withheld"),
        (lambda site: two(site).update(signature=None), "has no signature"),
        (lambda site: two(site).update(signature=site.evaluations[name(3)]["signature"]), "names another evaluation"),
        (sign_others, "names another results"),
    ],
)  # fmt: skip
def test_withheld_results_are_bound_by_the_statement_that_the_snapshot_names(
    change: Callable[[SignedSite], None], says
):
    site = withhold(announced())
    change(site)
    assert any(says in text for text in mismatches(verified(site)[0]))
