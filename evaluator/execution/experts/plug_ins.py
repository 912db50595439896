"""Experts of other packages: entry points of the group `planarena.experts`. Reading them imports no code of theirs.

    [project.entry-points."planarena.experts"]
    title-case = "my_package.titles:TitleCase"

A profile names the expert by its entry point, `implementation = "title-case"`. What the package is called, its version
and the digest of its files take the place of a `code_version`: they are part of the profile's digest, of store keys and
of the provenance of results.
"""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from typing import cast

from evaluator.core import canonical_json
from evaluator.core.expert import ExpertError, ExpertFactory
from evaluator.core.process import import_without_collection

GROUP = "planarena.experts"
_CACHES = "__pycache__"
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
        if _imported.setdefault(_top(self.module), self.digest) != self.digest:
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
    if len(packages := {_package(point) for point in points}) > 1:
        owners = " and ".join(f"{package} {version}" for package, version in sorted(packages))
        raise LookupError(f'expert "{name}" is an entry point of {owners}; uninstall one of them')
    point = points[0]
    if not point.attr:
        raise LookupError(f'expert "{name}": its entry point must name a class, as MODULE:CLASS, not {point.value!r}')
    package, version = _package(point)
    return PlugIn(
        name=name,
        module=point.module,
        attribute=point.attr,
        package=package,
        version=version,
        digest=_digest(_top(point.module), name=name),
    )


def _package(point: EntryPoint) -> tuple[str, str]:
    """Name and version of the distribution that declares an entry point."""
    return ("unknown", "0") if point.dist is None else (point.dist.name, point.dist.version)


def _top(module: str) -> str:
    return module.partition(".")[0]


def _digest(package: str, *, name: str) -> str:
    """SHA-256 over the paths and contents of a package's files, except compiled ones.

    Not over the distribution's list of files, which has no code of editable installations.
    """
    try:
        spec = find_spec(package)
    except (ImportError, ValueError) as error:
        raise LookupError(f'expert "{name}": {package} cannot be found: {error}') from error
    if spec is None:
        raise LookupError(f'expert "{name}": its entry point names the module {package}, which is not installed')
    if spec.submodule_search_locations is None:
        files = {spec.name: Path(spec.origin or "")}
    else:
        roots = [Path(root) for root in spec.submodule_search_locations]
        files = {
            f"{number}/{path.relative_to(root).as_posix()}": path
            for number, root in enumerate(roots)
            for path in root.rglob("*")
            if path.is_file() and _CACHES not in path.parts
        }
    try:
        digests = {relative: _file_digest(path) for relative, path in files.items()}
    except OSError as error:
        raise LookupError(f'expert "{name}": the files of {package} cannot be read: {error}') from error
    if not digests:
        raise LookupError(f'expert "{name}": {package} has no files that can be read; install it unpacked')
    return canonical_json.digest(dict(digests))


def _file_digest(path: Path) -> str:
    facts = path.stat()
    return _remembered_digest(path, facts.st_size, facts.st_mtime_ns)


@lru_cache(maxsize=4096)
def _remembered_digest(path: Path, _size: int, _changed: int) -> str:
    """Packages may contain weights of gigabytes, and profiles are read for every request of a board."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
