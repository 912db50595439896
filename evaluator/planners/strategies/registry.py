"""The registry of strategies, and planners named `STRATEGY[:MODEL]`.

A strategy is a class in the tuple `STRATEGIES` of a module that a paper's entry names, or of this package. It has class
attributes `name`, `description` and `catalogue` (the tools of the suites whose requests it understands; empty: all),
and a constructor without arguments. Optional attributes:

- `optional`: abilities of a language model that it can do without; `with_model=True` makes it use one
- `option`: description of an option, made with `option="..."` and named `STRATEGY@OPTION[:MODEL]`; with `option_first`
  also `STRATEGY:OPTION:MODEL`
- `task_seconds`: processor time per task of its own computations, in seconds, where it is more than a hundredth
- `in_turns`: understands only suites in turns; `modules` are then roles with their own model:
  `STRATEGY:MODEL,ROLE=MODEL`

The modules are imported when strategies are first requested.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from types import MappingProxyType

from evaluator.core.language_model import Ability
from evaluator.core.strategy import Strategy
from evaluator.core.suggestions import no_such
from evaluator.core.suites.base import Suite
from evaluator.core.suites.registry import paper_entries, suites_in_turns, suites_of_catalogue
from evaluator.planners.language_models.choosing import FORMS

_GENERAL = ("evaluator.planners.strategies.json_plan", "evaluator.planners.strategies.native_tools")
"""Modules of strategies of no paper."""


class PlannerNameError(LookupError):
    """A name names no planner, or none for this suite. The message lists the alternatives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyEntry:
    """A strategy in the registry."""

    name: str
    description: str
    needs: frozenset[Ability]
    """Required abilities of its language model; empty: it works without one."""
    optional: frozenset[Ability]
    """Required abilities of a language model that it can do without; empty: it never uses one."""
    catalogue: str
    """Name of the catalogue of tools that it is made for; empty: it understands the requests of all suites."""
    make: Callable[..., Strategy]
    option: str = ""
    """Description of the option after `@` in its name; empty: it has none."""
    option_first: bool = False
    """Whether the option may also precede the model: `STRATEGY:OPTION:MODEL`."""
    in_turns: bool = False
    """Whether it acts step by step, and understands only suites in turns."""
    modules: tuple[str, ...] = ()
    """Roles that may have their own language model."""
    task_seconds: float = 0.0
    """Processor time per task of its own computations, in seconds, without its language model."""

    @property
    def suites(self) -> tuple[str, ...]:
        """Slugs of the suites whose requests it understands; empty: all."""
        if self.in_turns:
            return suites_in_turns()
        return suites_of_catalogue(self.catalogue) if self.catalogue else ()

    def strategy(self, *, with_model: bool) -> Strategy:
        """Make the strategy, with or without use of a language model."""
        return self.make(with_model=True) if with_model and self.optional else self.make()

    def understands(self, suite: str) -> bool:
        """Whether it understands the requests of the suite with this slug."""
        return not (self.catalogue or self.in_turns) or suite in self.suites


@cache
def strategies() -> Mapping[str, StrategyEntry]:
    """All strategies by name, in alphabetical order."""
    entries: dict[str, StrategyEntry] = {}
    of_papers = (name for entry in paper_entries() for name in getattr(entry, "STRATEGIES", ()))
    for module in (*_GENERAL, *of_papers):
        for strategy in import_module(module).STRATEGIES:
            if strategy.name in entries:
                raise ValueError(f"two strategies are called {strategy.name!r}")
            entries[strategy.name] = StrategyEntry(
                name=strategy.name,
                description=strategy.description,
                needs=frozenset(strategy().needs),
                optional=frozenset(getattr(strategy, "optional", ())),
                catalogue=strategy.catalogue,
                make=strategy,
                option=getattr(strategy, "option", ""),
                option_first=getattr(strategy, "option_first", False),
                in_turns=getattr(strategy, "in_turns", False),
                modules=getattr(strategy, "modules", ()),
                task_seconds=getattr(strategy, "task_seconds", 0.0),
            )
    return MappingProxyType(dict(sorted(entries.items())))


def split_name(name: str) -> tuple[str, str | None]:
    """Split `STRATEGY[:MODEL]` into strategy (with its option) and model, whose name may contain colons."""
    strategy, colon, model = name.partition(":")
    entry = strategies().get(strategy)
    if colon and entry is not None and entry.option_first:
        option, colon, model = model.partition(":")
        strategy = f"{strategy}@{option}"
    return strategy, model if colon else None


def split_modules(name: str, *, modules: Collection[str]) -> tuple[str | None, dict[str, str]]:
    """The model of `STRATEGY[:MODEL[,MODULE=MODEL]]`, and the models of its modules by name.

    Args:
        name: name of a planner.
        modules: modules of the strategy; anything else after a comma belongs to the model's name.

    Raises:
        PlannerNameError: a module has two models or none.
    """
    model = split_name(name)[1]
    module_models: dict[str, str] = {}
    while model is not None:
        head, _, last = model.rpartition(",")
        module, equals, other = last.partition("=")
        if not head or not equals or module not in modules:
            break
        if not other or module in module_models:
            raise PlannerNameError(f"{name}: give the module {module} one model, as in {module}=MODEL")
        model, module_models[module] = head, other
    return model, module_models


def strategy_of(*, name: str, suite: Suite) -> StrategyEntry:
    """The strategy of a planner's name, for a suite.

    Raises:
        PlannerNameError: see `named_strategy`; or the strategy does not understand the suite.
    """
    entry = named_strategy(name)
    if not entry.understands(suite.slug):
        raise PlannerNameError(
            f"the strategy {split_name(name)[0]} does not understand requests of {suite.slug}; "
            f"it is made for {', '.join(entry.suites)}"
        )
    return entry


def named_strategy(name: str) -> StrategyEntry:
    """The strategy of a planner's name, with its option.

    Raises:
        PlannerNameError: the strategy is unknown, its option is invalid, it lacks a language model, or it has one that
            it cannot use.
    """
    strategy, model = split_name(name)
    base, at, option = strategy.partition("@")
    known = strategies()
    if base not in known:
        raise PlannerNameError(no_such("strategy", base, known))
    entry = known[base]
    if at:
        if not entry.option:
            raise PlannerNameError(f"the strategy {base} has no option: leave {at + option!r} out")
        try:
            entry.make(option=option)
        except ValueError as error:
            raise PlannerNameError(f"{strategy}: {error}") from None
        if not option:
            raise PlannerNameError(f"{base}@ must be followed by {entry.option}")
        entry = replace(entry, make=partial(entry.make, option=option))
    if entry.needs and not model:
        raise PlannerNameError(
            f"the strategy {strategy} needs a language model that can {abilities_in_words(entry.needs)}: name one as "
            f"{strategy}:MODEL, where MODEL is one of {FORMS}"
        )
    if model is not None and not (entry.needs or entry.optional):
        raise PlannerNameError(f"the strategy {strategy} works without a language model: leave {model!r} out")
    if model == "":
        raise PlannerNameError(f"{strategy}: must be followed by a language model; models are named {FORMS}")
    return entry


def abilities_in_words(abilities: Collection[Ability]) -> str:
    """Abilities for use in a sentence, in the order of their definition."""
    return " and ".join(ability.in_words for ability in Ability if ability in abilities)


def has_strategy(name: str) -> bool:
    """Whether a planner's name begins with the name of a strategy."""
    return split_name(name)[0].partition("@")[0] in strategies()
