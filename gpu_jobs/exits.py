"""Exit codes of workers, used by the program, the Kubernetes launcher and the documentation.

With 10 to 12 another worker with the same image and settings would end the same way.
"""

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of `python -m gpu_jobs worker`."""

    IDLE = 0
    """No work is left. A worker for one evaluation only exits so if the evaluation has no unfinished shards."""
    CRASHED = 1
    """Python's exit code of an uncaught exception."""
    USAGE = 2
    """argparse's exit code of invalid options."""
    TOKEN_REFUSED = 10
    """The site refuses its enrolment token or its requests."""
    DOES_NOT_FIT = 11
    """It refused several leases in a row, since its suites or profiles differ from the site's."""
    MISCONFIGURED = 12
    """An option or variable is missing or invalid."""
    UNREACHABLE = 20
    """The site could not be reached within the time limit; another machine may reach it."""
    WORK_LEFT = 21
    """It got no shard for `--idle-seconds`, but its evaluation has unfinished shards, or the site did not say."""
    ENROLMENT_EXPIRED = 22
    """Its enrolment token has expired. Its launcher starts another worker if needed."""
    TERMINATED = 143
    """It was stopped (128 + SIGTERM). Never 0: the work is not done."""


REFUSED = (Exit.USAGE, Exit.TOKEN_REFUSED, Exit.DOES_NOT_FIT, Exit.MISCONFIGURED)
"""Exits that require a change of the worker's image, token or settings."""
