"""Suites in turns: their episode, and the step-by-step form of a suite whose plans are executed.

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
from evaluator.core.suites.hidden import suite_on_split
from evaluator.core.suites.registry import Entry
from evaluator.episodes.base import Setting, SettingError, identity_of_data
from evaluator.episodes.executed import ExecutedPlans
from evaluator.episodes.turns.environment import Bounds, Environment, ExpertEnvironment, offered_tools
from evaluator.scoring.arbiters.base import ArbiterName

if TYPE_CHECKING:
    from evaluator.episodes.turns.evaluator import TurnEvaluator


@dataclass(frozen=True, slots=True)
class InteractiveEpisodes:
    """A planner is asked turn by turn; what it wants is run in between, by exact tools or by experts."""

    environment: Callable[[Setting], Environment]
    """Makes the tools and rules of the suite in a setting; cheap. Raises LookupError or ValueError where their files or
    data are not here."""
    bounds: Bounds = field(default_factory=Bounds)
    experts: bool = False
    """Whether experts of a profile are among the tools: the environment is then an `ExpertEnvironment`."""

    @property
    def executes(self) -> bool:
        return self.experts

    @property
    def in_turns(self) -> bool:
        return True

    def rules_digest(self, profile: str, *, arbiter: ArbiterName | None = None) -> str:  # noqa: ARG002
        """See `Episode`: of the tools and limits, with the profile's where experts run."""
        bounds = self.bounds
        limits: list[JsonValue] = [
            bounds.turns, bounds.actions, bounds.seconds, bounds.feedback_characters, bounds.held_characters,
        ]  # fmt: skip
        rules: dict[str, JsonValue] = {"environment": self._made(Setting(profile=profile)).digest(), "limits": limits}
        if self.experts:
            rules["profile"] = _profile_digest(profile)
        return digest(rules)

    def data_digest(self, *, suite: Suite, setting: Setting) -> str:
        """See `Episode`. Requests are in the suite's digest, what exact tools read in that of the rules."""
        environment = self._made(setting) if self.experts else None
        source = environment.source() if isinstance(environment, ExpertEnvironment) else ""
        return identity_of_data(source=source, suite=suite, setting=setting)

    def offered(self, *, suite: Suite, profile: str) -> frozenset[str]:
        """See `Episode`: all tools of the catalogue, except those that lack their expert."""
        return offered_tools(suite=suite, environment=self._made(Setting(profile=profile)))

    def not_run(self, *, suite: Suite, setting: Setting) -> Mapping[str, tuple[Reason, str]]:
        return self._made(setting).not_run(suite)

    def evaluator(self, *, suite: Suite, setting: Setting) -> "TurnEvaluator":
        from evaluator.episodes.turns.evaluator import TurnEvaluator

        if self.experts and setting.open_store is None:
            raise SettingError(f"{suite.slug} runs experts, which needs a store for what they make")
        try:
            suite_asked = suite_on_split(suite=suite, split=setting.split, hidden_seed=setting.hidden_seed)
        except ValueError as error:
            raise SettingError(str(error)) from error
        return TurnEvaluator(
            suite=suite_asked, environment=self._made(setting), bounds=self.bounds, open_journal=setting.open_store
        )

    def empty_plan(self, *, is_fault: bool) -> str:
        if is_fault:
            return "No action would be run, and the task would score 0."
        return "No action would be run, and the task would have no answer."

    def _made(self, setting: Setting) -> Environment:
        try:
            return self.environment(setting)
        except (LookupError, ValueError) as error:
            raise SettingError(str(error)) from error


def _profile_digest(name: str) -> str:
    from evaluator.execution.experts.profile import ProfileError, load_profile

    try:
        return load_profile(name).digest
    except ProfileError as error:
        raise SettingError(str(error)) from error


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
