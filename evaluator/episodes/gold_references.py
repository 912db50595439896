"""References that gold plans make: for suites whose right results nobody published."""

from dataclasses import dataclass
from functools import partial

from evaluator.core.records import ArtefactReference
from evaluator.core.suites.base import Task
from evaluator.core.suites.samples import GoldComparedSource
from evaluator.core.values import Value
from evaluator.execution.engine.jobs import JobResult
from evaluator.execution.engine.run import Engine


@dataclass(frozen=True, slots=True)
class GoldReferences:
    """Makes the references of a sample from what the gold plan gave on it."""

    source: GoldComparedSource
    engine: Engine

    def of(self, *, task: Task, gold: JobResult) -> tuple[ArtefactReference, ...]:
        """A reference for each answer of a task.

        Args:
            task: the request.
            gold: its gold plan, executed on the sample without a failure.

        Raises:
            LookupError: a result is none that can be compared with.
            ObjectDamagedError: the store does not have it any more.
        """
        given = partial(self._given, gold=gold)
        return tuple(
            self.engine.keep(self.source.compared(task=answer, result=self.engine.value(made), given=given))
            for answer, made in zip(task.answers, gold.answers, strict=True)
        )

    def _given(self, name: str, *, gold: JobResult) -> Value:
        return self.engine.value(gold.job.resources[name])
