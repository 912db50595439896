"""No shortcut gets far on a hidden split: a fresh seed in each run, which a failure names.

The usual run learns from a twentieth of the examples, and copied words from a fortieth, in a third of the steps, and
asks every fourth task of a suite of each kind: enough for shortcuts to be far above the limit where they are asked the
public split. With `--full`, they learn from all, and are asked everything.
"""

import secrets
from collections.abc import Iterator

import pytest

from evaluator.core.suites.hidden import HiddenSeed
from evaluator.planners.shortcuts import bag_of_words, planners
from evaluator.studies.validity import shortcuts
from evaluator.studies.validity.shortcuts import ALLOWED, shares_of_gold
from tests.rings import usual

CHECKED = ("openagi-season", "toolmini", "toolmini-abstain", "toolworld", "lumos-mini", "arc-mini")
FEW, FEW_TAGGED, FEW_STEPS = 1_000, 500, 400
EVERY = {"lumos-mini": 8}
"""Tasks of several turns cost more. Shortcuts solve hardly any of these: 38 tasks show more than `ALLOWED` of the gold
plans with a probability below 0.1 % even if shortcuts solve a third."""


@pytest.fixture(scope="class")
def few_examples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Models of few examples, which the tests of a suite share."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLANARENA_DATA", str(tmp_path_factory.mktemp("shortcuts")))
        patch.setattr(planners, "DRAWS", FEW)
        patch.setattr(bag_of_words, "_TAGGED", FEW_TAGGED)
        patch.setattr(bag_of_words, "_STEPS", FEW_STEPS)
        planners._models.cache_clear()
        yield
    planners._models.cache_clear()


def check(slug: str, *, every: int) -> None:
    seed = HiddenSeed(secrets.token_hex(32))
    shares = shares_of_gold(slug, seed=seed, every=every)
    assert max(shares.values()) <= ALLOWED, f"{shares} of the gold plans on {slug} with the seed {seed.secret}"
    assert len(shares) == 3


@pytest.mark.usefixtures("few_examples", "one_thread")
class TestFewExamples:
    @pytest.mark.parametrize("slug", usual(CHECKED, of=("openagi-season", "toolmini", "toolworld", "lumos-mini")))
    def test_shortcuts_stay_below_their_share_of_gold(self, slug):
        check(slug, every=EVERY.get(slug, 4))

    def test_the_share_is_that_of_the_best_shortcut(self, monkeypatch):
        """The check can fail: the public split's shortcuts are far above it."""
        suite = shortcuts.suite_of("toolmini")
        monkeypatch.setattr(shortcuts, "suite_on_split", lambda **_: suite)
        shares = shares_of_gold("toolmini", seed=HiddenSeed("0" * 64), every=4)
        assert max(shares.values()) > ALLOWED


@pytest.mark.full
@pytest.mark.parametrize("slug", CHECKED)
def test_shortcuts_that_learn_from_all_examples_stay_below_it(tmp_path, monkeypatch, one_thread, slug):
    monkeypatch.setenv("PLANARENA_DATA", str(tmp_path))
    check(slug, every=1)
