"""Exit codes. The table for users is in docs/ci.md."""

from enum import IntEnum


class ExitCode(IntEnum):
    """Of every command of `planarena`. Long-running programs, such as workers, have others."""

    PASSED = 0
    BELOW_THRESHOLD = 1
    """What was checked does not hold: a metric is below its threshold, a claim of a benchmark or a signature is wrong,
    files are damaged."""
    CHECK_FAILED = 1
    BAD_USAGE = 2
    """Wrong options, or the site refused the request: a wrong token, an unknown suite, a planner that cannot be."""
    PLANNER_FAULT = 3
    """The planner could not be measured by its own fault: nothing that it answered could be judged."""
    INFRASTRUCTURE = 4
    """Not measured, and not by the planner's fault: the site or a model could not be reached, some tasks failed for
    other reasons, the quota is used up, or somebody cancelled."""
    UNDECIDED = 5
    """`gate`: the tasks are too few to tell whether the planner has become worse."""
    INTERRUPTED = 130
    """Ctrl-C. Standard error says what was kept, and where."""
