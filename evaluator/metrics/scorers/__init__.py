"""Scorers with models: how good an answer is beside its reference."""

from evaluator.metrics.scorers.base import Scorer, rounded
from evaluator.metrics.scorers.loading import load_scorer, scorer_facts

__all__ = ["Scorer", "load_scorer", "rounded", "scorer_facts"]
