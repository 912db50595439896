"""Planners by name: a bundled one (`gold`), or a strategy with its language model (`hugginggpt:chat:URL#MODEL`).

Offline planners need no network, no key and nothing that is not shipped, so a site can run them for every user.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from evaluator.core.language_model import Ability
from evaluator.core.planner import Planner
from evaluator.core.strategy import SamplingStrategy
from evaluator.core.suggestions import likely_name, no_such
from evaluator.core.suites.base import Suite
from evaluator.core.tools.catalogues import OPENAGI
from evaluator.planners.anchors import BundledEntry
from evaluator.planners.bundled import BUNDLED, bundled_names, bundled_planner
from evaluator.planners.driving import StrategyPlanner, UnfitModelError, strategy_planner_of
from evaluator.planners.language_models.choosing import ModelNameError, language_model
from evaluator.planners.language_models.scripted import ScriptError
from evaluator.planners.language_models.shipped import LUMOS, shipped_folder, shipped_names
from evaluator.planners.strategies.registry import (
    PlannerNameError,
    has_strategy,
    split_name,
    split_roles,
    strategies,
    strategy_of,
)


def planner_named(*, name: str, suite: Suite) -> Planner:
    """The planner of this name for a suite.

    Raises:
        PlannerNameError: the name is unknown or does not fit the suite; the message lists the alternatives.
    """
    if name in bundled_names():
        try:
            return bundled_planner(name=name, suite=suite)
        except LookupError as error:
            raise PlannerNameError(*error.args) from None
    if not has_strategy(name) and ":" not in name:
        if likely := likely_name(name, (*bundled_names(), *strategies())):
            raise PlannerNameError(f"there is no planner {name!r}; did you mean {likely!r}?")
        raise PlannerNameError(
            f"there is no bundled planner {name!r}; there are: {', '.join(bundled_names())}; "
            f"nor a strategy of that name; there are: {', '.join(strategies())}"
        )
    return strategy_planner(name=name, suite=suite)


def strategy_planner(*, name: str, suite: Suite) -> StrategyPlanner:
    """The planner `STRATEGY[:MODEL[,ROLE=MODEL]]` for a suite. Language models on this machine are loaded lazily.

    Raises:
        PlannerNameError: the strategy or model does not exist, or they do not fit each other or the suite.
    """
    entry = strategy_of(name=name, suite=suite)
    model_name, named = split_roles(name, roles=entry.role_names)
    strategy = entry.strategy(with_model=model_name is not None)
    try:
        model = None if model_name is None else language_model(model_name)
        roles = {role: language_model(other) for role, other in named.items()}
        return strategy_planner_of(strategy=strategy, model=model, name=name, roles=roles)
    except (ModelNameError, ScriptError, UnfitModelError) as error:
        raise PlannerNameError(str(error).rstrip(".")) from error


def samples_replies(name: str) -> bool:
    """Whether the planner of this name samples, so that its plans depend on the seeds of a run (`reseeded`): a strategy
    that asks for replies at a temperature above 0, or a bundled planner with seeds. Unknown names do not."""
    if name in bundled_names():
        return BUNDLED[name].samples
    base, _, option = split_name(name)[0].partition("@")
    entry = strategies().get(base)
    if entry is None:
        return False
    try:
        strategy = entry.make(option=option) if option else entry.make()
    except ValueError:
        return False
    return isinstance(strategy, SamplingStrategy) and strategy.samples


ANCHORS = "Anchors of every board"
JUDGED_ANCHORS = "Anchors of boards whose plans are judged"
NAMED_ANCHORS = "Anchors of some suites in turns"
SHORTCUTS = "Shortcuts, which know words and not meanings"
WITHOUT_MODEL = "Strategies without a language model"
WITH_SHIPPED_MODEL = "Strategies with the language model that comes with PlanArena"
TRAINED_FOR = OPENAGI.name
"""The shipped language models were trained for this catalogue of tools: only its strategies are offered with them."""
_MODEL_SECONDS = 0.2
"""Processor time per task of a shipped language model."""
_SHORTCUT_SECONDS = 0.02
"""Processor time per task of a trained shortcut, besides up to a minute of training where no model is kept."""
_OF_MODULES = (
    f"lumos/iterative:{LUMOS}/plan-iterative,ground={LUMOS}/ground-iterative", f"lumos/integrated:{LUMOS}/integrated",
)  # fmt: skip
_MODULES_SUITE = "lumos-mini"
"""The suite that the shipped LUMOS modules were trained for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflinePlanner:
    """An offline planner in a list of choices."""

    name: str
    group: str
    """Heading of its group of choices."""
    description: str
    suites: tuple[str, ...] = ()
    """Slugs of the suites whose requests it understands; empty: all."""
    lacking: tuple[str, ...] = ()
    """Slugs of the suites that lack the gold plans it needs."""
    task_seconds: float = 0.0
    """Processor time per task of its own computations, in seconds."""

    def understands(self, suite: str) -> bool:
        """Whether it understands the requests of the suite with this slug."""
        return suite not in self.lacking and (not self.suites or suite in self.suites)


@cache
def offline_planners() -> Mapping[str, OfflinePlanner]:
    """All offline planners by name, in the order of their groups."""
    planners = [
        OfflinePlanner(
            name=entry.name,
            group=_group_of(entry),
            description=entry.description,
            suites=entry.suites,
            lacking=entry.lacking,
            task_seconds=_SHORTCUT_SECONDS if entry.learns else 0.0,
        )
        for entry in BUNDLED.values()
    ]
    planners += [
        OfflinePlanner(
            name=entry.name, group=WITHOUT_MODEL, description=entry.description, suites=entry.suites,
            task_seconds=entry.task_seconds,
        )
        for entry in strategies().values()
        if not entry.needs
    ]  # fmt: skip
    # The shipped language models were trained to generate within a constraint. The bare name is an alias of the
    # pretrained model, which is offered once.
    models = {shipped_folder(name): name for name in reversed(shipped_names()) if shipped_folder(name).is_dir()}
    planners += [
        OfflinePlanner(
            name=f"{entry.name}:{model}",
            group=WITH_SHIPPED_MODEL,
            description=entry.description,
            suites=entry.suites,
            task_seconds=_MODEL_SECONDS,
        )
        for entry in strategies().values()
        if entry.needs == {Ability.CONSTRAIN} and entry.catalogue == TRAINED_FOR
        for model in sorted(models.values())
    ]
    planners += [
        OfflinePlanner(
            name=name, group=WITH_SHIPPED_MODEL, description=strategies()[split_name(name)[0]].description,
            suites=(_MODULES_SUITE,), task_seconds=_MODEL_SECONDS,
        )
        for name in _OF_MODULES
    ]  # fmt: skip
    return MappingProxyType({planner.name: planner for planner in planners})


def planners_of_requests(suite: str) -> list[OfflinePlanner]:
    """The offline planners that answer requests which are no tasks of a suite, by their words and with its tools.

    Args:
        suite: slug of a suite.
    """
    groups = {WITHOUT_MODEL, WITH_SHIPPED_MODEL}
    return [
        planner for planner in offline_planners().values() if planner.group in groups and planner.understands(suite)
    ]


def _group_of(entry: BundledEntry) -> str:
    if entry.is_shortcut:
        return SHORTCUTS
    return NAMED_ANCHORS if entry.is_named_by_suites else JUDGED_ANCHORS if entry.is_for_judged else ANCHORS


def offline_planner(*, name: str, suite: Suite) -> Planner:
    """The offline planner of this name for a suite.

    Raises:
        PlannerNameError: it is no offline planner, or it does not understand the suite.
    """
    if name not in offline_planners():
        raise PlannerNameError(no_such("bundled planner", name, offline_planners()))
    return planner_named(name=name, suite=suite)
