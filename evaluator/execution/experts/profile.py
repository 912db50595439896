"""Profiles: the expert of each tool, and the models of scores. Reading a profile imports no model code.

A profile is a TOML file. The training command writes the lock file of its weights:

    name = "lilliput"
    weights = "../../../miniature/weights"      # relative to the file; holds one folder per model and lock.json

    [experts."Image Denoising"]
    id = "lilliput/denoising"
    implementation = "restormer"
    weights = "denoising"
    batch_size = 16
    batch_sizes = { 24 = 32, 80 = 64 }     # on CUDA cards with at least so many GB; optional

    [scorers.ViT]
    id = "lilliput/vit-score"
    weights = "vit-score"

A profile that names the chat tool in `[experts]` or `[unavailable]` takes the operator's model for it, if the
environment names one (`chat_slot.py`).

An expert with `uses = ["TOOL"]` runs the expert of another tool. An expert with `base = "NAME"` needs a second
checkpoint besides its `weights`. The table `[unavailable]` gives the reasons for tools without an expert.

An expert with `alone = ["cuda"]` processes items one by one on devices of this kind, since its results depend there on
the position in a batch. `tolerance` is the largest difference of its outputs, in [0, 1], between devices of different
classes; `planarena doctor` checks both.

A profile with `[checkpoints.NAME]` tables (see `checkpoints.py`) instead of `weights` uses released models, which
`planarena profiles fetch` downloads. Before that, the profile is readable but has placeholder digests.

Operators have profiles of their own in the folder `PLANARENA_PROFILES`, by default `profiles` in the data folder:

    name = "ours"
    extends = "lilliput"        # all entries of a bundled profile, except those that follow

    [experts."Text Summarization"]
    id = "ours/lead"
    implementation = "lead"     # an expert of an installed package (see `plug_ins.py`); it needs no weights
    samples = false             # whether it draws random numbers; optional, for experts of packages only
    resizes = false             # whether pictures of different sizes can share a batch; likewise
"""

import json
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from evaluator.core import canonical_json
from evaluator.core.canonical_json import JsonValue
from evaluator.core.expert import Expert, ExpertError, ExpertSpec
from evaluator.core.suggestions import no_such
from evaluator.execution.experts.chat_slot import TOOL, operators_model
from evaluator.execution.experts.checkpoints import (
    Checkpoint,
    FetchError,
    checkpoint,
    digest_of,
    read_lock,
    weights_folder,
)
from evaluator.execution.experts.devices import loading
from evaluator.execution.experts.implementations import SCORER_CODE_VERSIONS, implementation_of
from evaluator.execution.experts.plug_ins import PlugIn
from evaluator.execution.experts.weights import verify_weights

PROFILES = Path(__file__).parent / "profiles"
PRECISIONS = ("float32", "bfloat16", "float16")
DEVICES = ("cpu", "cuda")


_WITH_SLOT = ("experts", "unavailable")
"""Tables of which one names the chat tool in profiles that the operator's model may serve."""
NO_WEIGHTS = "none"
"""Digest of experts without weights."""


class ProfileError(Exception):
    """A profile is missing or invalid; the message names the place."""


@dataclass(frozen=True, slots=True)
class ScorerSpec:
    """The model of a score, with everything that affects the score."""

    name: str
    """`ViT` or `BERT`."""
    id: str
    path: Path
    weights_digest: str
    code_version: str
    batch_size: int = 16
    parameters: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Profile:
    """A choice of experts and scorers, for example `lilliput`."""

    name: str
    digest: str
    """SHA-256 over everything in the profile that affects results."""
    experts: Mapping[str, ExpertSpec]
    """By tool name."""
    scorers: Mapping[str, ScorerSpec]
    """By score name."""
    checkpoints: Mapping[str, Checkpoint] = field(default_factory=dict)
    """Released models by the name of their weights; empty if the profile's weights are shipped."""
    reference_experts: Mapping[str, ExpertSpec] = field(default_factory=dict)
    """By tool name, experts for building reference data; plans do not run them."""
    unavailable: Mapping[str, str] = field(default_factory=dict)
    """By tool name, why the profile has no expert, as a sentence."""
    plug_ins: Mapping[str, PlugIn] = field(default_factory=dict)
    """By tool name, the packages of experts that are none of PlanArena's."""
    extends: str = ""
    """The bundled profile whose entries it takes over; its weights are those of that profile."""

    @property
    def owner_of_weights(self) -> str:
        """The profile that the folder of fetched weights belongs to."""
        return self.extends or self.name

    def facts(self) -> dict[str, JsonValue]:
        """Name, digest and, where there are any, the packages of plug-ins by tool, for provenance."""
        facts: dict[str, JsonValue] = {"name": self.name, "digest": self.digest}
        if self.plug_ins:
            facts["plug_ins"] = {tool: found.code_version for tool, found in sorted(self.plug_ins.items())}
        return facts


def own_profiles() -> Path:
    """The folder of the operator's profiles: `PLANARENA_PROFILES`, by default `profiles` in the data folder."""
    configured = os.environ.get("PLANARENA_PROFILES")
    return Path(configured) if configured else Path(os.environ.get("PLANARENA_DATA", ".data")) / "profiles"


def profile_names(*, folder: Path | None = None) -> tuple[str, ...]:
    """Names of all profiles, or of those in one folder."""
    folders = (PROFILES, own_profiles()) if folder is None else (folder,)
    return tuple(sorted({path.stem for one in folders for path in one.glob("*.toml")}))


def load_profile(
    name: str, *, folder: Path | None = None, weights: Path | None = None, precision: str | None = None
) -> Profile:
    """Read a profile by name.

    Args:
        name: the file's name without its suffix.
        folder: folder of profiles; by default that of the bundled ones, then that of the operator's.
        weights: folder of fetched checkpoints; by default in the data folder.
        precision: overrides the profile's precision, for example `float32` without a GPU. It changes the digest:
            results are not comparable with the profile's.

    Raises:
        ProfileError: the profile does not exist or has an invalid entry.
    """
    path = _path_of(name, folder=folder)
    try:
        sources = _sources(path, weights=weights)
        entries = {
            table: {tool: _Entry(entry, source.weights) for source in sources for tool, entry in source.table(table)}
            for table in ("experts", "reference_experts", "scorers")
        }
        experts, reference_experts = (
            {tool: _expert(tool=tool, entries=entries[table], precision=precision) for tool in entries[table]}
            for table in ("experts", "reference_experts")
        )
        slot = operators_model(os.environ)
        if slot is not None and any(TOOL in dict(source.table(table)) for source in sources for table in _WITH_SLOT):
            experts[TOOL] = slot
        scorers = {score: _scorer(name=score, found=found) for score, found in entries["scorers"].items()}
        used = {tool: implementation_of(spec.implementation).plug_in for tool, spec in experts.items()}
    except (LookupError, TypeError, FetchError) as error:
        raise ProfileError(f"profile {name!r} ({path}): {error}") from error
    plug_ins = {tool: plug_in for tool, plug_in in used.items() if plug_in is not None}
    without = {tool: why for source in sources for tool, why in source.table("unavailable") if tool not in experts}
    return Profile(
        name=name,
        digest=_digest(name=name, experts=experts, scorers=scorers, plug_ins=plug_ins),
        experts=MappingProxyType(experts),
        scorers=MappingProxyType(scorers),
        checkpoints=MappingProxyType(dict(sources[0].weights.checkpoints)),
        reference_experts=MappingProxyType(reference_experts),
        unavailable=MappingProxyType(without),
        plug_ins=MappingProxyType(plug_ins),
        extends=sources[0].name if len(sources) > 1 else "",
    )


def load_expert(*, spec: ExpertSpec, device: str = "cpu") -> Expert:
    """Load the expert of a profile's entry, a `SamplingExpert` if `spec.samples`. Imports torch.

    Raises:
        WeightsError: the weights are missing or differ from the profile's.
        ExpertError: it is of a package that cannot be imported, or that has changed since the profile was read.
        LookupError: there is no such implementation.
    """
    for used in (spec, *spec.uses):
        if used.weights_digest != NO_WEIGHTS:
            verify_weights(folder=used.path, expected=used.weights_digest)
        if used.base is not None:
            verify_weights(folder=used.base, expected=used.base_digest)
    implementation = implementation_of(spec.implementation)
    if implementation.plug_in is not None and implementation.code_version != spec.code_version:
        raise ExpertError(
            f'expert "{spec.tool}": the profile has {spec.code_version}, but {implementation.code_version} is installed'
        )
    # Experts may also create networks without `load_pretrained`.
    with loading():
        return cast(Expert, implementation.factory()(spec=spec, device=device))


@dataclass(frozen=True, slots=True)
class _Weights:
    """The folder of a profile's weights, with digests and checkpoints by model."""

    folder: Path
    digests: Mapping[str, str]
    checkpoints: Mapping[str, Checkpoint] = field(default_factory=dict)

    def digest(self, model: str) -> str:
        if model not in self.digests:
            raise LookupError(
                f'there is no checkpoint "{model}"' if self.checkpoints else f'the lock file knows no weights "{model}"'
            )
        return self.digests[model]


@dataclass(frozen=True, slots=True)
class _Source:
    """The content of one file, with the weights that its entries name."""

    name: str
    content: Mapping[str, Any]
    weights: _Weights

    def table(self, name: str) -> Iterable[tuple[str, Any]]:
        """The entries of a table; none if the file does not have it."""
        table = self.content.get(name, {})
        if not isinstance(table, Mapping):
            raise LookupError(f"{name} must be a table, such as [{name}], found {table!r}")
        return table.items()


@dataclass(frozen=True, slots=True)
class _Entry:
    """The settings of an expert or scorer, and where its weights are."""

    settings: Mapping[str, Any]
    weights: _Weights


def _path_of(name: str, *, folder: Path | None) -> Path:
    places = (PROFILES, own_profiles()) if folder is None else (folder,)
    found = [path for place in places if (path := place / f"{name}.toml").is_file()]
    if not found:
        raise ProfileError(no_such("profile", name, profile_names(folder=folder)))
    if len(found) > 1:
        raise ProfileError(f"{found[1]}: a bundled profile has this name; rename the file and its `name`")
    return found[0]


def _sources(path: Path, *, weights: Path | None) -> tuple[_Source, ...]:
    """The file of a profile, after those of the profiles that it extends, if any.

    Args:
        path: its file.
        weights: folder of fetched checkpoints, if it is not in the data folder.
    """
    content = _content(path)
    if (base := content.get("extends")) is None:
        if "scorers" not in content:
            raise LookupError("it has no [scorers]; a profile that has `extends` takes over those of another one")
        return (_Source(path.stem, content, _weights(content=content, path=path, chosen=weights)),)
    bundled = profile_names(folder=PROFILES)
    if base not in bundled:
        raise LookupError(f"extends must name a bundled profile ({', '.join(bundled)}), found {base!r}")
    if "checkpoints" in content:
        raise LookupError(f"a profile that extends {base} cannot have [checkpoints]; put weights into the package")
    inherited = _sources(PROFILES / f"{base}.toml", weights=weights)
    own = _weights(content=content, path=path, chosen=None) if "weights" in content else inherited[-1].weights
    return *inherited, _Source(path.stem, content, own)


def _content(path: Path) -> Mapping[str, Any]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LookupError(f"the file is no TOML: {error}") from error
    if content.get("name") != path.stem:
        raise LookupError(f'it must have name = "{path.stem}", as the file, found {content.get("name")!r}')
    return content


def _weights(*, content: Mapping[str, Any], path: Path, chosen: Path | None) -> _Weights:
    if "checkpoints" not in content:
        if "weights" not in content:
            raise LookupError('it needs weights = "FOLDER", [checkpoints], or extends = "PROFILE"')
        folder = (path.parent / content["weights"]).resolve()
        lock = folder / "lock.json"
        if not lock.is_file():
            raise ProfileError(f"there is no lock file {lock}; the training command writes it")
        return _Weights(folder=folder, digests=json.loads(lock.read_text(encoding="utf-8")))
    profile = str(content["name"])
    folder = (chosen or weights_folder(profile)).resolve()
    items = {name: checkpoint(name=name, entry=entry) for name, entry in content["checkpoints"].items()}
    locked = read_lock(folder)
    digests = {name: digest_of(item=item, locked=locked, profile=profile) for name, item in items.items()}
    return _Weights(folder=folder, digests=digests, checkpoints=items)


def _expert(*, tool: str, entries: Mapping[str, _Entry], precision: str | None) -> ExpertSpec:
    entry, weights = entries[tool].settings, entries[tool].weights
    where = f'expert "{tool}"'
    if not isinstance(entry, Mapping):
        raise LookupError(f"{where} must be a table, found {entry!r}")
    for name in ("id", "implementation"):
        if not isinstance(entry.get(name), str):
            raise LookupError(f'{where} needs {name} = "...", a text, found {entry.get(name)!r}')
    implementation = implementation_of(entry["implementation"])
    known = {"id", "implementation", "weights", "batch_size", "batch_sizes", "precision", "parameters", "uses", "base",
             "alone", "tolerance"}  # fmt: skip
    plugged = implementation.plug_in is not None
    _reject_unknown(entry=entry, known=known | ({"samples", "resizes"} if plugged else set()), where=where)
    size = entry.get("batch_size", 16)
    if type(size) is not int or size < 1:
        raise LookupError(f"{where}: batch_size must be a whole number from 1, found {size!r}")
    for name in ("samples", "resizes"):
        if not isinstance(entry.get(name, False), bool):
            raise LookupError(f"{where}: {name} must be true or false, found {entry[name]!r}")
    chosen = precision or entry.get("precision", "float32")
    if chosen not in PRECISIONS:
        raise LookupError(f'expert "{tool}": there is no precision {chosen!r}; there are: {", ".join(PRECISIONS)}')
    alone, tolerance = tuple(entry.get("alone", ())), entry.get("tolerance")
    if unknown := sorted(set(alone) - {*DEVICES}):
        raise LookupError(f'expert "{tool}": there is no device {unknown[0]!r}; there are: {", ".join(DEVICES)}')
    if tolerance is not None and not 0 <= tolerance <= 1:
        raise LookupError(f'expert "{tool}": tolerance must be in [0, 1], found {tolerance}')
    if not plugged and implementation.is_rule == ("weights" in entry):
        needs = "works by rules and has no weights" if implementation.is_rule else "needs weights"
        raise LookupError(f'expert "{tool}": {entry["implementation"]} {needs}')
    for name in entry.get("uses", ()):
        # Used experts may not use others themselves.
        if name not in entries or "uses" in entries[name].settings:
            fault = "runs others itself" if name in entries else "is none of the profile's"
            raise LookupError(f'expert "{tool}" uses "{name}", which {fault}')
    return ExpertSpec(
        tool=tool,
        id=entry["id"],
        implementation=entry["implementation"],
        path=weights.folder / entry.get("weights", NO_WEIGHTS),
        weights_digest=weights.digest(entry["weights"]) if "weights" in entry else NO_WEIGHTS,
        code_version=implementation.code_version,
        precision=chosen,
        batch_size=size,
        batch_sizes=_batch_sizes(tool=tool, entry=entry),
        parameters=MappingProxyType(dict(entry.get("parameters", {}))),
        samples=entry.get("samples", implementation.samples),
        resizes=entry.get("resizes", implementation.resizes),
        uses=tuple(_expert(tool=name, entries=entries, precision=precision) for name in entry.get("uses", ())),
        base=weights.folder / entry["base"] if "base" in entry else None,
        base_digest=weights.digest(entry["base"]) if "base" in entry else "",
        alone=alone,
        tolerance=tolerance,
    )


def _batch_sizes(*, tool: str, entry: Mapping[str, Any]) -> Mapping[int, int]:
    sizes = entry.get("batch_sizes", {})
    wrong = [least for least, size in sizes.items() if not least.isdecimal() or type(size) is not int or size < 1]
    if wrong:
        raise LookupError(
            f'expert "{tool}": batch_sizes gives numbers of items, at least 1, by the memory of a card in whole GB, '
            f"such as {{ 24 = 32 }}, not {wrong[0]} = {sizes[wrong[0]]!r}"
        )
    return MappingProxyType({int(least): size for least, size in sizes.items()})


def _scorer(*, name: str, found: _Entry) -> ScorerSpec:
    entry, weights = found.settings, found.weights
    _reject_unknown(entry=entry, known={"id", "weights", "batch_size", "parameters"}, where=f'scorer "{name}"')
    if name not in SCORER_CODE_VERSIONS:
        raise LookupError(f"no scorer {name!r}; there are: {', '.join(SCORER_CODE_VERSIONS)}")
    return ScorerSpec(
        name=name,
        id=entry["id"],
        path=weights.folder / entry["weights"],
        weights_digest=weights.digest(entry["weights"]),
        code_version=SCORER_CODE_VERSIONS[name],
        batch_size=entry.get("batch_size", 16),
        parameters=MappingProxyType(dict(entry.get("parameters", {}))),
    )


def _reject_unknown(*, entry: Mapping[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(set(entry) - known)
    if unknown:
        raise LookupError(f"{where} has unknown settings: {', '.join(unknown)}; known are {', '.join(sorted(known))}")


def _digest(
    *,
    name: str,
    experts: Mapping[str, ExpertSpec],
    scorers: Mapping[str, ScorerSpec],
    plug_ins: Mapping[str, PlugIn],
) -> str:
    return canonical_json.digest(
        {
            "profile": name,
            "experts": {
                tool: spec.facts()
                | ({"alone": sorted(spec.alone)} if spec.alone else {})
                # PlanArena's own implementations declare it in code, which has a version.
                | ({"samples": spec.samples} if tool in plug_ins else {})
                for tool, spec in experts.items()
            },
            "scorers": {
                score: {
                    "id": spec.id,
                    "weights": spec.weights_digest,
                    "code": spec.code_version,
                    "batch_size": spec.batch_size,
                    "parameters": dict(spec.parameters),
                }
                for score, spec in scorers.items()
            },
        }
    )
