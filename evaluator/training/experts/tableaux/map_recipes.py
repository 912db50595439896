"""Recipes of the experts that make maps of tableaux, and of those that watch clips."""

from evaluator.training.experts.recipe import Recipe

MAP_RECIPES: tuple[Recipe, ...] = ()
"""In the order of training."""
