"""Experts: models that implement the tools of a catalogue, and the profiles that choose them.

Importing this package loads no model code; `load_expert` does.
"""

from evaluator.experts.profile import Profile, ProfileError, ScorerSpec, load_expert, load_profile
from evaluator.experts.protocol import Expert, ExpertError, ExpertFactory, ExpertSpec
from evaluator.experts.weights import WeightsError, verify_weights, weights_digest

__all__ = [
    "Expert",
    "ExpertError",
    "ExpertFactory",
    "ExpertSpec",
    "Profile",
    "ProfileError",
    "ScorerSpec",
    "WeightsError",
    "load_expert",
    "load_profile",
    "verify_weights",
    "weights_digest",
]
