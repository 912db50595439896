"""Registry entries of ARC's suites."""

from evaluator.arc import source
from evaluator.arc.source import Split
from evaluator.core.suites.registry import Entry, deferred
from evaluator.episodes.turns.environment import Bounds
from evaluator.episodes.turns.interactive import InteractiveEpisodes


def _is_fetched() -> bool:
    return source.RELEASE.fetched_folder() is not None


_BOUNDS = Bounds(turns=16, actions=64, feedback_characters=12_000)
"""Three candidates, each of the twelve views, and the answer. A candidate's outputs on the largest grids have about ten
thousand characters."""


ANCHORS = ("identity", "arc-search")
CATALOGUE = "arc"


def _entry(slug: str, *, split: Split) -> Entry:
    environment = deferred("evaluator.arc.suite:released_environment", split)
    return Entry(
        slug=slug, build=deferred("evaluator.arc.suite:released_suite", split),
        episode=InteractiveEpisodes(environment=environment, bounds=_BOUNDS), is_available=_is_fetched, anchors=ANCHORS,
        catalogue=CATALOGUE, has_gold=False,
    )  # fmt: skip


_MINI = InteractiveEpisodes(environment=deferred("evaluator.arc.mini.suite:environment"), bounds=_BOUNDS)
PUBLISHED = (2023, 10, 8)
SUITES = (
    Entry(
        slug="arc-mini",
        build=deferred("evaluator.arc.mini.suite:mini_suite"),
        episode=_MINI,
        anchors=ANCHORS,
        catalogue=CATALOGUE,
        regex=deferred("evaluator.arc.mini.regex:plan"),
        earlier=(deferred("evaluator.arc.mini.suite:first_version"),),
    ),
    _entry("arc-111", split=Split.PAPER),
    _entry("arc-training", split=Split.TRAINING),
    _entry("arc-evaluation", split=Split.EVALUATION),
)  # fmt: skip
FETCHING = "evaluator.arc.commands"
STRATEGIES = ("evaluator.arc.strategies",)
BUNDLED = "evaluator.arc.anchors"
ATTACKS = "evaluator.arc.attacks"
