"""Scores of results whose right value is known exactly: counts, labels, boxes, masks, maps, edits. No model is asked.

Every score lies in [0, 1] and is 1 for the right value.
"""

from evaluator.metrics.results.rules import RULE_SCORES, rule_score

__all__ = ["RULE_SCORES", "rule_score"]
