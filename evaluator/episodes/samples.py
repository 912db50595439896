"""The samples of an evaluation: their inputs and references as artefacts, and their results in a record."""

from collections.abc import Mapping, Sequence

from evaluator.core.records import AnswerResult, ArtefactReference, SampleResult
from evaluator.core.suites.base import Task
from evaluator.core.suites.samples import GoldComparedSource, SampleSource, SharingSource
from evaluator.execution.engine.jobs import JobResult
from evaluator.execution.engine.run import Engine


class SampleArtefacts:
    """Inputs and references of a source, put into the engine's store when first asked for."""

    def __init__(self, *, source: SampleSource, engine: Engine) -> None:
        self._source = source
        self.digest = source.digest
        """Identifies the data."""
        self.compares_with_gold = isinstance(source, GoldComparedSource)
        """Whether references are made from the results of gold plans."""
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
        """Store everything again when next asked: some of it may not have been stored."""
        self._inputs.clear()
        self._references.clear()

    def reference(self, *, task: Task, index: int) -> ArtefactReference:
        """What a right answer looks like."""
        key = (task.key if self._sharing is None else self._sharing.reference_key(task=task), index)
        if key not in self._references:
            self._references[key] = self._engine.keep(self._source.reference(task=task, index=index))
        return self._references[key]

    def gold_references(self, *, task: Task, gold: JobResult) -> tuple[ArtefactReference, ...]:
        """A reference for each answer of a task, made from what its gold plan gave.

        Args:
            task: of a source that compares with gold plans.
            gold: its gold plan, executed on the sample without a failure.

        Raises:
            LookupError: a result is none that can be compared with.
            ObjectDamagedError: the store does not have it any more.
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
    """One result for each executed sample.

    Args:
        task: what was asked.
        results: the executed samples.
        references: for each sample a reference for each answer of the task.
        scores: for each sample a score for each answer; None if nothing could be scored.
    """
    samples = []
    for number, (result, wanted) in enumerate(zip(results, references, strict=True)):
        own = None if scores is None else scores[number]
        further = [
            AnswerResult(
                metric=task.answers[n].metric,
                score=None if own is None else own[n],
                reference=wanted[n],
                answer=result.answers[n] if result.answers else None,
            )
            for n in range(1, len(wanted))
        ]
        samples.append(
            SampleResult(
                index=result.job.sample,
                score=None if own is None else sum(own) / len(own),
                inputs=dict(result.job.resources),
                reference=wanted[0],
                answer=result.answer,
                steps=list(result.steps),
                further=further,
            )
        )
    return samples
