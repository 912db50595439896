"""Profiles: which expert implements each tool, and which model scores. Reading one loads no model code.

A profile is a TOML file beside the weights' lock file, which the training command writes:

    name = "lilliput"
    weights = "../../lilliput/weights"        # relative to the file; holds one folder per model and lock.json

    [experts."Image Denoising"]
    id = "lilliput/denoising"
    implementation = "restormer"
    weights = "denoising"
    batch_size = 16

    [scorers.ViT]
    id = "lilliput/vit-score"
    weights = "vit-score"
"""

import importlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from evaluator import canonical_json
from evaluator.experts.implementations import SCORER_CODE_VERSIONS, implementation_of
from evaluator.experts.protocol import Expert, ExpertSpec
from evaluator.experts.registry import factory_of
from evaluator.experts.weights import verify_weights

PROFILES = Path(__file__).parent / "profiles"


class ProfileError(Exception):
    """A profile is missing or wrong; the message says where."""


@dataclass(frozen=True, slots=True)
class ScorerSpec:
    """The model behind a score, and everything the score depends on."""

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
    """The experts and scorers of one installation choice, for example `lilliput`."""

    name: str
    digest: str
    """SHA-256 over everything in the profile that changes results."""
    experts: Mapping[str, ExpertSpec]
    """By tool name."""
    scorers: Mapping[str, ScorerSpec]
    """By score name."""


def load_profile(name: str, *, folder: Path = PROFILES) -> Profile:
    """Read a profile by name.

    Raises:
        ProfileError: there is no such profile, or an entry of it is wrong.
    """
    path = folder / f"{name}.toml"
    if not path.is_file():
        there = ", ".join(sorted(file.stem for file in folder.glob("*.toml")))
        raise ProfileError(f"no profile {name!r}; there are: {there}")
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    weights = (path.parent / content["weights"]).resolve()
    lock = _read_lock(weights)
    try:
        experts = {
            tool: _expert(tool=tool, entry=entry, weights=weights, lock=lock)
            for tool, entry in content["experts"].items()
        }
        scorers = {
            score: _scorer(name=score, entry=entry, weights=weights, lock=lock)
            for score, entry in content["scorers"].items()
        }
    except (LookupError, TypeError) as error:
        raise ProfileError(f"profile {name!r} ({path.name}): {error}") from error
    return Profile(
        name=content["name"],
        digest=_digest(name=content["name"], experts=experts, scorers=scorers),
        experts=MappingProxyType(experts),
        scorers=MappingProxyType(scorers),
    )


def load_expert(*, spec: ExpertSpec, device: str = "cpu") -> Expert:
    """Load the model of a profile's line; this is where torch is imported. If `spec.samples`, a `SamplingExpert`.

    Raises:
        WeightsError: the weights are missing or are not those that the profile names.
        LookupError: there is no such implementation.
    """
    verify_weights(folder=spec.path, expected=spec.weights_digest)
    importlib.import_module(implementation_of(spec.implementation).module)
    return cast(Expert, factory_of(spec.implementation)(spec=spec, device=device))


def _read_lock(weights: Path) -> Mapping[str, str]:
    path = weights / "lock.json"
    if not path.is_file():
        raise ProfileError(f"there is no lock file {path}; the training command writes it")
    lock: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return lock


def _locked(*, folder: str, lock: Mapping[str, str]) -> str:
    if folder not in lock:
        raise LookupError(f'the lock file knows no weights "{folder}"')
    return lock[folder]


def _expert(*, tool: str, entry: Mapping[str, Any], weights: Path, lock: Mapping[str, str]) -> ExpertSpec:
    known = {"id", "implementation", "weights", "batch_size", "precision", "parameters"}
    _reject_unknown(entry=entry, known=known, where=f'expert "{tool}"')
    return ExpertSpec(
        tool=tool,
        id=entry["id"],
        implementation=entry["implementation"],
        path=weights / entry["weights"],
        weights_digest=_locked(folder=entry["weights"], lock=lock),
        code_version=implementation_of(entry["implementation"]).code_version,
        precision=entry.get("precision", "float32"),
        batch_size=entry.get("batch_size", 16),
        parameters=MappingProxyType(dict(entry.get("parameters", {}))),
        samples=implementation_of(entry["implementation"]).samples,
    )


def _scorer(*, name: str, entry: Mapping[str, Any], weights: Path, lock: Mapping[str, str]) -> ScorerSpec:
    _reject_unknown(entry=entry, known={"id", "weights", "batch_size", "parameters"}, where=f'scorer "{name}"')
    if name not in SCORER_CODE_VERSIONS:
        raise LookupError(f"no scorer {name!r}; there are: {', '.join(SCORER_CODE_VERSIONS)}")
    return ScorerSpec(
        name=name,
        id=entry["id"],
        path=weights / entry["weights"],
        weights_digest=_locked(folder=entry["weights"], lock=lock),
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
                tool: {
                    "id": spec.id,
                    "implementation": spec.implementation,
                    "weights": spec.weights_digest,
                    "code": spec.code_version,
                    "precision": spec.precision,
                    "batch_size": spec.batch_size,
                    "parameters": dict(spec.parameters),
                }
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
