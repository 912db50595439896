"""`planarena sbom`: the software bill of materials (CycloneDX) of installed packages and of the front end."""

import base64
import json
import sys
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer
from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.contrib.this.builders import this_component
from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import NormalizedName, canonicalize_name

from evaluator import __version__
from evaluator.core.commands.options import writable
from evaluator.core.commands.usage import usage_error, write_text
from evaluator.core.process import as_printable_json
from evaluator.core.provenance import SHIPPED, code_version

_NAME = "package-lock.json"
NPM_LOCK = SHIPPED / _NAME if SHIPPED.is_dir() else Path(__file__).resolve().parents[2] / "frontend" / _NAME


SCHEMA = SchemaVersion.V1_6
_ALGORITHMS = {"sha512": HashAlgorithm.SHA_512, "sha256": HashAlgorithm.SHA_256, "sha1": HashAlgorithm.SHA_1}
_LONGEST_LICENCE = 200


class SbomError(Exception):
    """The document cannot be made; the message says why."""


def sbom(*, version: str, commit: str | None, npm_lock: Path | None) -> str:
    """The document as JSON.

    Args:
        version: of PlanArena.
        commit: of PlanArena's code, if it is known.
        npm_lock: the front end's `package-lock.json`; None: leave the front end out.

    Raises:
        SbomError: the lock file cannot be read.
    """
    root = Component(
        name="planarena",
        version=version,
        type=ComponentType.APPLICATION,
        bom_ref="planarena",
        licenses=[LicenseFactory().make_from_string("Apache-2.0")],
        properties=[Property(name="planarena:commit", value=commit)] if commit else [],
    )
    bom = Bom()
    bom.metadata.component = root
    bom.metadata.tools.components.add(this_component())
    installed = {canonicalize_name(package.name): package for package in metadata.distributions()}
    # Installed from a wheel, PlanArena is a distribution itself; it is the subject of the document.
    installed.pop(canonicalize_name("planarena"), None)
    python = {name: python_component(package) for name, package in installed.items()}
    for name, component in python.items():
        bom.components.add(component)
        bom.register_dependency(component, [python[other] for other in _needed(installed[name]) if other in python])
    npm = npm_components(npm_lock)
    for component in npm:
        bom.components.add(component)
    bom.register_dependency(root, [*python.values(), *npm])
    document: str = make_outputter(bom, OutputFormat.JSON, SCHEMA).output_as_string(indent=2)
    return document


def python_component(package: metadata.Distribution) -> Component:
    """An installed distribution."""
    name = canonicalize_name(package.name)
    # A local version, such as torch's +cpu, belongs to the address too.
    purl = PackageURL(type="pypi", name=name, version=package.version)
    return Component(
        name=package.name,
        version=package.version,
        type=ComponentType.LIBRARY,
        bom_ref=f"pypi:{name}",
        purl=purl,
        licenses=[LicenseFactory().make_from_string(licence)] if (licence := _licence(package.metadata)) else [],
    )


def npm_components(lock: Path | None) -> list[Component]:
    """The packages of a lock file, each once. Development dependencies have the scope `excluded`.

    Raises:
        SbomError: the file is missing or is no lock file of npm 7 or newer.
    """
    if lock is None:
        return []
    try:
        packages = json.loads(lock.read_text(encoding="utf-8"))["packages"]
        found = {
            (name, str(entry["version"])): entry
            for path, entry in packages.items()
            if (name := _npm_name(path, entry)) and not entry.get("link")
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SbomError(f"{lock} is no lock file of npm ({type(error).__name__}: {error})") from None
    return [
        _npm_component(name, version, entry) for (name, version), entry in sorted(found.items(), key=lambda x: x[0])
    ]


def _npm_component(name: str, version: str, entry: Mapping[str, Any]) -> Component:
    namespace, _, short = name.rpartition("/")
    licence = entry.get("license")
    return Component(
        name=short,
        group=namespace or None,
        version=version,
        type=ComponentType.LIBRARY,
        bom_ref=f"npm:{name}@{version}",
        purl=PackageURL(type="npm", namespace=namespace or None, name=short, version=version),
        hashes=list(_hashes(str(entry.get("integrity", "")))),
        licenses=[LicenseFactory().make_from_string(licence)] if isinstance(licence, str) else [],
        # Only runtime dependencies are bundled in dist/.
        scope=ComponentScope.EXCLUDED if entry.get("dev") else ComponentScope.REQUIRED,
    )


def _npm_name(path: str, entry: Mapping[str, Any]) -> str:
    """Empty for the project itself."""
    return str(entry.get("name") or path.rpartition("node_modules/")[2]) if path else ""


def _hashes(integrity: str) -> Iterable[HashType]:
    """Subresource integrity, as npm writes it."""
    for part in integrity.split():
        algorithm, _, digest = part.partition("-")
        if algorithm in _ALGORITHMS:
            yield HashType(alg=_ALGORITHMS[algorithm], content=base64.b64decode(digest).hex())


def _licence(fields: metadata.PackageMetadata) -> str:
    """The name of the licence; empty if the package has only the text."""
    named = (fields[name] for name in ("License-Expression", "License") if name in fields)
    text = next((text for text in named if text), "")
    return text if text and "\n" not in text and len(text) <= _LONGEST_LICENCE else ""


def _needed(package: metadata.Distribution) -> Iterable[NormalizedName]:
    """Names of the packages that this one requires in this environment."""
    for text in package.requires or ():
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield canonicalize_name(requirement.name)


def print_sbom(
    output: Annotated[
        Path | None, typer.Option("--output", help="Write it to this file instead of printing it.", callback=writable)
    ] = None,
) -> None:
    """Print the installed packages and those of the front end as a CycloneDX document (JSON)."""
    commit, _ = code_version()
    try:
        document = sbom(version=__version__, commit=commit, npm_lock=NPM_LOCK if NPM_LOCK.is_file() else None)
    except SbomError as error:
        raise usage_error(error) from None
    if output is None:
        sys.stdout.write(as_printable_json(document + "\n"))
    else:
        write_text(document + "\n", file=output)
