"""No shortcut gets far on a hidden split: a fresh seed in each run, which a failure names.

The usual run learns from a tenth of the examples and asks every fourth task. With `--full`, shortcuts learn from all,
and are asked everything.
"""

import secrets

import pytest

from evaluator.core.suites.hidden import HiddenSeed
from evaluator.planners.shortcuts import planners
from evaluator.studies.validity.shortcuts import ALLOWED, shares_of_gold

CHECKED = ("openagi-season", "toolmini", "toolmini-abstain", "toolworld", "lumos-mini", "arc-mini")
FEW = 2_000


@pytest.fixture
def few_examples(tmp_path, monkeypatch):
    monkeypatch.setenv("PLANARENA_DATA", str(tmp_path))
    monkeypatch.setattr(planners, "DRAWS", FEW)
    planners._models.cache_clear()
    yield
    planners._models.cache_clear()


def check(slug: str, *, every: int) -> None:
    seed = HiddenSeed(secrets.token_hex(32))
    shares = shares_of_gold(slug, seed=seed, every=every)
    assert max(shares.values()) <= ALLOWED, f"{shares} of the gold plans on {slug} with the seed {seed.secret}"
    assert len(shares) == 3


@pytest.mark.parametrize("slug", CHECKED)
def test_shortcuts_stay_below_their_share_of_gold(few_examples, one_thread, slug):
    check(slug, every=4)


@pytest.mark.full
@pytest.mark.parametrize("slug", CHECKED)
def test_shortcuts_that_learn_from_all_examples_stay_below_it(tmp_path, monkeypatch, one_thread, slug):
    monkeypatch.setenv("PLANARENA_DATA", str(tmp_path))
    check(slug, every=1)


def test_the_share_is_that_of_the_best_shortcut(few_examples, one_thread, monkeypatch):
    """The check can fail: the public split's shortcuts are far above it."""
    from evaluator.studies.validity import shortcuts

    suite = shortcuts.suite_of("toolmini")
    monkeypatch.setattr(shortcuts, "suite_on_split", lambda **_: suite)
    shares = shares_of_gold("toolmini", seed=HiddenSeed("0" * 64), every=4)
    assert max(shares.values()) > ALLOWED
