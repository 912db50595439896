"""Loads scorers by the names in suites. Torch is imported when a scorer with a model is loaded."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import cast

from evaluator.core.canonical_json import JsonValue
from evaluator.core.process import import_without_collection
from evaluator.execution.experts.devices import device_class, loading
from evaluator.execution.experts.profile import Profile, ScorerSpec
from evaluator.execution.experts.weights import verify_weights
from evaluator.scoring.metrics.rule_names import RULE_NAMES, VARIATION
from evaluator.scoring.metrics.scorers.base import DECIMALS, Scorer

_RULES = 1
"""Version of the code outside the scorers' models: rounding and the rule for copies."""
_CLASSES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "ViT": ("evaluator.scoring.metrics.scorers.vit", "ViTScore"),
        "BERT": ("evaluator.scoring.metrics.scorers.bert", "BERTScore"),
        "CLIP": ("evaluator.scoring.metrics.scorers.clip", "CLIPScore"),
    }
)


def load_scorer(*, name: str, profile: Profile, device: str = "cpu") -> Scorer:
    """The scorer `ViT`, `BERT` or `CLIP` with the profile's model, or a scorer by rules.

    Raises:
        LookupError: the profile has no such scorer.
        WeightsError: its weights differ from those in the profile.
    """
    if name in RULE_NAMES:
        # Slow to import, because of SciPy.
        from evaluator.scoring.metrics.pointing import POINTING_SCORES
        from evaluator.scoring.metrics.results.rules import RULE_SCORES
        from evaluator.scoring.metrics.sounds import SOUND_SCORES
        from evaluator.scoring.metrics.web_pages import PAGE_SCORES

        return {**RULE_SCORES, **SOUND_SCORES, **POINTING_SCORES, **PAGE_SCORES}[name]
    if name == VARIATION:
        from evaluator.scoring.metrics.scorers.vit import VariationScore

        return VariationScore(load_scorer(name="ViT", profile=profile, device=device))
    spec = _spec(name=name, profile=profile)
    verify_weights(folder=spec.path, expected=spec.weights_digest)
    module, kind = _CLASSES[name]
    with loading():
        return cast(Scorer, getattr(import_without_collection(module), kind)(spec=spec, device=device))


def scorer_facts(*, name: str, profile: Profile, device: str = "cpu") -> dict[str, JsonValue] | None:
    """Everything on which a score depends besides its pair; None for scorers by rules, which are not worth caching.

    Raises:
        LookupError: the profile has no such scorer.
    """
    if name in RULE_NAMES:
        return None
    spec = _spec(name="ViT" if name == VARIATION else name, profile=profile)
    return {
        "metric": name,
        "scorer": spec.id,
        "weights": spec.weights_digest,
        "code": spec.code_version,
        "batch_size": spec.batch_size,
        "parameters": cast(JsonValue, dict(spec.parameters)),
        "device": dict(device_class(device)),
        "decimals": DECIMALS,
        "rules": _RULES,
    }


def _spec(*, name: str, profile: Profile) -> ScorerSpec:
    if name not in profile.scorers:
        raise LookupError(f"profile {profile.name} has no scorer {name!r}; it has: {', '.join(profile.scorers)}")
    return profile.scorers[name]
