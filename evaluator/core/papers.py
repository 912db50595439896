"""The papers: folders of this library with a module `entry`, found when they are first asked for.

An entry has a tuple `SUITES` (`evaluator.core.suites.registry`) and `PUBLISHED`, the year, month and day of the paper.
It may have

- `STRATEGIES`, names of modules with a tuple of the same name (`evaluator.planners.strategies.registry`),
- `BUNDLED`, the name of a module with a tuple of the same name of planners (`evaluator.planners.anchors`),
- `FETCHING`, the name of a module with a mapping `RELEASED`, which `planarena suites fetch` uses: from the name of a
  benchmark to the function that fetches its released files.

Suites from elsewhere have entries of the same form, which the environment variable `PLANARENA_SUITES` names, separated
by commas; they need no date. Beside an entry may be a file `commands.toml` with commands of its own, as in
`evaluator/core/commands/commands.toml`, and a folder `metadata` with facts and a datasheet of each suite
(`evaluator.core.suites.metadata`).
"""

import os
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

VARIABLE = "PLANARENA_SUITES"


def paper_entries() -> Iterator[ModuleType]:
    """The entries of the papers in the order of publication, then those that the environment names."""
    rooms = import_module("evaluator").__path__
    found = [
        import_module(f"evaluator.{room.name}.entry")
        for room in pkgutil.iter_modules(rooms)
        if any((Path(place) / room.name / "entry.py").is_file() for place in rooms)
    ]
    yield from sorted(found, key=lambda entry: entry.PUBLISHED)
    for name in os.environ.get(VARIABLE, "").split(","):
        if name.strip():
            yield import_module(name.strip())
