"""Seasons of hidden data: seeds of their own, commitments, and what may be submitted when."""

import hashlib
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from evaluator.core.suites.hidden import SeedError, commitment
from evaluator.core.suites.secrets import derived
from leaderboard.catalog import hidden_data
from leaderboard.catalog.hidden_data import REHEARSAL, DataRefusedError, derived_seed
from leaderboard.catalog.library import NotReadyError, conditions_of
from leaderboard.catalog.models import Season, SeasonData, Suite
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.visibility import NotPossibleError
from leaderboard.platform.models import AuditEntry
from leaderboard.platform.problems import FieldErrors
from leaderboard.queue.shards import queue_tasks
from leaderboard.submissions.actions import rerun
from leaderboard.submissions.services import cancel
from tests.leaderboard.factories import make_season, make_submission, make_suite, make_user, planner_data

MASTER, ANOTHER = "5eed" * 16, "a5" * 32


def test_a_seed_follows_from_master_season_and_suite_and_is_no_part_of_the_master():
    seed = derived_seed(master=MASTER, season="1", suite="openagi")
    # Written down: another derivation draws other hidden samples, and must not come unnoticed.
    assert seed == "6b7ed0a27feb92449c83243a978b48ccce98bd7efa2bb88604511377dc13fff7"
    others = [
        derived_seed(master=ANOTHER, season="1", suite="openagi"),
        derived_seed(master=MASTER, season="2", suite="openagi"),
        derived_seed(master=MASTER, season="1", suite="tool100"),
        derived_seed(master=MASTER, season="1o", suite="penagi"),
    ]
    assert len({seed, *others}) == 5


def test_a_commitment_binds_season_suite_and_seed():
    parts = [b"planarena season commitment/1", b"2026-a", b"openagi", MASTER.encode()]
    expected = hashlib.sha256(b"".join(len(part).to_bytes(4, "big") + part for part in parts)).hexdigest()
    assert commitment(seed=MASTER, season="2026-a", suite="openagi") == expected
    others = [
        commitment(seed=MASTER, season="2026-b", suite="openagi"),
        commitment(seed=MASTER, season="2026-a", suite="toolmini"),
        commitment(seed=MASTER, season="2026-ao", suite="penagi"),
        commitment(seed=ANOTHER, season="2026-a", suite="openagi"),
    ]
    assert len({expected, *others}) == 5


def test_nothing_but_64_hexadecimal_digits_is_committed_to():
    odd = [
        MASTER + "\0",
        MASTER[:-1] + "\0",
        MASTER[:-1],
        "",
        MASTER.upper(),
        MASTER[:-1] + "g",
        f"{MASTER}\n",
        "é" * 64,
    ]
    for seed in odd:
        with pytest.raises(SeedError, match="exactly 64 hexadecimal digits"):
            commitment(seed=seed, season="2026-a", suite="openagi")


def test_a_name_of_a_task_says_nothing_about_another_one():
    assert derived("name", "a b", "c", seed=MASTER) != derived("name", "a", "b c", seed=MASTER)
    assert derived("name", "a", seed=MASTER) != derived("name", "a", seed=MASTER + "\0")


def hidden(season: str | None) -> Evaluation:
    return Evaluation(split="hidden", suite=Suite(slug="openagi"), season_id=season)


def test_the_seed_is_of_the_season_of_the_submission_and_open_data_or_a_site_without_a_master_seed_have_none(settings):
    settings.HIDDEN_SEED = MASTER
    assert hidden_data.seed_of(hidden("1")) == derived_seed(master=MASTER, season="1", suite="openagi")
    with pytest.raises(hidden_data.NoSeedError, match="submit it again"):
        hidden_data.seed_of(hidden(None))
    open_data = hidden("1")
    open_data.split = "public"
    with pytest.raises(hidden_data.NoSeedError, match="open data"):
        hidden_data.seed_of(open_data)
    settings.HIDDEN_SEED = ""
    with pytest.raises(hidden_data.NoSeedError, match="PLANARENA_HIDDEN_SEED"):
        hidden_data.seed_of(hidden("1"))


@pytest.fixture
def suite(settings, db) -> Suite:
    """A suite on a site that evaluates hidden data."""
    settings.SPLIT = "hidden"
    return make_suite(slug="openagi")


def submitted(suite: Suite, *, season: str = "") -> Evaluation:
    from leaderboard.submissions import services

    data = services.SubmissionData(planner=planner_data(), suites=[suite.slug], season=season)
    return services.submit(services.validate(user=make_user(), data=data)).evaluations.get()


def test_seasons_and_master_seeds_have_data_of_their_own_and_a_submission_says_which(suite, settings):
    make_season("2026-a")
    first, again = submitted(suite), submitted(suite)
    assert (first.split, first.season_id, first.provenance["season"]) == ("hidden", "2026-a", "2026-a")
    assert first.provenance["commitment"] == SeasonData.objects.get(season="2026-a", suite="openagi").commitment
    assert first.provenance["data_digest"] == first.data_digest
    make_season("2026-b")
    second, named = submitted(suite), submitted(suite, season="2026-a")
    assert second.season_id == "2026-b"
    assert first.data_digest == again.data_digest == named.data_digest != second.data_digest
    Evaluation.objects.all().delete()
    Season.objects.all().delete()
    settings.HIDDEN_SEED = ANOTHER
    make_season("2026-a")
    assert conditions_of(suite).data_digest != first.data_digest


def test_a_season_is_rehearsed_on_the_public_split(suite):
    make_season("2026-a")
    found = submitted(suite, season=REHEARSAL)
    assert (found.split, found.season_id) == ("public", None)
    cancel(found)
    again = rerun(found, by=make_user()).evaluations.get()
    assert again.split == "public", "what was a rehearsal is one again"


@pytest.mark.parametrize(
    ("season", "sentence"),
    [
        ("", "No season is open. Season later opens on "),
        ("later", "Season later opens on "),
        ("closed", "Season closed was closed on "),
        ("unheard-of", "There is no season 'unheard-of'; open are: none."),
    ],
)
def test_what_is_not_open_takes_no_submission(suite, season, sentence):
    make_season("later", opens=timezone.now() + timedelta(days=3))
    make_season("closed")
    call_command("season", "close", "closed", verbosity=0)
    with pytest.raises(FieldErrors) as refused:
        submitted(suite, season=season)
    assert refused.value.errors["season"][0].startswith(sentence)
    assert not Evaluation.objects.exists()


def test_open_data_have_no_seasons(settings, db):
    with pytest.raises(FieldErrors, match="This site evaluates open data"):
        submitted(make_suite(), season="2026-a")
    assert submitted(make_suite(), season=REHEARSAL).split == "public"


def test_a_seed_that_does_not_fit_its_commitment_evaluates_nothing(suite, settings):
    make_season("2026-a")
    settings.HIDDEN_SEED = ANOTHER
    with pytest.raises(NotReadyError, match="does not fit the commitment that was published"):
        submitted(suite)
    with pytest.raises(CommandError, match="does not fit the commitment"):
        call_command("season", "close", "2026-a")
    assert not SeasonData.objects.exclude(seed="").exists(), "nothing was published"
    assert Season.objects.get().closed is None


def test_a_suite_that_came_after_the_announcement_is_added_by_announcing_again(suite):
    make_season("2026-a")
    before = SeasonData.objects.get().commitment
    later = make_suite(slug="later")
    with pytest.raises(NotReadyError, match="announced without later"):
        submitted(later)
    make_season("2026-a")
    assert submitted(later).season_id == "2026-a"
    assert SeasonData.objects.get(suite="openagi").commitment == before
    make_season("2026-a")
    entries = AuditEntry.objects.filter(action="season_announced").order_by("pk")
    assert [sorted(entry.details["commitments"]) for entry in entries] == [["openagi"], ["later", "openagi"]]


def test_closing_waits_for_what_runs_and_publishes_the_seeds_that_were_announced(suite, capsys):
    make_season("2026-a")
    running = submitted(suite)
    with pytest.raises(CommandError, match="1 evaluation of it has not ended"):
        call_command("season", "close", "2026-a")
    assert not SeasonData.objects.exclude(seed="").exists()
    cancel(running)
    call_command("season", "close", "2026-a")
    data = SeasonData.objects.get()
    assert commitment(seed=data.seed, season="2026-a", suite="openagi") == data.commitment
    assert data.seed in capsys.readouterr().out
    assert AuditEntry.objects.filter(action="season_closed", target="2026-a").exists()
    with pytest.raises(NotPossibleError, match="No season is open"):
        rerun(running, by=make_user())
    with pytest.raises(CommandError, match=r"closed on .* already"):
        call_command("season", "close", "2026-a")
    with pytest.raises(CommandError, match="its seeds are public"):
        call_command("season", "announce", "2026-a")


def test_what_was_checked_before_the_season_closed_is_refused_after_it(suite):
    make_season("2026-a")
    conditions = conditions_of(suite)
    submission = make_submission(suite=make_suite(slug="other"), seen={"season": REHEARSAL})
    call_command("season", "close", "2026-a", verbosity=0)
    with pytest.raises(DataRefusedError, match="was closed on"):
        queue_tasks(submission=submission, suite=suite, conditions=conditions, keys=["0"])


def test_wrong_arguments_and_master_seeds_are_refused_with_a_sentence(suite, settings):
    for seed, arguments, sentence in (
        (MASTER, "announce|2026 a", "letters, digits, hyphens and underscores"),
        (MASTER, "announce|rehearsal", "stands for the public split"),
        (MASTER, "announce|2026-a|--opens|soon", "a time such as 2026-12-01T00:00Z, not 'soon'"),
        (MASTER, "close|2026-a", "There is no season '2026-a'"),
        ("correct horse", "announce|2026-a", r"must be exactly 64 hexadecimal digits.* has 13 characters"),
        ("", "announce|2026-a", "must set PLANARENA_HIDDEN_SEED"),
    ):
        settings.HIDDEN_SEED = seed
        with pytest.raises(CommandError, match=sentence):
            call_command("season", *arguments.split("|"))
    assert not Season.objects.exists()
