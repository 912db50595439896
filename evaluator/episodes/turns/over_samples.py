"""The record of a task of which an episode was held for each data point."""

from collections.abc import Sequence

from evaluator.core.plans.model import plan_to_json
from evaluator.core.records import Reason, ResultRecord
from evaluator.core.suites.base import Suite, Task
from evaluator.core.transcripts import Transcript, bounded
from evaluator.episodes.parts import faulty, is_infrastructure, new_record
from evaluator.episodes.turns.environment import Ended, SampleEnvironment
from evaluator.episodes.turns.episode import Episode
from evaluator.episodes.turns.measures import calls_of


def record_of_samples(
    *, environment: SampleEnvironment, suite: Suite, task: Task, episodes: Sequence[Episode]
) -> ResultRecord:
    """The record of a task. Its plan is what was done on the first data point.

    An episode in which the planner gave no answer to a turn counts 0; only if all ended so is the task the planner's
    fault. One that the infrastructure ended leaves the whole task without a score.

    Args:
        environment: scores the task.
        suite: as planners are asked.
        task: whose episodes they were.
        episodes: one for each data point, in order.
    """
    transcripts = bounded([episode.transcript() for episode in episodes])
    ended = [_ended(episode, transcript=one) for episode, one in zip(episodes, transcripts, strict=True)]
    update = {
        "planner": calls_of(transcripts), "plan": plan_to_json(ended[0].plan), "transcripts": transcripts,
        "planner_notes": dict(episodes[0].notes),
    }  # fmt: skip
    record = new_record(suite=suite, task=task).model_copy(update=update)
    fault = next((episode.fault for episode in episodes if episode.fault), "")
    if fault:
        return faulty(record, reason=Reason.EXPERT_FAILED, message=fault)
    failures = [episode.failure for episode in episodes if episode.failure is not None]
    ours = next((failure for failure in failures if is_infrastructure(failure.reason)), None)
    if ours is not None:
        return faulty(record, reason=ours.reason, message=str(ours))
    if len(failures) == len(episodes):
        return faulty(record, reason=failures[0].reason, message=str(failures[0]))
    return environment.scored(suite=suite, task=task, record=record, episodes=ended)


def _ended(episode: Episode, *, transcript: Transcript) -> Ended:
    subgoals = [text for turn in transcript.turns for text in turn.subgoals]
    work = episode.work
    return Ended(
        sample=episode.sample, transcript=transcript, plan=work.plan(subgoals=subgoals), steps=tuple(work.runs),
        answers=work.answers,
    )  # fmt: skip
