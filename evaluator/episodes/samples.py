"""The samples of an evaluation: inputs and references as artefacts, and results for the record."""

from collections.abc import Mapping, Sequence

from evaluator.core.records import AnswerResult, ArtefactReference, SampleResult
from evaluator.core.suites.base import Task
from evaluator.core.suites.samples import GoldComparedSource, SampleSource, SharingSource
from evaluator.execution.engine.jobs import JobResult
from evaluator.execution.engine.run import Engine


class SampleArtefacts:
    """Inputs and references of a source, stored by the engine on first use."""

    def __init__(self, *, source: SampleSource, engine: Engine) -> None:
        self._source = source
        self.digest = source.digest
        """Identifies the data."""
        self.compares_with_gold = isinstance(source, GoldComparedSource)
        """Whether references are computed from the results of gold plans."""
        self._sharing = source if isinstance(source, SharingSource) else None
        self._engine = engine
        self._inputs: dict[tuple[str, int], Mapping[str, ArtefactReference]] = {}
        self._references: dict[tuple[str, int], ArtefactReference] = {}

    def inputs(self, *, task: Task, index: int) -> Mapping[str, ArtefactReference]:
        """The request's resources for one sample, by name."""
        key = (task.key if self._sharing is None else self._sharing.inputs_key(task=task), index)
        if key not in self._inputs:
            values = self._source.inputs(task=task, index=index)
            self._inputs[key] = {name: self._engine.keep(value) for name, value in values.items()}
        return self._inputs[key]

    def forget(self) -> None:
        """Store everything again on next use, because some writes may have been lost."""
        self._inputs.clear()
        self._references.clear()

    def reference(self, *, task: Task, index: int) -> ArtefactReference:
        """The correct answer for one sample."""
        key = (task.key if self._sharing is None else self._sharing.reference_key(task=task), index)
        if key not in self._references:
            self._references[key] = self._engine.keep(self._source.reference(task=task, index=index))
        return self._references[key]

    def gold_references(self, *, task: Task, gold: JobResult) -> tuple[ArtefactReference, ...]:
        """A reference for each answer of a task, computed from the results of its gold plan.

        Args:
            task: the task; its source compares with gold plans.
            gold: the gold plan, executed on the sample without a failure.

        Raises:
            LookupError: a result cannot serve as a reference.
            ObjectDamagedError: the store has lost a result.
        """
        source, value = self._source, self._engine.value
        assert isinstance(source, GoldComparedSource)
        return tuple(
            self._engine.keep(
                source.compared(
                    task=answer, result=value(reference), given=lambda name: value(gold.job.resources[name])
                )
            )
            for answer, reference in zip(task.answers, gold.answers, strict=True)
        )


def sample_results(
    *,
    task: Task,
    results: Sequence[JobResult],
    references: Sequence[Sequence[ArtefactReference]],
    scores: Sequence[Sequence[float]] | None = None,
) -> list[SampleResult]:
    """The result of each executed sample; references and scores have one item for each answer of the task.

    `scores` is None if nothing could be scored.
    """
    samples = []
    for number, (result, expected) in enumerate(zip(results, references, strict=True)):
        own = None if scores is None else scores[number]
        further = [
            AnswerResult(
                metric=task.answers[n].metric,
                score=None if own is None else own[n],
                reference=expected[n],
                answer=result.answers[n] if result.answers else None,
            )
            for n in range(1, len(expected))
        ]
        samples.append(
            SampleResult(
                index=result.job.sample,
                score=None if own is None else sum(own) / len(own),
                inputs=dict(result.job.resources),
                reference=expected[0],
                answer=result.answer,
                steps=list(result.steps),
                further=further,
            )
        )
    return samples
