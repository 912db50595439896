"""Scores finished episodes in the same way as executed plans of the same suite."""

from collections.abc import Mapping, Sequence
from math import fsum

from evaluator.core.planner import PlannerReply
from evaluator.core.plans.model import ParsedPlan
from evaluator.core.records import Outcome, PlannerCall, Reason, ResultRecord
from evaluator.core.suites.base import ABSTENTION, Suite, Task
from evaluator.core.transcripts import StopReason, Transcript
from evaluator.core.values import MediaType
from evaluator.episodes.beside_gold import Pending
from evaluator.episodes.judgement import Judge, with_judgement
from evaluator.episodes.parts import Planned, faulty
from evaluator.episodes.samples import SampleArtefacts
from evaluator.episodes.scoring import SCORER_FAILURES, UNREADABLE, ResultScorer, Scored, agreement
from evaluator.episodes.turns.environment import FinishedEpisode
from evaluator.episodes.turns.records import PLANNER_ENDS, indicators_of
from evaluator.execution.engine.jobs import FailureKind, Job, JobResult, StepFailure
from evaluator.execution.engine.run import Engine
from evaluator.execution.engine.store import ObjectDamagedError

_FORM = "turns"


class TaskScorer:
    """Scores episodes; one without an answer scores 0 on its sample."""

    def __init__(self, *, engine: Engine, results: ResultScorer, samples: SampleArtefacts, judge: Judge | None) -> None:
        """Args:
        engine: the engine that ran the actions.
        results: scores answers against references.
        samples: inputs and references.
        judge: adds indicators of the first sample's plan; None: no judge.
        """
        self._engine, self._results, self._samples, self._judge = engine, results, samples, judge

    def store_references(self, *, task: Task, index: int) -> None:
        """Store the references of a sample, unless gold plans compute them."""
        if not self._samples.compares_with_gold and task.metric != ABSTENTION:
            self._results.stored_references(task=task, index=index)

    def scored(
        self, *, suite: Suite, task: Task, record: ResultRecord, episodes: Sequence[FinishedEpisode], pending: Pending
    ) -> ResultRecord:
        """The complete record of a task.

        Args:
            suite: the suite as presented to planners.
            task: the task.
            record: the record so far, with the transcripts.
            episodes: one for each sample, in order.
            pending: holds the gold plan's results, if compared.
        """
        if task.metric == ABSTENTION:
            return _abstained(record, episode=episodes[0])
        try:
            results = [self._result(episode, task=task) for episode in episodes]
            references = self._results.references(task=task, results=results, pending=pending)
        except (*UNREADABLE, ObjectDamagedError) as error:
            message = f"There is nothing to compare the results with: {error}."
            return faulty(record, reason=Reason.EXPERT_FAILED, message=message)
        try:
            scored = self._results.scored(task=task, results=results, references=references, pending=pending)
            # The samples of tasks without a call are only in memory so far.
            self._engine.store.flush()
        except SCORER_FAILURES as error:
            message = f"The {task.metric} score could not be computed: {error}."
            return faulty(record, reason=Reason.SCORER_FAILED, message=message)
        if self._judge is not None:
            planned = Planned(
                record=record, task=task, plan=ParsedPlan(plan=episodes[0].plan, form=_FORM),
                reply=PlannerReply(plan=None, call=record.planner or PlannerCall(seconds=0.0)),
            )  # fmt: skip
            record = with_judgement(planned, judgement=self._judge(suite=suite, planned=planned)).record
        return self._complete(record, task=task, episodes=episodes, scored=scored)

    def _result(self, episode: FinishedEpisode, *, task: Task) -> JobResult:
        """The episode as the result of a plan with its actions."""
        resources = self._samples.inputs(task=task, index=episode.sample)
        job = Job(task=task.key, sample=episode.sample, plan=episode.plan, resources=resources)
        unanswered = StepFailure(kind=FailureKind.INPUT, step="", message="the episode ended without an answer")
        return JobResult(
            job=job, answers=episode.answers, steps=episode.steps, failure=None if episode.answers else unanswered
        )

    def _complete(
        self, record: ResultRecord, *, task: Task, episodes: Sequence[FinishedEpisode], scored: Scored
    ) -> ResultRecord:
        gold = task.gold
        samples, transcripts, indicators = [], [], []
        for episode, sample in zip(episodes, scored.samples, strict=True):
            own = {} if gold is None else agreement(plan=episode.plan, gold=gold)
            own |= indicators_of(episode.transcript)
            indicators.append(own)
            sample = sample.model_copy(update={"indicators": {**sample.indicators, **own}})
            samples.append(sample)
            expected = None
            if sample.reference is not None and sample.reference.media_type == MediaType.TEXT:
                value = self._engine.value(sample.reference)
                expected = value if isinstance(value, str) else None
            transcripts.append(
                _with_score(episode.transcript, score=sample.score, indicators=sample.indicators, expected=expected)
            )
        # Each mean is over the samples that have the indicator.
        names = dict.fromkeys(name for own in indicators for name in own)
        values = {name: [own[name] for own in indicators if name in own] for name in names}
        means = {name: fsum(known) / len(known) for name, known in values.items()}
        update = {
            "outcome": Outcome.SCORED,
            "score": scored.score,
            "samples": samples,
            "transcripts": transcripts,
            "indicators": {**record.indicators, **scored.indicators, **means},
        }
        return record.model_copy(update=update)


def _abstained(record: ResultRecord, *, episode: FinishedEpisode) -> ResultRecord:
    """The record of an infeasible request: scores 1 if the planner abstained or ended without an action, else 0."""
    stop, indicators = episode.transcript.stop, dict(indicators_of(episode.transcript))
    is_own_end = stop in PLANNER_ENDS or stop is StopReason.ABSTAINED
    score = float(is_own_end and not indicators["actions"])
    # Elsewhere an abstention has the worst value of each column.
    indicators["ended"] = float(is_own_end)
    update = {
        "outcome": Outcome.SCORED,
        "score": score,
        "indicators": {**record.indicators, **indicators},
        "transcripts": [_with_score(episode.transcript, score=score, indicators=indicators, expected=None)],
    }
    return record.model_copy(update=update)


def _with_score(
    transcript: Transcript, *, score: float | None, indicators: Mapping[str, float], expected: str | None
) -> Transcript:
    update = {"score": score, "expected": expected, "indicators": dict(indicators)}
    # Validated again, so that a long text is cut.
    return Transcript.model_validate(transcript.model_copy(update=update).model_dump())
