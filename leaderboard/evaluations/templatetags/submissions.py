"""Filters for planners and submissions, which are rows of the database."""

from django import template

from leaderboard.evaluations.models import Submission
from leaderboard.evaluations.visibility import words_of
from leaderboard.planners.kinds import KINDS
from leaderboard.planners.models import Planner
from leaderboard.planners.roles import model_names

register = template.Library()


@register.filter
def kind_note(kind: str) -> str:
    """The note about a kind of planner, perhaps empty."""
    return KINDS[kind].note


@register.filter
def declares(kind: str) -> bool:
    """Whether owners of planners of a kind declare the language model."""
    return KINDS[kind].declares


@register.filter
def models_of_roles(planner: Planner) -> list[tuple[str, str]]:
    """Roles of the planner's strategy that have a model of their own, with the model's name."""
    return list(model_names(planner.roles).items())


@register.filter
def visibility_words(submission: Submission) -> str:
    """The label of a submission that is not public."""
    return words_of(submission)
