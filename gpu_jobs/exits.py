"""What a worker says by its exit code: the one list that the program, the launcher on Kubernetes and the docs follow.

From 10 to 12 another worker of the same image and settings would end the same way.
"""

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of `python -m gpu_jobs worker`."""

    IDLE = 0
    """No work is left. A worker for one evaluation ends so only when the site says that no shard of it is left."""
    CRASHED = 1
    """Python's own, for an error that nobody caught."""
    USAGE = 2
    """argparse's own, for options that it does not know."""
    TOKEN_REFUSED = 10
    """The site refuses its enrolment token, or what it sends."""
    DOES_NOT_FIT = 11
    """It refused several leases in a row, since its suites or profiles differ from the site's."""
    MISCONFIGURED = 12
    """An option or variable is missing or cannot be used."""
    UNREACHABLE = 20
    """The site could not be reached for as long as it was tried; from another machine it may be."""
    WORK_LEFT = 21
    """It got no shard for `--idle-seconds`, but shards of its evaluation are left, or the site did not say."""
    ENROLMENT_EXPIRED = 22
    """Its enrolment token has expired, so that it can lease nothing more. Its launcher starts another one if needed."""
    TERMINATED = 143
    """It was told to stop (128 + SIGTERM). Never 0: the work is not done."""


REFUSED = (Exit.USAGE, Exit.TOKEN_REFUSED, Exit.DOES_NOT_FIT, Exit.MISCONFIGURED)
"""Somebody has to change the worker's image, token or settings first."""
