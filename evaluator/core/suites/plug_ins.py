"""Suites of other packages: entry points of the group `planarena.suites`.

    [project.entry-points."planarena.suites"]
    parcels = "parcels_suite.suite"

The entry point names a module with a tuple `SUITES`, as `evaluator.core.suites.registry` describes it. Its code runs in
every process that reads the registry, with the rights of that process.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from types import ModuleType

from evaluator.core.plug_ins import digest_of_files, package_of, top_of

GROUP = "planarena.suites"


@dataclass(frozen=True, slots=True, kw_only=True)
class SuitePackage:
    """An entry point of an installed package."""

    name: str
    """Of the entry point."""
    module: str
    package: str
    """Name of the distribution."""
    version: str
    attribute: str = ""

    def __str__(self) -> str:
        return f"{self.package} {self.version}"

    @property
    def digest(self) -> str:
        """SHA-256 over all files of the module's top-level package.

        Raises:
            LookupError: they cannot be read.
        """
        return digest_of_files(top_of(self.module), of=f'entry point "{self.name}"')

    def load(self) -> ModuleType:
        """Import the module.

        Raises:
            LookupError: it cannot be imported; the message says what is wrong and where.
        """
        where = f'{self}, entry point "{self.name}" of {GROUP}'
        if self.attribute:
            raise LookupError(f"{where}: it must name a module, as {self.module!r}, not {self.attribute!r} in it")
        try:
            return import_module(self.module)
        except Exception as error:  # foreign code may fail in any way, and other suites must not fail with it
            raise LookupError(f"{where}: {self.module} cannot be imported: {type(error).__name__}: {error}") from error


def suite_packages() -> Iterator[SuitePackage]:
    """The entry points of all installed packages, by package and name. Imports nothing of theirs."""
    points = {(*package_of(point), point.name, point.value): point for point in entry_points(group=GROUP)}
    for (package, version, name, _), point in sorted(points.items()):
        yield SuitePackage(name=name, module=point.module, attribute=point.attr, package=package, version=version)
