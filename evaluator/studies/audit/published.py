"""Which published audits are of today's suites, judges and classes of flaws."""

from evaluator.core.suites.audits import audit_of
from evaluator.core.suites.registry import suite_names, suite_of
from evaluator.episodes.base import episode_of
from evaluator.studies.audit.registry import flaws

PROFILE = "lilliput"
"""Profile of published audits of suites that execute plans."""


def audited_suites() -> tuple[str, ...]:
    """Slugs of the suites that have to be audited: those that generate their hidden requests."""
    return tuple(slug for slug in suite_names() if suite_of(slug).hidden_requests is not None)


def outdated(slug: str) -> str:
    """Why the published audit of a suite is not of today, as a clause; empty: it is.

    Raises:
        LookupError: there is no such suite.
    """
    published = audit_of(slug)
    if published is None:
        return "there is none"
    if published.digest != suite_of(slug).digest:
        return "the suite has changed"
    if published.rules != episode_of(slug).rules_digest(PROFILE):
        return "its judge or its experts have changed"
    if [own.name for own in published.flaws] != [own.name for own in flaws()]:
        return "a class of flaws is new"
    return ""
