"""The papers, and their suites by slug.

Papers are folders of this library with a module `entry`. A suite is built when it is first requested. An entry has a
tuple `SUITES` and `PUBLISHED`, the year, month and day of the paper. It may have

- `STRATEGIES`, names of modules with a tuple of the same name (`evaluator.planners.strategies.registry`),
- `BUNDLED`, the name of a module with a tuple of the same name of planners (`evaluator.planners.anchors`),
- `ATTACKS`, the name of a module with a tuple of the same name of attacks (`evaluator.planners.attacks`),
- `FETCHING`, the name of a module with a mapping `RELEASED`, which `planarena suites fetch` uses: from the name of a
  benchmark to the function that fetches its released files.

External suites have entries of the same form without a date: of installed packages (`evaluator.core.suites.plug_ins`),
or listed in the environment variable `PLANARENA_SUITES`, separated by commas. A package whose suite has the name of
another one is left out, and its names are refused with the reason. Next to an entry there may be a file
`commands.toml` with additional commands, as in `evaluator/core/commands/commands.toml` (not in packages), and a folder
`metadata` with facts and a datasheet of each suite (`evaluator.core.suites.metadata`).
"""

import os
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, Protocol

from evaluator.core.commands.table import SUITES_VARIABLE
from evaluator.core.suggestions import no_such
from evaluator.core.suites.base import Suite
from evaluator.core.suites.plug_ins import SuitePackage, suite_packages

SLUG = re.compile("[a-z][a-z0-9-]{1,39}")
"""Names of suites of packages."""


def paper_entries() -> Iterator[ModuleType]:
    """The entries of the papers in order of publication, then those listed in the environment, then those of installed
    packages."""
    yield from _own_entries()
    yield from _plugged().modules


def _own_entries() -> Iterator[ModuleType]:
    """Without those of installed packages."""
    rooms = import_module("evaluator").__path__
    found = [
        import_module(f"evaluator.{room.name}.entry")
        for room in pkgutil.iter_modules(rooms)
        if any((Path(place) / room.name / "entry.py").is_file() for place in rooms)
    ]
    yield from sorted(found, key=lambda entry: entry.PUBLISHED)
    for name in os.environ.get(SUITES_VARIABLE, "").split(","):
        if name.strip():
            yield import_module(name.strip())


class _Plugged(NamedTuple):
    """The installed packages with suites."""

    modules: tuple[ModuleType, ...]
    """Those that are used."""
    packages: Mapping[str, SuitePackage]
    """By slug of a suite."""
    refused: Mapping[str, str]
    """Why a package is left out, as a sentence, by slug of each of its suites, or by entry point if it has none."""


@cache
def _plugged() -> _Plugged:
    taken = {entry.slug: "PlanArena" for module in _own_entries() for entry in module.SUITES}
    refused: dict[str, str] = {}
    found: list[tuple[SuitePackage, ModuleType, tuple[str, ...]]] = []
    for package in suite_packages():
        try:
            module = package.load()
            found.append((package, module, _slugs_of(module, package=package)))
        except LookupError as error:
            refused[package.name] = f"{error}."
    used = []
    for package, module, slugs in found:
        others = {slug: owner for slug in slugs if (owner := _owner(slug, of=package, taken=taken, found=found))}
        if not others:
            used.append((package, module, slugs))
        for slug, owner in others.items():
            why = f'The suites of {package} are left out: {owner} has a suite "{slug}" too; uninstall or rename one.'
            refused |= dict.fromkeys((one for one in slugs if one not in taken), why)
            refused.setdefault(package.name, why)
    return _Plugged(
        modules=tuple(module for _, module, _ in used),
        packages={slug: package for package, _, slugs in used for slug in slugs},
        refused=refused,
    )


def _slugs_of(module: ModuleType, *, package: SuitePackage) -> tuple[str, ...]:
    suites = getattr(module, "SUITES", None)
    if not isinstance(suites, tuple) or not suites or not all(isinstance(entry, Entry) for entry in suites):
        raise LookupError(f"{package}: {module.__name__} has no tuple SUITES of evaluator.core.suites.registry.Entry")
    slugs = tuple(entry.slug for entry in suites)
    if wrong := next((slug for slug in slugs if not SLUG.fullmatch(slug)), None):
        raise LookupError(
            f"{package}: the suite's name {wrong!r} must be 2 to 40 lower-case letters, digits and hyphens, beginning "
            "with a letter"
        )
    if len(set(slugs)) != len(slugs):
        raise LookupError(f"{package}: {module.__name__} has two suites of one name in SUITES")
    return slugs


def _owner(
    slug: str,
    *,
    of: SuitePackage,
    taken: Mapping[str, str],
    found: Sequence[tuple[SuitePackage, ModuleType, tuple[str, ...]]],
) -> str:
    """Who else has a suite of this name; empty: nobody."""
    if slug in taken:
        return taken[slug]
    return next((str(other) for other, _, slugs in found if other != of and slug in slugs), "")


def refused_packages() -> tuple[str, ...]:
    """Why installed packages are left out, as sentences."""
    return tuple(dict.fromkeys(_plugged().refused.values()))


def package_with(slug: str) -> SuitePackage | None:
    """The installed package with this suite; None if it is part of this library or named in the environment."""
    return _plugged().packages.get(slug)


def deferred(name: str, *arguments: Any) -> Callable[..., Any]:
    """A function `module:function` that is imported on its first call, to keep reading the registry cheap.

    Args:
        name: dotted name of the module, a colon, and the name of the function.
        arguments: passed before those of the call.
    """
    return partial(_call, name, *arguments)


def _call(name: str, *arguments: Any) -> Any:
    return pkgutil.resolve_name(name)(*arguments)


class Kind(Protocol):
    """The part of `evaluator.episodes.base.Episode` that the registry uses."""

    @property
    def executes(self) -> bool:
        """Whether plans are executed."""
        ...

    @property
    def in_turns(self) -> bool:
        """Whether planners act in turns."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One suite of the registry."""

    slug: str
    build: Callable[[], Suite]
    """Raises LookupError, with instructions, if its files were not fetched."""
    episode: Kind
    catalogue: str = ""
    """Name of the catalogue of its tools. Strategies that are made for this catalogue understand its requests."""
    is_available: Callable[[], bool] = lambda: True
    """Whether its files were fetched."""
    whole_plans: str = ""
    """For a step-by-step form: the slug of the corresponding suite of whole plans; else empty."""
    has_gold: bool = True
    """Whether any of its tasks has a gold plan, so that bundled planners can answer with them."""
    earlier: tuple[Callable[[], Suite], ...] = ()
    """Build earlier versions, whose hidden requests can still be computed from the seeds of closed seasons."""
    anchors: tuple[str, ...] = ()
    """Names of bundled planners that serve as anchors only for the suites that list them."""
    regex: Callable[[Any], Any] | None = None
    """Keyword rules that were written by hand from public requests: takes a `PlannerRequest` and returns a `Plan`, a
    plan in the suite's own form, or None to abstain. With them the suite has the anchor `regex`."""
    comes_first: bool = False
    """Whether its tools are those of the workbench where nobody chooses a suite."""


def suite_names() -> tuple[str, ...]:
    """Slugs of the available suites: those whose files are not fetched yet are omitted."""
    return tuple(slug for slug, entry in _entries().items() if entry.is_available())


@cache
def suite_of(slug: str) -> Suite:
    """The suite with this slug.

    Raises:
        LookupError: there is none, or its files were not fetched; the message has instructions.
    """
    return entry_of(slug).build()


@cache
def suite_with_digest(slug: str, digest: str) -> Suite:
    """The version of a suite with this digest: the present one, or an earlier one that can still be built.

    Raises:
        LookupError: there is none; the message is the end of a sentence.
    """
    present = suite_of(slug)
    if present.digest == digest:
        return present
    for build in entry_of(slug).earlier:
        earlier = build()
        if earlier.digest == digest:
            return earlier
    raise LookupError(f"this PlanArena has another version of {slug}")


def default_suite(*, executes: bool) -> Suite:
    """The first available suite that executes plans, or the first that judges plans.

    Raises:
        LookupError: there is none.
    """
    for slug in suite_names():
        episode = entry_of(slug).episode
        if episode.executes if executes else _judges(episode):
            return suite_of(slug)
    raise LookupError(f"there is no suite whose plans are {'executed' if executes else 'judged'}")


def executed_suites() -> tuple[str, ...]:
    """Slugs of the available suites whose plans are executed whole."""
    return tuple(slug for slug in suite_names() if (kind := entry_of(slug).episode).executes and not kind.in_turns)


def preferred_first(slugs: Iterable[str]) -> list[str]:
    """Suites in the order in which the workbench offers their tools: one that is declared to come first, then those
    with the most tools, then by name. Omits those without tools, or that
    this release cannot build."""
    known = {slug: count for slug in slugs if (count := _tools(slug))}
    return sorted(known, key=lambda slug: (not entry_of(slug).comes_first, -known[slug], slug))


def _tools(slug: str) -> int:
    """Number of tools; 0 of a suite that this release cannot build."""
    try:
        return len(suite_of(slug).catalogue.tools)
    except LookupError:
        return 0


def judged_suites() -> tuple[str, ...]:
    """Slugs of all suites whose plans are judged and not executed, in alphabetical order, fetched or not."""
    return tuple(sorted(slug for slug, entry in _entries().items() if _judges(entry.episode)))


def suites_with_anchor(name: str) -> tuple[str, ...]:
    """Slugs of all suites that list this bundled planner as an anchor, in alphabetical order, fetched or not."""
    return tuple(sorted(slug for slug, entry in _entries().items() if name in _anchors_of(entry)))


def _anchors_of(entry: Entry) -> tuple[str, ...]:
    return entry.anchors if entry.regex is None else (*entry.anchors, "regex")


def suites_without_gold() -> tuple[str, ...]:
    """Slugs of all suites without gold plans, in alphabetical order, fetched or not."""
    return tuple(sorted(slug for slug, entry in _entries().items() if not entry.has_gold))


def _judges(episode: Kind) -> bool:
    return not (episode.executes or episode.in_turns)


def suites_in_turns() -> tuple[str, ...]:
    """Slugs of all suites in which planners act in turns, in alphabetical order, fetched or not."""
    return tuple(sorted(slug for slug, entry in _entries().items() if entry.episode.in_turns))


def suites_of_catalogue(catalogue: str) -> tuple[str, ...]:
    """Slugs of all suites with this catalogue of tools, in alphabetical order."""
    return tuple(sorted(slug for slug, entry in _entries().items() if entry.catalogue == catalogue))


def whole_plans_of(slug: str) -> str:
    """The suite of whole plans whose step-by-step form has this slug; empty if the suite is no step-by-step form.

    Raises:
        LookupError: there is no such suite.
    """
    return entry_of(slug).whole_plans


def step_by_step_of(slug: str) -> str:
    """The step-by-step form of the suite with this slug; empty if there is none."""
    return next((entry.slug for entry in _entries().values() if entry.whole_plans == slug), "")


def fetching_modules() -> tuple[str, ...]:
    """The modules that fetch released files."""
    return tuple(filter(None, (getattr(module, "FETCHING", "") for module in paper_entries())))


def folder_of(slug: str) -> Path:
    """The folder of the module that registers a suite.

    Raises:
        LookupError: there is no such suite.
    """
    entry_of(slug)
    for module in paper_entries():
        if module.__file__ and any(entry.slug == slug for entry in module.SUITES):
            return Path(module.__file__).parent
    raise LookupError(f"the suite {slug} is not registered by a module in a folder")


def forget() -> None:
    """Clear the caches, so that the registry is read again: for tests that change the environment."""
    suite_of.cache_clear()
    suite_with_digest.cache_clear()
    _plugged.cache_clear()
    _entries.cache_clear()


def entry_of(slug: str) -> Entry:
    """The entry of the suite with this slug.

    Raises:
        LookupError: there is none.
    """
    try:
        return _entries()[slug]
    except KeyError:
        if why := _plugged().refused.get(slug):
            raise LookupError(why.removesuffix(".")) from None
        raise LookupError(no_such("suite", slug, _entries())) from None


@cache
def _entries() -> dict[str, Entry]:
    found = [entry for module in paper_entries() for entry in module.SUITES]
    # Suites of whole plans first, since they are better known.
    return {entry.slug: entry for entry in sorted(found, key=lambda entry: entry.episode.in_turns)}
