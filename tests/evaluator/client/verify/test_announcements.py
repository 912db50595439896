"""Announcements of seasons, which are signed and pinned: whatever is taken back or exchanged is found."""

from datetime import timedelta

import pytest

from evaluator.client.verify.pins import KnownSite
from evaluator.client.verify.report import ExitCode, Kind, Report
from evaluator.core.signatures.envelope import PrivateKey
from evaluator.core.suites.hidden import commitment
from tests.evaluator.client.verify.test_attacks import mismatches, verified
from tests.fakes.signed_site import CONDITIONS, START, SignedSite

SEED, OTHER = "5eed" * 16, "a5" * 32
SEASON = "2026-a"
STRANGER = PrivateKey.from_secret("a stranger's key")


def committed(suite: str, *, seed: str = SEED) -> str:
    return commitment(seed=seed, season=SEASON, suite=suite)


COMMITMENTS = {"openagi": committed("openagi"), "toolmini": committed("toolmini")}


def announced(**changes: object) -> SignedSite:
    """A site whose board is of an open season, and which announced it before."""
    conditions = {"split": "hidden", "season": SEASON, "commitment": COMMITMENTS["openagi"]}
    site = SignedSite(hidden=True, conditions=CONDITIONS.model_copy(update=conditions))
    site.announce(SEASON, COMMITMENTS, **changes)
    return site


def seen(site: SignedSite) -> tuple[Report, KnownSite]:
    report, known = verified(site)
    assert report.exit_code is ExitCode.PASSED, report.as_text()
    return report, known


def test_the_announcement_of_a_season_is_checked_and_pinned():
    report, known = seen(announced())
    assert known.seasons[SEASON].number == 1
    assert any("1 season: announced with signed commitments" in finding.text for finding in report.of(Kind.OK))


def test_a_coming_season_is_pinned_by_whoever_verifies_another_board():
    site = SignedSite()
    site.announce("2027-a", {"toolmini": committed("toolmini")})
    assert seen(site)[1].seasons["2027-a"].number == 1


def test_a_further_announcement_adds_suites():
    site = announced()
    known = seen(site)[1]
    site.announce(SEASON, {**COMMITMENTS, "toolworld": committed("toolworld")}, signed=START + timedelta(hours=1))
    report, after = verified(site, known=known)
    assert report.exit_code is ExitCode.PASSED, report.as_text()
    assert after.seasons[SEASON].number == 2


def announce_again(site: SignedSite, **changes: object) -> None:
    """Another announcement in the place of the first."""
    site.seasons[SEASON]["announcements"].clear()
    site.announce(SEASON, COMMITMENTS, **changes)


def announce_as_a_stranger(site: SignedSite) -> None:
    site.key, key = STRANGER, site.key
    announce_again(site)
    site.key = key


def toolmini(site: SignedSite) -> dict:
    """What is shown of a suite that is not the board's."""
    return site.seasons[SEASON]["suites"][1]


EXCHANGED = {**COMMITMENTS, "toolmini": committed("toolmini", seed=OTHER)}


@pytest.mark.parametrize(
    ("attack", "sentence"),
    [
        (lambda site: (site.seasons.clear(), site.announce(SEASON, EXCHANGED)),
         "announcement 1 is not what it was when it was verified here"),
        (lambda site: site.seasons.clear(), "season 2026-a is not listed any more"),
        (lambda site: site.announce(SEASON, EXCHANGED), "announcement 2 changes the commitment of toolmini"),
        (lambda site: site.announce(SEASON, {"openagi": COMMITMENTS["openagi"]}),
         "announcement 2 changes the commitment of toolmini"),
        (lambda site: toolmini(site).update(commitment=EXCHANGED["toolmini"]),
         "the commitment of toolmini is not the announced one"),
        (lambda site: site.seasons[SEASON]["suites"].pop(), "the commitment of toolmini is not the announced one"),
        (lambda site: toolmini(site).update(seed=OTHER),
         "the published seed of toolmini does not fit the announced commitment"),
        (lambda site: toolmini(site).update(seed=SEED + "\0"), "what was published for toolmini is no seed"),
        (lambda site: announce_again(site, season="2026-b"), "announcement 1 does not follow from the one before it"),
        (announce_as_a_stranger, "announcement 1"),
    ],
)  # fmt: skip
def test_what_a_site_takes_back_is_found(attack, sentence):
    site = announced()
    known = seen(site)[1]
    attack(site)
    report, after = verified(site, known=known)
    assert report.exit_code is ExitCode.CHECK_FAILED, report.as_text()
    assert any(sentence in text for text in mismatches(report)), report.as_text()
    assert after == known


def test_published_seeds_of_every_suite_are_compared_with_their_commitments():
    site = announced()
    site.seasons[SEASON]["closed"] = site.seasons[SEASON]["opens"]
    for data in site.seasons[SEASON]["suites"]:
        data["seed"] = SEED
    report, _ = verified(site)
    assert not [text for text in mismatches(report) if text.startswith("announcement")]


def test_a_board_of_other_data_than_announced_is_found_without_a_pin():
    site = announced()
    site.seasons.clear()
    site.announce(SEASON, {**COMMITMENTS, "openagi": committed("openagi", seed=OTHER)})
    report, _ = verified(site)
    assert any("the board is of other data than announced" in text for text in mismatches(report))


def test_a_season_without_a_signed_announcement_is_not_verified():
    site = announced()
    site.seasons[SEASON]["announcements"].clear()
    report, known = verified(site)
    assert report.exit_code is ExitCode.INFRASTRUCTURE, report.as_text()
    assert known.seasons == {}


def test_an_announcement_from_after_the_board_is_noted():
    report, _ = verified(announced(signed=START + timedelta(days=9)))
    assert any("was signed 2026-11-29 10:00 UTC, after the board" in finding.text for finding in report.of(Kind.NOTE))


@pytest.mark.parametrize(
    ("field", "says"),
    [
        ("announced", "another time than it announced (announced)"),
        ("opens", "another time than it announced (opens)"),
        ("closes", "another time than it announced (closes)"),
        ("closed", "is public exactly while the season is not closed"),
    ],
)
def test_times_of_a_season_are_those_that_were_announced(field, says):
    site = announced()
    site.seasons[SEASON][field] = "2030-01-01T00:00:00Z"
    report, _ = verified(site)
    assert any(says in text for text in mismatches(report)), report.as_text()
