"""Filters for planners and submissions, which are rows of the database."""

from django import template

from leaderboard.evaluations.models import Submission
from leaderboard.evaluations.visibility import words_of
from leaderboard.planners.kinds import KINDS

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
def visibility_words(submission: Submission) -> str:
    """The label of a submission that is not public."""
    return words_of(submission)
