"""The step-by-step form of a suite whose plans are executed: the same tasks, samples, tools and scores in turns.

SUITES = (ENTRY, step_by_step(ENTRY, caption="Image Captioning"))
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from evaluator.core.suites.base import EXACT, Column, IntervalMethod, Panel, Suite
from evaluator.core.suites.registry import Entry
from evaluator.episodes.base import Setting
from evaluator.episodes.executed import ExecutedPlans
from evaluator.episodes.turns.environment import Bounds
from evaluator.episodes.turns.interactive import InteractiveEpisodes

if TYPE_CHECKING:
    from evaluator.episodes.turns.environment import Environment

ENDING = "-turns"
"""Of the slugs of these suites."""
BOUNDS = Bounds(turns=24, actions=48)
_SCORING = (
    "Planners act step by step: each action runs on the sample, and its result is shown before the next one: texts as "
    "they are, pictures as their size and a caption, or as PNG to planners that accept it. An episode is held for each "
    "sample. One without an answer scores 0, and a task has the mean of its samples."
)
_size = partial(Column, indicator=True, ordered=False, fault=None, high=None)
_share = partial(Column, indicator=True)
_EPISODES = (
    _share(
        key="ended", label="Ended by itself",
        description="Share of episodes that the planner ended, not a limit or answers that cannot be read.",
    ),
    _share(key="actions_done", label="Actions that worked", description="Share of an episode's actions with a result."),
    _size(key="turns", label="Turns", description="Mean number of turns."),
    _size(key="actions", label="Actions", description="Mean number of actions."),
)  # fmt: skip


def step_by_step(entry: Entry, *, caption: str, bounds: Bounds = BOUNDS) -> Entry:
    """The entry of the step-by-step form of a suite.

    Args:
        entry: of a suite with the episode `ExecutedPlans`.
        caption: name of its tool that describes a picture in words.
        bounds: what an episode may use.
    """
    plans = entry.episode
    if not isinstance(plans, ExecutedPlans):
        raise TypeError(f"the plans of {entry.slug} are not executed")
    slug = f"{entry.slug}{ENDING}"
    environment = partial(_environment, entry=entry, plans=plans, caption=caption)
    return Entry(
        slug=slug,
        build=partial(_suite, entry.build, slug=slug),
        episode=InteractiveEpisodes(environment=environment, bounds=bounds, experts=True),
        catalogue=entry.catalogue,
        is_available=entry.is_available,
        whole_plans=entry.slug,
    )


def _environment(setting: Setting, *, entry: Entry, plans: ExecutedPlans, caption: str) -> "Environment":
    # By need: reading the registry must stay cheap, and this loads numpy.
    from evaluator.episodes.turns.executed_tasks import ExecutedTasks

    return ExecutedTasks(
        setting=setting, slug=entry.slug, plans=plans, catalogue=entry.build().catalogue, caption=caption
    )


def _suite(build: Callable[[], Suite], *, slug: str) -> Suite:
    whole = build()
    return replace(
        whole,
        slug=slug,
        title=f"{whole.title}, step by step",
        description=f"{whole.description} Planners see the result of each step before the next.",
        metrics=(*map(_over_samples, whole.metrics), *_EPISODES),
        panels=(Panel.TRANSCRIPT, *whole.panels),
        scoring=f"{whole.scoring} {_SCORING}".strip(),
        named_inputs=True,
        # Rewards are of whole plans.
        training_splits=(),
    )


def _over_samples(column: Column) -> Column:
    """Planners act differently on each sample: what was 0 or 1 for a task is now a share."""
    if column.key == EXACT and column.interval is IntervalMethod.WILSON:
        return replace(column, interval=IntervalMethod.BOOTSTRAP)
    return column
