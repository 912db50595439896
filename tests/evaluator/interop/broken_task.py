"""A task whose execution fails because of the infrastructure, in the process of another harness."""

import os
from collections.abc import Sequence

from evaluator.core.records import Reason, ResultRecord
from evaluator.episodes.parts import faulty
from evaluator.interop.harnesses.hosted_suite import HostedSuite, Said

VARIABLE = "BROKEN_TASK"
"""Environment variable with the key of the task; absent: none is broken."""


def break_it() -> None:
    """Let the task of the environment end without a score."""
    broken, whole = os.environ.get(VARIABLE), HostedSuite.record_of

    async def record_of(self: HostedSuite, *, task: str, said: Sequence[Said]) -> ResultRecord:
        record = await whole(self, task=task, said=said)
        if task != broken:
            return record
        return faulty(record, reason=Reason.EXPERT_FAILED, message="The expert fell over.")

    HostedSuite.record_of = record_of  # type: ignore[method-assign]
