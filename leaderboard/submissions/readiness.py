"""Incidents of suites that this installation cannot evaluate: opening and closing them."""

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
"""Interval of checks of such a suite, at least."""


def report_unavailable(error: ProblemError) -> None:
    """`report` for problems that the API answers with."""
    if isinstance(error, TryLaterError):
        report(error)


def report(error: TryLaterError) -> None:
    """Log why something is unavailable, and notify the operators if only they can fix it.

    Call it outside the transaction that failed, whose rollback would undo the notification.
    """
    logger.error("%s", error)
    if isinstance(error, NotReadyError):
        open_incident(fault=Fault.NOT_READY, suite=error.suite, why=error.why)


def check_again() -> bool:
    """Close the incidents of suites that can be evaluated again. Returns whether there were any.

    Runs in the web process, since only it has the seeds of hidden data.
    """
    closed = False
    for incident in claim_checks(fault=Fault.NOT_READY, every=CHECK_EVERY):
        try:
            look_up(Suite.objects.filter(slug=incident.suite, current=True))
        except (TryLaterError, DataRefusedError):
            continue
        except Exception:  # the status page must show the incident, whatever the error
            logger.exception("suite %s could not be checked", incident.suite)
        else:
            close_incident(incident)
            closed = True
    return closed
