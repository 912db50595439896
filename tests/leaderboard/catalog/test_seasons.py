"""Seeds of hidden data: one for each season and suite, and none that gives away another."""

import pytest

from leaderboard.catalog import seasons
from leaderboard.catalog.seasons import derived_seed
from leaderboard.evaluations.models import Evaluation


def test_a_seed_follows_from_master_season_and_suite_and_is_no_part_of_the_master():
    seed = derived_seed(master="master", season="1", suite="openagi")
    # Written down: another derivation draws other hidden samples, and must not come unnoticed.
    assert seed == "6c2854fb77ec71448979a6bd785fd6e8d54f68c98d1c413f92cdac3ab8f80f1c"
    others = [
        derived_seed(master="another", season="1", suite="openagi"),
        derived_seed(master="master", season="2", suite="openagi"),
        derived_seed(master="master", season="1", suite="tool100"),
        derived_seed(master="master", season="1o", suite="penagi"),
    ]
    assert len({seed, *others}) == 5


def hidden(**provenance: str) -> Evaluation:
    from leaderboard.catalog.models import Suite

    return Evaluation(split="hidden", suite=Suite(slug="openagi"), provenance=provenance)


def test_an_evaluation_keeps_the_season_that_it_was_submitted_in(settings):
    settings.HIDDEN_SEED, settings.SEASON = "master", "2"
    assert seasons.seed_of(hidden(season="1")) == derived_seed(master="master", season="1", suite="openagi")
    assert seasons.seed_of(hidden()) == derived_seed(master="master", season="2", suite="openagi")


def test_open_data_have_no_seed_and_a_site_without_a_master_seed_has_none(settings):
    settings.HIDDEN_SEED = ""
    assert seasons.seed_now("openagi") is None
    with pytest.raises(seasons.NoSeedError, match="PLANARENA_HIDDEN_SEED"):
        seasons.seed_of(hidden())
    settings.HIDDEN_SEED = "master"
    evaluation = hidden()
    evaluation.split = "public"
    with pytest.raises(seasons.NoSeedError, match="open data"):
        seasons.seed_of(evaluation)
