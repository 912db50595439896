"""The registry of strategies, and planners named `STRATEGY[:MODEL]`.

A strategy is a class in the tuple `STRATEGIES` of a module that a paper's entry names, or of this package. It has class
attributes `name`, `description` and `catalogue` (the tools of the suites whose requests it understands; empty: all),
and a constructor without arguments. Optional attributes:

- `optional`: abilities of a language model that it can do without; `with_model=True` makes it use one
- `options` (`evaluator.core.strategy_options`): made with `option="..."` and named
  `STRATEGY@NAME=VALUE;NAME=VALUE[:MODEL]`; with `option_first` also `STRATEGY:OPTIONS:MODEL`
- `roles`: parts that may have their own model, `STRATEGY:MODEL,ROLE=MODEL`; `in_role` marks their calls
- `all_in_roles`: every call has a role, so that `STRATEGY:ROLE=MODEL,ROLE=MODEL` needs no other model
- `task_seconds`: processor time per task of its own computations, in seconds, where it is more than a hundredth
- `in_turns`: understands only suites in turns

The modules are imported when strategies are first requested.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib import import_module
from types import MappingProxyType

from evaluator.core.language_model import Ability
from evaluator.core.strategy import Strategy
from evaluator.core.strategy_options import OptionError, Options, OptionValue, Role
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
    options: Options = field(default_factory=Options)
    """Its options, after `@` in its name."""
    option_first: bool = False
    """Whether the options may also precede the model: `STRATEGY:OPTIONS:MODEL`."""
    chosen: Mapping[str, OptionValue] = field(default_factory=dict)
    """Values of all options."""
    in_turns: bool = False
    """Whether it acts step by step, and understands only suites in turns."""
    roles: tuple[Role, ...] = ()
    """Parts that may have their own language model."""
    all_in_roles: bool = False
    """Whether every call has a role."""
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

    def with_options(self, text: str) -> "StrategyEntry":
        """The strategy with the options of a name.

        Raises:
            OptionError: they are invalid.
        """
        chosen = self.options.read_text(text)
        return replace(self, make=partial(self.make, option=text), chosen=chosen)

    @property
    def full_name(self) -> str:
        """Its name with the options that are not the default, in canonical form."""
        text = self.options.text(self.chosen)
        return f"{self.name}@{text}" if text else self.name

    @property
    def role_names(self) -> tuple[str, ...]:
        """Names of its roles."""
        return tuple(role.name for role in self.roles)

    def uses_main(self, roles: Collection[str]) -> bool:
        """Whether a planner's own model answers any call where these roles have models of their own."""
        return not (self.all_in_roles and roles and set(roles) >= set(self.role_names))

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
            options = getattr(strategy, "options", Options())
            entries[strategy.name] = StrategyEntry(
                name=strategy.name,
                description=strategy.description,
                needs=frozenset(strategy().needs),
                optional=frozenset(getattr(strategy, "optional", ())),
                catalogue=strategy.catalogue,
                make=strategy,
                options=options,
                option_first=getattr(strategy, "option_first", False),
                chosen=MappingProxyType(options.read({})),
                in_turns=getattr(strategy, "in_turns", False),
                roles=getattr(strategy, "roles", ()),
                all_in_roles=getattr(strategy, "all_in_roles", False),
                task_seconds=getattr(strategy, "task_seconds", 0.0),
            )
    return MappingProxyType(dict(sorted(entries.items())))


def split_name(name: str) -> tuple[str, str | None]:
    """Split `STRATEGY[:MODEL]` into strategy (with its options) and model, whose name may contain colons."""
    strategy, colon, model = name.partition(":")
    entry = strategies().get(strategy)
    if colon and entry is not None and entry.option_first:
        option, colon, model = model.partition(":")
        strategy = f"{strategy}@{option}"
    return strategy, model if colon else None


def split_roles(name: str, *, roles: Collection[str]) -> tuple[str | None, dict[str, str]]:
    """The model of `STRATEGY[:MODEL[,ROLE=MODEL]]`, and the models of its roles by name. In `STRATEGY:ROLE=MODEL` it is
    the first role's.

    Args:
        name: name of a planner.
        roles: roles of the strategy; anything else after a comma belongs to the model's name.

    Raises:
        PlannerNameError: a role has two models or none.
    """
    model = split_name(name)[1]
    role_models: dict[str, str] = {}
    while model is not None:
        head, _, last = model.rpartition(",")
        role, equals, other = last.partition("=")
        if not equals or role not in roles:
            break
        if not other or role in role_models:
            raise PlannerNameError(f"{name}: give the role {role} one model, as in {role}=MODEL")
        role_models[role] = other
        if not head:
            return _without_main(name, roles=role_models)
        model = head
    return model, role_models


def _without_main(name: str, *, roles: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    entry = named_strategy(name)
    if entry.uses_main(roles):
        lacking = ", ".join(role for role in entry.role_names if role not in roles) or "no role"
        raise PlannerNameError(
            f"{name}: name a model for the calls of {lacking}, as in {split_name(name)[0]}:MODEL,ROLE=MODEL"
        )
    first = roles[entry.role_names[0]]
    return first, {role: other for role, other in roles.items() if role != entry.role_names[0]}


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
    """The strategy of a planner's name, with its options.

    Raises:
        PlannerNameError: the strategy is unknown, its options are invalid, it lacks a language model, or it has one
            that it cannot use.
    """
    strategy, model = split_name(name)
    base, at, option = strategy.partition("@")
    known = strategies()
    if base not in known:
        raise PlannerNameError(no_such("strategy", base, known))
    entry = known[base]
    if at:
        if not entry.options.declared:
            raise PlannerNameError(f"the strategy {base} has no option: leave {at + option!r} out")
        if not option:
            raise PlannerNameError(f"{base}@ must be followed by options: {entry.options.form()}")
        try:
            entry = entry.with_options(option)
        except OptionError as error:
            raise PlannerNameError(f"{strategy}: {error}") from None
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
