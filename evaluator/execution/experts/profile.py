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

An expert with `uses = ["TOOL"]` runs the expert of another tool. An expert with `base = "NAME"` needs a second
checkpoint besides its `weights`. The table `[unavailable]` gives the reasons for tools without an expert.

An expert with `alone = ["cuda"]` processes items one by one on devices of this kind, since its results depend there on
the position in a batch. `tolerance` is the largest difference of its outputs, in [0, 1], between devices of different
classes; `planarena doctor` checks both.

A profile with `[checkpoints.NAME]` tables (see `checkpoints.py`) instead of `weights` uses released models, which
`planarena profiles fetch` downloads. Before that, the profile is readable but has placeholder digests.
"""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from evaluator.core import canonical_json
from evaluator.core.expert import Expert, ExpertSpec
from evaluator.core.suggestions import no_such
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
from evaluator.execution.experts.weights import verify_weights

PROFILES = Path(__file__).parent / "profiles"
PRECISIONS = ("float32", "bfloat16", "float16")
DEVICES = ("cpu", "cuda")


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


def profile_names(*, folder: Path = PROFILES) -> tuple[str, ...]:
    """Names of all profiles."""
    return tuple(sorted(path.stem for path in folder.glob("*.toml")))


def load_profile(
    name: str, *, folder: Path = PROFILES, weights: Path | None = None, precision: str | None = None
) -> Profile:
    """Read a profile by name.

    Args:
        name: the file's name without its suffix.
        folder: folder of profiles.
        weights: folder of fetched checkpoints; by default in the data folder.
        precision: overrides the profile's precision, for example `float32` without a GPU. It changes the digest:
            results are not comparable with the profile's.

    Raises:
        ProfileError: the profile does not exist or has an invalid entry.
    """
    path = folder / f"{name}.toml"
    if not path.is_file():
        raise ProfileError(no_such("profile", name, profile_names(folder=folder)))
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    try:
        available = _weights(content=content, path=path, chosen=weights)
        read = {
            table: {
                tool: _expert(tool=tool, entries=content[table], weights=available, precision=precision)
                for tool in content.get(table, {})
            }
            for table in ("experts", "reference_experts")
        }
        scorers = {
            score: _scorer(name=score, entry=entry, weights=available) for score, entry in content["scorers"].items()
        }
    except (LookupError, TypeError, FetchError) as error:
        raise ProfileError(f"profile {name!r} ({path.name}): {error}") from error
    return Profile(
        name=content["name"],
        digest=_digest(name=content["name"], experts=read["experts"], scorers=scorers),
        experts=MappingProxyType(read["experts"]),
        scorers=MappingProxyType(scorers),
        checkpoints=MappingProxyType(dict(available.checkpoints)),
        reference_experts=MappingProxyType(read["reference_experts"]),
        unavailable=MappingProxyType(dict(content.get("unavailable", {}))),
    )


def load_expert(*, spec: ExpertSpec, device: str = "cpu") -> Expert:
    """Load the expert of a profile's entry, a `SamplingExpert` if `spec.samples`. Imports torch.

    Raises:
        WeightsError: the weights are missing or differ from the profile's.
        LookupError: there is no such implementation.
    """
    for used in (spec, *spec.uses):
        if used.weights_digest != NO_WEIGHTS:
            verify_weights(folder=used.path, expected=used.weights_digest)
        if used.base is not None:
            verify_weights(folder=used.base, expected=used.base_digest)
    # Experts may also create networks without `load_pretrained`.
    with loading():
        return cast(Expert, implementation_of(spec.implementation).factory()(spec=spec, device=device))


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


def _weights(*, content: Mapping[str, Any], path: Path, chosen: Path | None) -> _Weights:
    if "checkpoints" not in content:
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


def _expert(
    *, tool: str, entries: Mapping[str, Mapping[str, Any]], weights: _Weights, precision: str | None
) -> ExpertSpec:
    entry = entries[tool]
    known = {"id", "implementation", "weights", "batch_size", "batch_sizes", "precision", "parameters", "uses", "base",
             "alone", "tolerance"}  # fmt: skip
    _reject_unknown(entry=entry, known=known, where=f'expert "{tool}"')
    chosen = precision or entry.get("precision", "float32")
    if chosen not in PRECISIONS:
        raise LookupError(f'expert "{tool}": there is no precision {chosen!r}; there are: {", ".join(PRECISIONS)}')
    alone, tolerance = tuple(entry.get("alone", ())), entry.get("tolerance")
    if unknown := sorted(set(alone) - {*DEVICES}):
        raise LookupError(f'expert "{tool}": there is no device {unknown[0]!r}; there are: {", ".join(DEVICES)}')
    if tolerance is not None and not 0 <= tolerance <= 1:
        raise LookupError(f'expert "{tool}": tolerance must be in [0, 1], found {tolerance}')
    implementation = implementation_of(entry["implementation"])
    if implementation.is_rule == ("weights" in entry):
        needs = "works by rules and has no weights" if implementation.is_rule else "needs weights"
        raise LookupError(f'expert "{tool}": {entry["implementation"]} {needs}')
    for name in entry.get("uses", ()):
        # Used experts may not use others themselves.
        if name not in entries or "uses" in entries[name]:
            fault = "runs others itself" if name in entries else "is none of the profile's"
            raise LookupError(f'expert "{tool}" uses "{name}", which {fault}')
    return ExpertSpec(
        tool=tool,
        id=entry["id"],
        implementation=entry["implementation"],
        path=weights.folder / entry.get("weights", NO_WEIGHTS),
        weights_digest=NO_WEIGHTS if implementation.is_rule else weights.digest(entry["weights"]),
        code_version=implementation.code_version,
        precision=chosen,
        batch_size=entry.get("batch_size", 16),
        batch_sizes=_batch_sizes(tool=tool, entry=entry),
        parameters=MappingProxyType(dict(entry.get("parameters", {}))),
        samples=implementation.samples,
        resizes=implementation.resizes,
        uses=tuple(
            _expert(tool=name, entries=entries, weights=weights, precision=precision) for name in entry.get("uses", ())
        ),
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


def _scorer(*, name: str, entry: Mapping[str, Any], weights: _Weights) -> ScorerSpec:
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


def _digest(*, name: str, experts: Mapping[str, ExpertSpec], scorers: Mapping[str, ScorerSpec]) -> str:
    return canonical_json.digest(
        {
            "profile": name,
            "experts": {
                tool: spec.facts() | ({"alone": sorted(spec.alone)} if spec.alone else {})
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
