"""Recipes of the experts for tableaux and clips."""

from evaluator.studies.experts.recipe import Recipe
from evaluator.studies.experts.tableaux.drawing_recipes import DRAWING_RECIPES
from evaluator.studies.experts.tableaux.map_recipes import MAP_RECIPES
from evaluator.studies.experts.tableaux.seeing_recipes import SEEING_RECIPES

TABLEAU_RECIPES: tuple[Recipe, ...] = (*SEEING_RECIPES, *MAP_RECIPES, *DRAWING_RECIPES)
"""In the order of training."""
