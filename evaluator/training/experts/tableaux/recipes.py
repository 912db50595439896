"""Recipes of the experts for tableaux and clips."""

from evaluator.training.experts.recipe import Recipe
from evaluator.training.experts.tableaux.drawing_recipes import DRAWING_RECIPES
from evaluator.training.experts.tableaux.map_recipes import MAP_RECIPES
from evaluator.training.experts.tableaux.seeing_recipes import SEEING_RECIPES

TABLEAU_RECIPES: tuple[Recipe, ...] = (*SEEING_RECIPES, *MAP_RECIPES, *DRAWING_RECIPES)
"""In the order of training."""
