"""A suite by the name in a path of the API."""

from rest_framework.exceptions import NotFound

from evaluator.core.suggestions import as_sentence, no_such
from leaderboard.catalog.models import Suite


def suite_named(slug: str) -> Suite:
    """The current version of a suite.

    Raises:
        NotFound: there is none; the sentence suggests the suite that was probably meant.
    """
    suite = Suite.objects.filter(slug=slug, current=True).first()
    if suite is None:
        raise no_suite(slug)
    return suite


def no_suite(slug: str) -> NotFound:
    """The error for a name that no suite has."""
    known = Suite.objects.filter(current=True).order_by("slug").values_list("slug", flat=True)
    return NotFound(as_sentence(no_such("suite", slug, known)))
