"""Experts of other packages: entry points of the group `planarena.experts`. Reading them imports no code of theirs.

    [project.entry-points."planarena.experts"]
    title-case = "my_package.titles:TitleCase"

A profile names the expert by its entry point, `implementation = "title-case"`. What the package is called, its version
and the digest of its files take the place of a `code_version`: they are part of the profile's digest, of store keys and
of the provenance of results.
"""

from dataclasses import dataclass
from importlib.metadata import entry_points
from operator import attrgetter
from typing import cast

from evaluator.core.expert import ExpertError, ExpertFactory
from evaluator.core.plug_ins import digest_of_files, package_of, top_of
from evaluator.core.process import import_without_collection

GROUP = "planarena.experts"
_imported: dict[str, str] = {}
"""By top-level package, the digest of its files when an expert of it was first imported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlugIn:
    """An expert of an installed package."""

    name: str
    """Of the entry point."""
    module: str
    attribute: str
    """The class in the module, an `ExpertFactory`."""
    package: str
    """Name of the distribution."""
    version: str
    digest: str
    """SHA-256 over all files of the module's top-level package."""

    @property
    def code_version(self) -> str:
        """What the expert's code is, for digests and provenance."""
        return f"{self.package}=={self.version} sha256:{self.digest}"

    def factory(self) -> ExpertFactory:
        """Import the class.

        Raises:
            ExpertError: it cannot be imported, or its package has changed since this process imported it.
        """
        where = f'expert "{self.name}" of {self.package} {self.version}'
        if _imported.setdefault(top_of(self.module), self.digest) != self.digest:
            raise ExpertError(f"{where}: the package has changed since this process imported it; restart the process")
        try:
            found = attrgetter(self.attribute)(import_without_collection(self.module))
        except (ImportError, AttributeError, SyntaxError) as error:
            raise ExpertError(f"{where} cannot be imported: {error}") from error
        if not callable(found):
            raise ExpertError(f"{where}: {self.module}:{self.attribute} is no class")
        return cast(ExpertFactory, found)


def plug_in_names() -> tuple[str, ...]:
    """The names of all installed plug-ins."""
    return tuple(sorted({point.name for point in entry_points(group=GROUP)}))


def plug_in(name: str) -> PlugIn:
    """The plug-in with this name.

    Raises:
        LookupError: no installed package has it, several have it, or its files cannot be read.
    """
    points = tuple(entry_points(group=GROUP, name=name))
    if not points:
        raise LookupError(f'no installed package has an expert "{name}" among its entry points {GROUP}')
    if len(packages := {package_of(point) for point in points}) > 1:
        owners = " and ".join(f"{package} {version}" for package, version in sorted(packages))
        raise LookupError(f'expert "{name}" is an entry point of {owners}; uninstall one of them')
    point = points[0]
    if not point.attr:
        raise LookupError(f'expert "{name}": its entry point must name a class, as MODULE:CLASS, not {point.value!r}')
    package, version = package_of(point)
    return PlugIn(
        name=name,
        module=point.module,
        attribute=point.attr,
        package=package,
        version=version,
        digest=digest_of_files(top_of(point.module), of=f'expert "{name}"'),
    )
