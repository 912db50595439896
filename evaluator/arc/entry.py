"""Registry entries of ARC's suites."""

from functools import partial
from typing import TYPE_CHECKING

from evaluator.arc import source
from evaluator.arc.source import Split
from evaluator.core.suites.registry import Entry
from evaluator.episodes.base import Setting
from evaluator.episodes.turns.environment import Bounds
from evaluator.episodes.turns.interactive import InteractiveEpisodes

if TYPE_CHECKING:
    from evaluator.core.suites.base import Suite
    from evaluator.episodes.turns.environment import Environment


def _is_fetched() -> bool:
    return source.RELEASE.fetched_folder() is not None


def _environment(_: Setting, *, split: Split) -> "Environment":
    from evaluator.arc.suite import released_environment

    return released_environment(split)


def _suite(split: Split) -> "Suite":
    from evaluator.arc.suite import released_suite

    return released_suite(split)


def _mini_environment(setting: Setting) -> "Environment":
    from evaluator.arc.mini.suite import environment

    return environment(setting)


def _mini() -> "Suite":
    from evaluator.arc.mini.suite import mini_suite

    return mini_suite()


_BOUNDS = Bounds(turns=16, actions=64, feedback_characters=12_000)
"""Three candidates, each of the twelve views, and the answer. A candidate's outputs on the largest grids have about ten
thousand characters."""


ANCHORS = ("identity", "arc-search")
CATALOGUE = "arc"


def _entry(slug: str, *, split: Split) -> Entry:
    episode = InteractiveEpisodes(environment=partial(_environment, split=split), bounds=_BOUNDS)
    return Entry(
        slug=slug, build=partial(_suite, split), episode=episode, is_available=_is_fetched, anchors=ANCHORS,
        catalogue=CATALOGUE, has_gold=False,
    )  # fmt: skip


_MINI = InteractiveEpisodes(environment=_mini_environment, bounds=_BOUNDS)
PUBLISHED = (2023, 10, 8)
SUITES = (
    Entry(slug="arc-mini", build=_mini, episode=_MINI, anchors=ANCHORS, catalogue=CATALOGUE),
    _entry("arc-111", split=Split.PAPER),
    _entry("arc-training", split=Split.TRAINING),
    _entry("arc-evaluation", split=Split.EVALUATION),
)
FETCHING = "evaluator.arc.commands"
STRATEGIES = ("evaluator.arc.strategies",)
BUNDLED = "evaluator.arc.anchors"
