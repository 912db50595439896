"""Bars of comparisons."""

from collections.abc import Sequence
from typing import Any

from django import template

from leaderboard.evaluations.web.compare.presenters import WIDTH, Bar

register = template.Library()


@register.inclusion_tag("evaluations/compare/difference_bar.html")
def difference_bar(bar: Bar) -> dict[str, Any]:
    """A difference with its interval; zero is in the middle."""
    return {"bar": bar, "width": WIDTH, "middle": WIDTH / 2}


@register.inclusion_tag("evaluations/compare/outcome_bar.html")
def outcome_bar(parts: Sequence[tuple[str, str, str]]) -> dict[str, Any]:
    """Shares of won, equal and lost tasks."""
    return {"parts": parts, "width": WIDTH}
