"""Held-out quality of the experts that make maps and of those that watch clips, on the validation split."""

from collections.abc import Callable, Mapping

from evaluator.experts.protocol import Expert

MEASURES: Mapping[str, Callable[[Mapping[str, Expert], int], dict[str, float]]] = {}
"""By folder of weights: from the experts by tool and the number of validation samples to figures in [0, 1] by name."""
