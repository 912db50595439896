"""Whether this installation can evaluate its suites: reporting that it cannot, and checking whether it can again."""

import logging
from datetime import timedelta

from leaderboard.catalog.hidden_data import DataRefusedError
from leaderboard.catalog.library import NotReadyError, TryLaterError
from leaderboard.catalog.models import Suite
from leaderboard.messages.incidents import claim_checks, close_incident, open_incident
from leaderboard.messages.models import Fault
from leaderboard.platform.problems import ProblemError
from leaderboard.submissions.services import look_up

logger = logging.getLogger(__name__)

CHECK_EVERY = timedelta(minutes=1)
"""A suite that cannot be evaluated is checked at most this often."""


def report_unavailable(error: ProblemError) -> None:
    """`report` for whatever the API answers with."""
    if isinstance(error, TryLaterError):
        report(error)


def report(error: TryLaterError) -> None:
    """Log why something is unavailable, and notify the operators if only they can change that.

    Not to be called within the transaction that failed, which would take the notification back.
    """
    logger.error("%s", error)
    if isinstance(error, NotReadyError):
        open_incident(fault=Fault.NOT_READY, suite=error.suite, why=error.why)


def check_again() -> bool:
    """Close the incidents of suites that can be evaluated again, and say whether there were any.

    Called by the web process, since the queue's processes do not know the seed of hidden data.
    """
    closed = False
    for incident in claim_checks(fault=Fault.NOT_READY, every=CHECK_EVERY):
        try:
            look_up(Suite.objects.filter(slug=incident.suite, current=True))
        except (TryLaterError, DataRefusedError):
            continue
        except Exception:  # the status page shows the incident, whatever keeps the suite from being evaluated
            logger.exception("suite %s could not be checked", incident.suite)
        else:
            close_incident(incident)
            closed = True
    return closed
