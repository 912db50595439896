"""Waiting for a submission: polling with growing pauses, through lost connections."""

import time
from collections.abc import Callable

from evaluator.client.api import Client
from evaluator.client.errors import UnreachableError
from evaluator.client.shapes import Evaluation, Submission
from evaluator.core.commands.listing import printable

SHORTEST_PAUSE, LONGEST_PAUSE = 1.0, 10.0
_SLOWER = 1.5


def wait(
    *,
    client: Client,
    submission_id: str,
    timeout: float | None = None,
    tell: Callable[[str], None] = lambda _: None,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Submission:
    """Wait until every evaluation of the submission has ended or waits for its owner. Reports progress when it changes,
    and every ten seconds, so that pipelines do not consider the command hung.

    Args:
        timeout: seconds to wait at most; None: no limit.

    Raises:
        UnreachableError: the site was unreachable for longer than the client's patience, or the timeout passed.
        RefusedError: the site does not show the submission.
    """
    until = None if timeout is None else clock() + timeout
    pause, last, told = SHORTEST_PAUSE, "", clock()
    while True:
        found = client.submission(submission_id)
        now = "\n".join(progress(evaluation) for evaluation in found.evaluations)
        if now != last or clock() - told >= LONGEST_PAUSE:
            tell(now)
            told = clock()
        pause, last = (SHORTEST_PAUSE if now != last else min(pause * _SLOWER, LONGEST_PAUSE)), now
        if all(evaluation.rests for evaluation in found.evaluations):
            return found
        if until is not None and clock() + pause > until:
            raise UnreachableError(f"the evaluations did not end within {timeout:g} seconds; they continue on the site")
        sleep(pause)


def progress(evaluation: Evaluation) -> str:
    """The progress of an evaluation in one line."""
    tasks = f"{evaluation.done} of {evaluation.tasks_total} tasks"
    return printable(f"{evaluation.suite}: {evaluation.state}, {tasks}. {evaluation.reason_text}".rstrip())
