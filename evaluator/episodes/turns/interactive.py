"""The episode of suites in turns, and the step-by-step form of a suite of executed plans.

The step-by-step form has the same tasks, samples, tools and scores:

SUITES = (ENTRY, step_by_step(ENTRY, caption="Image Captioning"))
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from evaluator.core.canonical_json import JsonValue, digest
from evaluator.core.records import Reason
from evaluator.core.suites.base import EXACT, Column, IntervalMethod, Panel, Suite
from evaluator.core.suites.registry import Entry
from evaluator.episodes.base import Setting, SettingError, identity_of_data
from evaluator.episodes.executed import ExecutedPlans, named_profile
from evaluator.episodes.turns.environment import Bounds, Environment, ExpertEnvironment, offered_tools
from evaluator.replies.version import READER
from evaluator.scoring.arbiters.base import ArbiterName

if TYPE_CHECKING:
    from evaluator.episodes.turns.evaluator import TurnEvaluator


_ENDS_VERSION = 2
"""Version of how episodes end; increment it if an end may have another outcome."""


@dataclass(frozen=True, slots=True)
class InteractiveEpisodes:
    """Planners act in turns; exact tools or experts run their actions in between."""

    environment: Callable[[Setting], Environment]
    """Creates the suite's tools and rules in a setting at little cost; raises LookupError or ValueError if files or
    data are missing."""
    bounds: Bounds = field(default_factory=Bounds)
    experts: bool = False
    """Whether experts are among the tools; the environment is then an `ExpertEnvironment`."""
    extended: Mapping[str, str] = field(default_factory=dict)
    """See `ExecutedPlans`."""

    @property
    def executes(self) -> bool:
        return self.experts

    @property
    def in_turns(self) -> bool:
        return True

    def rules_digest(self, profile: str, *, arbiter: ArbiterName | None = None) -> str:  # noqa: ARG002
        """See `Episode`: covers tools, limits and the reader of replies, and with experts the profile."""
        bounds = self.bounds
        limits: list[JsonValue] = [
            bounds.turns, bounds.actions, bounds.seconds, bounds.feedback_characters, bounds.held_characters,
        ]  # fmt: skip
        rules: dict[str, JsonValue] = {
            "environment": self._environment(Setting(profile=profile)).digest(),
            "limits": limits,
            "ends": _ENDS_VERSION,
            "reader": READER,
        }
        if self.experts:
            rules["profile"] = named_profile(self.extended.get(profile, profile)).digest
        return digest(rules)

    def data_digest(self, *, suite: Suite, setting: Setting) -> str:
        """See `Episode`. The suite's digest covers the requests, that of the rules the files of exact tools."""
        environment = self._environment(setting) if self.experts else None
        source = environment.source() if isinstance(environment, ExpertEnvironment) else ""
        return identity_of_data(source=source, suite=suite, setting=setting)

    def offered(self, *, suite: Suite, profile: str) -> frozenset[str]:
        """See `Episode`: the catalogue's tools, except those without their expert."""
        return offered_tools(suite=suite, environment=self._environment(Setting(profile=profile)))

    def not_run(self, *, suite: Suite, setting: Setting) -> Mapping[str, tuple[Reason, str]]:
        return self._environment(setting).not_run(suite)

    def evaluator(self, *, suite: Suite, setting: Setting) -> "TurnEvaluator":
        from evaluator.episodes.turns.evaluator import TurnEvaluator

        if self.experts and setting.open_store is None:
            raise SettingError(f"{suite.slug} runs experts, which needs a store for what they make")
        try:
            suite_asked = setting.suite_asked(suite)
        except ValueError as error:
            raise SettingError(str(error)) from error
        return TurnEvaluator(
            suite=suite_asked,
            environment=self._environment(setting),
            bounds=self.bounds,
            open_journal=setting.open_store,
        )

    def empty_plan(self, *, is_fault: bool) -> str:
        if is_fault:
            return "No action would be run, and the task would score 0."
        return "No action would be run, and the task would have no answer."

    def _environment(self, setting: Setting) -> Environment:
        try:
            return self.environment(setting)
        except (LookupError, ValueError) as error:
            raise SettingError(str(error)) from error


ENDING = "-turns"
"""Suffix of the slugs of step-by-step suites."""
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
        entry: the suite's entry; its episode is `ExecutedPlans`.
        caption: name of the tool that describes a picture in words.
        bounds: limits of an episode.
    """
    plans = entry.episode
    if not isinstance(plans, ExecutedPlans):
        raise TypeError(f"the plans of {entry.slug} are not executed")
    slug = f"{entry.slug}{ENDING}"
    environment = partial(_executed_tasks, entry=entry, plans=plans, caption=caption)
    return Entry(
        slug=slug,
        build=partial(_suite, entry.build, slug=slug),
        episode=InteractiveEpisodes(environment=environment, bounds=bounds, experts=True, extended=plans.extended),
        catalogue=entry.catalogue,
        is_available=entry.is_available,
        whole_plans=entry.slug,
    )


def _executed_tasks(setting: Setting, *, entry: Entry, plans: ExecutedPlans, caption: str) -> "Environment":
    # Imported here to keep the registry cheap: this loads numpy.
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
        # Nothing measures optional columns in turns.
        metrics=(*(_over_samples(column) for column in whole.metrics if not column.is_optional), *_EPISODES),
        measures=None,
        rated=None,
        panels=(Panel.TRANSCRIPT, *whole.panels),
        scoring=f"{whole.scoring} {_SCORING}".strip(),
        named_inputs=True,
        # Rewards are defined for whole plans.
        training_splits=(),
    )


def _over_samples(column: Column) -> Column:
    """Planners act differently on each sample, so that 0 or 1 for a task becomes a share."""
    if column.key == EXACT and column.interval is IntervalMethod.WILSON:
        return replace(column, interval=IntervalMethod.BOOTSTRAP)
    return column
