"""The audits that this release publishes (`planarena audit`)."""

from evaluator.core.suites.audits import Audit, audit_of
from leaderboard.catalog.models import Suite


def published_audit(suite: Suite) -> Audit | None:
    """The audit of this version of a suite; None if there is none."""
    try:
        found = audit_of(suite.slug)
    except LookupError:
        return None
    return found if found is not None and found.digest == suite.digest else None
