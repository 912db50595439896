"""Recipes of the experts that find things in tableaux."""

from evaluator.training.experts.recipe import Recipe

SEEING_RECIPES: tuple[Recipe, ...] = ()
"""In the order of training."""
