"""Recipes of the experts that draw along maps and instructions."""

from evaluator.training.experts.recipe import Recipe

DRAWING_RECIPES: tuple[Recipe, ...] = ()
"""In the order of training."""
