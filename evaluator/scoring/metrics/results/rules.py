"""The scores by rules, by the names in suites."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from PIL import Image as PillowImage

from evaluator.core.values import Boxes, Clip, Labels, Masks, Value
from evaluator.scoring.metrics import rule_names
from evaluator.scoring.metrics.results.pictures import (
    box_score,
    depth_score,
    edit_score,
    label_score,
    mask_score,
    normal_score,
    outline_score,
    pose_score,
    segment_score,
)
from evaluator.scoring.metrics.results.texts import answer_score, reading_score


@dataclass(frozen=True, slots=True)
class RuleScore:
    """A scorer (`evaluator.scoring.metrics.scorers.base.Scorer`) that needs no model."""

    name: str
    output: type
    reference: type
    compare: Callable[[Any, Any], float]

    def score(self, *, outputs: Sequence[Value], references: Sequence[Value]) -> list[float]:
        """One score for each pair, in [0, 1].

        Raises:
            ValueError: there are not as many outputs as references.
            TypeError: a value has another type.
        """
        scores = []
        for output, reference in zip(outputs, references, strict=True):
            for value, kind in ((output, self.output), (reference, self.reference)):
                if not isinstance(value, kind):
                    raise TypeError(f"the {self.name} score compares {kind.__name__}, not {type(value).__name__}")
            scores.append(self.compare(output, reference))
        return scores


_PICTURE = PillowImage.Image
RULE_SCORES: Mapping[str, RuleScore] = MappingProxyType(
    {
        rule.name: rule
        for rule in (
            RuleScore(rule_names.ANSWER, str, str, answer_score),
            RuleScore(rule_names.LABELS, Labels, Labels, label_score),
            RuleScore(rule_names.BOXES, Boxes, Boxes, box_score),
            RuleScore(rule_names.MASKS, Masks, Masks, mask_score),
            RuleScore(rule_names.SEGMENTS, _PICTURE, _PICTURE, segment_score),
            RuleScore(rule_names.OUTLINES, _PICTURE, _PICTURE, outline_score),
            RuleScore(rule_names.DEPTH, _PICTURE, _PICTURE, depth_score),
            RuleScore(rule_names.NORMALS, _PICTURE, _PICTURE, normal_score),
            RuleScore(rule_names.POSE, _PICTURE, _PICTURE, pose_score),
            RuleScore(rule_names.EDIT, _PICTURE, Clip, edit_score),
            RuleScore(rule_names.READING, str, str, reading_score),
        )
    }
)
"""By name."""
