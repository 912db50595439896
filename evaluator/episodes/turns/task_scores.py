"""Scoring a task whose episodes are over, as the same suite scores executed plans."""

from collections.abc import Mapping, Sequence
from math import fsum

from evaluator.core.planner import PlannerReply
from evaluator.core.plans.model import ParsedPlan, Plan
from evaluator.core.records import ArtefactReference, Outcome, PlannerCall, Reason, ResultRecord
from evaluator.core.suites.base import ABSTENTION, Suite, Task
from evaluator.core.transcripts import Transcript
from evaluator.core.values import MediaType
from evaluator.episodes.beside_gold import Pending
from evaluator.episodes.judgement import Judge, with_judgement
from evaluator.episodes.parts import Planned, faulty
from evaluator.episodes.samples import KeptSamples
from evaluator.episodes.scoring import SCORER_FAILURES, UNREADABLE, ResultScorer, Scored, agreement
from evaluator.episodes.turns.environment import Ended
from evaluator.episodes.turns.records import BY_ITSELF, indicators_of
from evaluator.execution.engine.jobs import FailureKind, Job, JobResult, StepFailure
from evaluator.execution.engine.run import Engine
from evaluator.execution.engine.store import ObjectDamagedError

_FORM = "turns"


class TaskScorer:
    """Scores episodes. One that ended without an answer has 0 on its sample."""

    def __init__(
        self, *, engine: Engine, results: ResultScorer, samples: KeptSamples, judge: Judge | None, by_gold: bool
    ) -> None:
        """Args:
        engine: ran the actions.
        results: scores answers against references.
        samples: inputs and references.
        judge: judges the plan of the first sample besides; None: nobody does.
        by_gold: whether references are what gold plans gave.
        """
        self._engine, self._results, self._samples = engine, results, samples
        self._judge, self._by_gold = judge, by_gold

    def keep(self, *, task: Task, index: int) -> None:
        """Put the references of a sample into the store, if there are any before gold plans are executed."""
        if not self._by_gold and task.metric != ABSTENTION:
            self._results.kept(task=task, index=index)

    def scored(
        self, *, suite: Suite, task: Task, record: ResultRecord, episodes: Sequence[Ended], pending: Pending
    ) -> ResultRecord:
        """The complete record of a task.

        Args:
            suite: as planners are asked.
            task: what was asked.
            record: what is known of it so far, with the transcripts.
            episodes: one for each sample, in order.
            pending: has the gold plan's results where they are compared with.
        """
        if task.metric == ABSTENTION:
            return _abstained(record, ended=episodes[0])
        try:
            results = [self._result(one, task=task) for one in episodes]
            references = self._results.references(task=task, results=results, pending=pending)
        except (*UNREADABLE, ObjectDamagedError) as error:
            message = f"There is nothing to compare the results with: {error}."
            return faulty(record, reason=Reason.EXPERT_FAILED, message=message)
        try:
            scored = self._results.scored(task=task, results=results, references=references, pending=pending)
            # Tasks without a call have kept their samples only in memory so far.
            self._engine.store.flush()
        except SCORER_FAILURES as error:
            message = f"The {task.metric} score could not be computed: {error}."
            return faulty(record, reason=Reason.SCORER_FAILED, message=message)
        judged = self._judged(suite=suite, task=task, record=record, plan=episodes[0].plan)
        return self._complete(judged, task=task, episodes=episodes, scored=scored)

    def _result(self, ended: Ended, *, task: Task) -> JobResult:
        """The episode as if its actions had been a plan."""
        resources = self._samples.inputs(task=task, index=ended.sample)
        job = Job(task=task.key, sample=ended.sample, plan=ended.plan, resources=resources)
        lacks = StepFailure(kind=FailureKind.INPUT, step="", message="the episode ended without an answer")
        return JobResult(job=job, answers=ended.answers, steps=ended.steps, failure=None if ended.answers else lacks)

    def _judged(self, *, suite: Suite, task: Task, record: ResultRecord, plan: Plan) -> ResultRecord:
        if self._judge is None:
            return record
        planned = Planned(
            record=record, task=task, plan=ParsedPlan(plan=plan, form=_FORM),
            reply=PlannerReply(plan=None, call=record.planner or PlannerCall(seconds=0.0)),
        )  # fmt: skip
        return with_judgement(planned, judgement=self._judge(suite=suite, planned=planned)).record

    def _complete(self, record: ResultRecord, *, task: Task, episodes: Sequence[Ended], scored: Scored) -> ResultRecord:
        gold = task.gold
        further = [
            {**({} if gold is None else agreement(plan=one.plan, gold=gold)), **indicators_of(one.transcript)}
            for one in episodes
        ]
        samples = [
            sample.model_copy(update={"indicators": {**sample.indicators, **found}})
            for sample, found in zip(scored.samples, further, strict=True)
        ]
        transcripts = [
            _with_score(
                one.transcript, score=sample.score, indicators=sample.indicators, expected=self._text(sample.reference)
            )
            for one, sample in zip(episodes, samples, strict=True)
        ]
        update = {
            "outcome": Outcome.SCORED,
            "score": scored.score,
            "samples": samples,
            "transcripts": transcripts,
            "indicators": {**record.indicators, **scored.indicators, **_means(further)},
        }
        return record.model_copy(update=update)

    def _text(self, reference: ArtefactReference | None) -> str | None:
        if reference is None or reference.media_type != MediaType.TEXT:
            return None
        value = self._engine.value(reference)
        return value if isinstance(value, str) else None


def _abstained(record: ResultRecord, *, ended: Ended) -> ResultRecord:
    """The record of a request that no tool can meet: 1 if nothing was done about it, else 0."""
    score = float(_ended_by_itself(ended) and not indicators_of(ended.transcript)["actions"])
    indicators = dict(indicators_of(ended.transcript))
    update = {
        "outcome": Outcome.SCORED,
        "score": score,
        "indicators": {**record.indicators, **indicators},
        "transcripts": [_with_score(ended.transcript, score=score, indicators=indicators, expected=None)],
    }
    return record.model_copy(update=update)


def _means(samples: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The mean of each indicator over those samples that have it."""
    names = dict.fromkeys(name for sample in samples for name in sample)
    by_name = {name: [sample[name] for sample in samples if name in sample] for name in names}
    return {name: fsum(values) / len(values) for name, values in by_name.items()}


def _ended_by_itself(ended: Ended) -> bool:
    return ended.transcript.stop in BY_ITSELF


def _with_score(
    transcript: Transcript, *, score: float | None, indicators: Mapping[str, float], expected: str | None
) -> Transcript:
    update = {"score": score, "expected": expected, "indicators": dict(indicators)}
    # Validated again, so that a long text is cut.
    return Transcript.model_validate(transcript.model_copy(update=update).model_dump())
