"""What became of each sample of a task, as its record says it."""

from collections.abc import Sequence

from evaluator.core.records import AnswerResult, ArtefactReference, SampleResult
from evaluator.core.suites.base import Task
from evaluator.execution.engine.jobs import JobResult


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
    return [
        _sample_result(task=task, result=result, wanted=references[n], scores=None if scores is None else scores[n])
        for n, result in enumerate(results)
    ]


def _sample_result(
    *, task: Task, result: JobResult, wanted: Sequence[ArtefactReference], scores: Sequence[float] | None
) -> SampleResult:
    return SampleResult(
        index=result.job.sample,
        score=None if scores is None else sum(scores) / len(scores),
        inputs=dict(result.job.resources),
        reference=wanted[0],
        answer=result.answer,
        steps=list(result.steps),
        further=[
            AnswerResult(
                metric=task.answers[n].metric,
                score=None if scores is None else scores[n],
                reference=wanted[n],
                answer=result.answers[n] if result.answers else None,
            )
            for n in range(1, len(wanted))
        ],
    )
