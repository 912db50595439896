"""The strategies there are, and planners named `STRATEGY[:MODEL]`.

A strategy is a class in the tuple `STRATEGIES` of a module that a paper's entry names, with class attributes `name`,
`description` and `catalogue` (it understands the requests of suites with this catalogue of tools; empty: of all) and a
constructor without arguments. One that works with and without a language model also has `optional`, what that model
must be able to do, and is made with `with_model=True` to use one. One with an option has `option`, which says what it
is, and is made with `option="..."` where a name has it behind an `@`: `STRATEGY@OPTION[:MODEL]`; with `option_first`
also behind a colon: `STRATEGY:OPTION:MODEL`. One with `in_turns`
understands only suites in turns, and may have `modules`, roles with a model of their own: `STRATEGY:MODEL,ROLE=MODEL`.
The modules are found and imported when strategies are first asked for.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from types import MappingProxyType

from evaluator.core.language_model import Ability
from evaluator.core.naming import similar_names
from evaluator.core.strategy import Strategy
from evaluator.core.suites.base import Suite
from evaluator.core.suites.registry import paper_entries, suites_in_turns, suites_of_catalogue
from evaluator.planners.language_models.choosing import FORMS


class PlannerNameError(LookupError):
    """A planner's name that names no planner, or none for this suite. The message says what would be right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyEntry:
    """A strategy in the list of strategies."""

    name: str
    description: str
    needs: frozenset[Ability]
    """What its language model must be able to do; empty: it works without one."""
    optional: frozenset[Ability]
    """What its language model must be able to do if it is to use one, though it works without; empty: it uses none."""
    catalogue: str
    """Name of the catalogue of tools that it is made for; empty: it understands the requests of all suites."""
    make: Callable[..., Strategy]
    option: str = ""
    """What may follow an `@` in its name, in words; empty: nothing."""
    option_first: bool = False
    """Whether the option may also stand behind a colon, before the model: `STRATEGY:OPTION:MODEL`."""
    in_turns: bool = False
    """Whether it acts step by step, and understands only suites in turns."""
    modules: tuple[str, ...] = ()
    """Roles that may have a language model of their own."""

    @property
    def suites(self) -> tuple[str, ...]:
        """Slugs of the suites whose requests it understands; empty: all."""
        if self.in_turns:
            return suites_in_turns()
        return suites_of_catalogue(self.catalogue) if self.catalogue else ()

    def strategy(self, *, with_model: bool) -> Strategy:
        """The strategy, made to use a language model or to do without."""
        return self.make(with_model=True) if with_model and self.optional else self.make()

    def understands(self, suite: str) -> bool:
        """Whether it understands the requests of the suite with this slug."""
        return not (self.catalogue or self.in_turns) or suite in self.suites


@cache
def strategies() -> Mapping[str, StrategyEntry]:
    """All strategies by name, in the order of their names."""
    found: dict[str, StrategyEntry] = {}
    for module in (name for entry in paper_entries() for name in getattr(entry, "STRATEGIES", ())):
        for made in import_module(module).STRATEGIES:
            if made.name in found:
                raise ValueError(f"two strategies are called {made.name!r}")
            found[made.name] = StrategyEntry(
                name=made.name,
                description=made.description,
                needs=frozenset(made().needs),
                optional=frozenset(getattr(made, "optional", ())),
                catalogue=made.catalogue,
                make=made,
                option=getattr(made, "option", ""),
                option_first=getattr(made, "option_first", False),
                in_turns=getattr(made, "in_turns", False),
                modules=getattr(made, "modules", ()),
            )
    return MappingProxyType(dict(sorted(found.items())))


def split_name(name: str) -> tuple[str, str | None]:
    """`STRATEGY[:MODEL]` as strategy, with its option, and model; a model's name may hold further colons."""
    strategy, colon, model = name.partition(":")
    entry = strategies().get(strategy)
    if colon and entry is not None and entry.option_first:
        option, colon, model = model.partition(":")
        strategy = f"{strategy}@{option}"
    return strategy, model if colon else None


def split_modules(name: str, *, modules: Collection[str]) -> tuple[str | None, dict[str, str]]:
    """The model of `STRATEGY[:MODEL[,MODULE=MODEL]]`, and those of its modules by their names.

    Args:
        name: of a planner.
        modules: those that the strategy has; anything else behind a comma belongs to the model's name.

    Raises:
        PlannerNameError: a module has two models or none.
    """
    model = split_name(name)[1]
    found: dict[str, str] = {}
    while model is not None:
        head, _, last = model.rpartition(",")
        module, equals, other = last.partition("=")
        if not head or not equals or module not in modules:
            break
        if not other or module in found:
            raise PlannerNameError(f"{name}: give the module {module} one model, as in {module}=MODEL")
        model, found[module] = head, other
    return model, found


def strategy_of(*, name: str, suite: Suite) -> StrategyEntry:
    """The strategy of a planner's name, for a suite.

    Raises:
        PlannerNameError: there is none, it does not understand the suite, or it has a language model that it does
            not need, or none that it needs.
    """
    entry = named_strategy(name)
    if not entry.understands(suite.slug):
        raise PlannerNameError(
            f"the strategy {split_name(name)[0]} does not understand requests of {suite.slug}; "
            f"it is made for {', '.join(entry.suites)}"
        )
    return entry


def named_strategy(name: str) -> StrategyEntry:
    """The strategy of a planner's name, whatever it is asked.

    Raises:
        PlannerNameError: there is none, or it has a language model that it does not need, or none that it needs.
    """
    strategy, model = split_name(name)
    entry = _with_option(strategy)
    if entry.needs and not model:
        raise PlannerNameError(
            f"the strategy {strategy} needs a language model that can {abilities_in_words(entry.needs)}: name one as "
            f"{strategy}:MODEL, where MODEL is one of {FORMS}"
        )
    if model is not None and not (entry.needs or entry.optional):
        raise PlannerNameError(f"the strategy {strategy} works without a language model: leave {model!r} out")
    if model == "":
        raise PlannerNameError(f"behind {strategy}: stands no language model; models are named {FORMS}")
    return entry


def abilities_in_words(abilities: Collection[Ability]) -> str:
    """Abilities as they stand in a sentence, in the order of their definition."""
    return " and ".join(str(ability) for ability in Ability if ability in abilities)


def has_strategy(name: str) -> bool:
    """Whether a planner's name begins with that of a strategy."""
    return split_name(name)[0].partition("@")[0] in strategies()


def _with_option(name: str) -> StrategyEntry:
    base, at, option = name.partition("@")
    entry = _find(base)
    if not at:
        return entry
    if not entry.option:
        raise PlannerNameError(f"the strategy {base} has no option: leave {at + option!r} out")
    try:
        entry.make(option=option)
    except ValueError as error:
        raise PlannerNameError(f"{name}: {error}") from None
    if not option:
        raise PlannerNameError(f"behind {base}@ stands {entry.option}")
    return replace(entry, make=partial(entry.make, option=option))


def _find(name: str) -> StrategyEntry:
    known = strategies()
    if name in known:
        return known[name]
    near = similar_names(name, known)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise PlannerNameError(f"there is no strategy {name!r}{hint}; there are: {', '.join(known)}")
