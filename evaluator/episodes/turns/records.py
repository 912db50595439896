"""The result record of a task from its episodes."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evaluator.core.plans.abstaining import WRONGLY
from evaluator.core.plans.model import Plan, Step, plan_to_json
from evaluator.core.records import PlannerCall, Reason, ResultRecord
from evaluator.core.suites.base import ABSTENTION, Suite, Task
from evaluator.core.tools.types import Catalogue
from evaluator.core.transcripts import StopReason, Transcript, bounded, sum_by_role, sum_of_known
from evaluator.episodes.parts import faulty, is_infrastructure, new_record
from evaluator.episodes.turns.environment import FinishedEpisode, SampleEnvironment
from evaluator.episodes.turns.episode import Episode

PLANNER_ENDS = frozenset({StopReason.ANSWERED, StopReason.STOPPED, StopReason.COMPLETED})
"""Ends chosen by the planner."""


def indicators_of(transcript: Transcript) -> Mapping[str, float]:
    """The length of an episode, and the share of actions that succeeded."""
    actions = [action for turn in transcript.turns for action in turn.actions]
    worked = sum(action.problem is None for action in actions)
    return {
        "turns": float(len(transcript.turns)),
        "actions": float(len(actions)),
        **({"actions_done": worked / len(actions)} if actions else {}),
        "ended": float(transcript.stop in PLANNER_ENDS),
    }


def calls_of(transcripts: Sequence[Transcript]) -> PlannerCall:
    """The sum of all planner calls."""
    turns = [turn for transcript in transcripts for turn in transcript.turns]
    return PlannerCall(
        seconds=round(sum(turn.seconds for turn in turns), 6),
        tries=max((turn.tries for turn in turns), default=1),
        prompt_tokens=sum_of_known(turn.prompt_tokens for turn in turns),
        completion_tokens=sum_of_known(turn.completion_tokens for turn in turns),
        cached_tokens=sum_of_known(turn.cached_tokens for turn in turns),
        reasoning_tokens=sum_of_known(turn.reasoning_tokens for turn in turns),
        roles=sum_by_role(turn.roles for turn in turns),
    )


class EpisodeFault(NamedTuple):
    """Why an episode ended without anything to score."""

    reason: Reason
    message: str


def _is_left_out(fault: EpisodeFault) -> bool:
    return fault.reason is Reason.NOT_IN_RUN


def fault_of(episode: Episode, *, task: Task) -> EpisodeFault | None:
    """The fault of an episode: of an expert, of the call of the planner, an abstention from a request that can be met,
    or no readable answer before the first action. None: what the planner did is scored."""
    if episode.fault:
        return EpisodeFault(Reason.EXPERT_FAILED, episode.fault)
    if episode.failure is not None:
        return EpisodeFault(episode.failure.reason, str(episode.failure))
    if episode.stop is StopReason.ABSTAINED and task.metric != ABSTENTION:
        return EpisodeFault(Reason.ABSTAINED, WRONGLY)
    turns = episode.transcript().turns
    if episode.stop is StopReason.UNREADABLE and not any(turn.actions for turn in turns):
        return EpisodeFault(Reason.UNPARSABLE_PLAN, turns[-1].error)
    return None


def record_of_samples(
    *, environment: SampleEnvironment, suite: Suite, task: Task, episodes: Sequence[Episode]
) -> ResultRecord:
    """The record of a task with one episode for each data point, in order. Its plan is that of the first episode.

    An episode that ended with a fault (`fault_of`) scores 0; the task is a planner fault only if all episodes ended so.
    One episode ended by an infrastructure fault, or whose recorded answers do not fit, leaves the task without a score.
    """
    transcripts = bounded([episode.transcript() for episode in episodes])
    finished = [
        FinishedEpisode(
            sample=episode.sample, transcript=transcript, steps=tuple(episode.work.runs), answers=episode.work.answers,
            plan=episode.work.plan(subgoals=[text for turn in transcript.turns for text in turn.subgoals]),
        )
        for episode, transcript in zip(episodes, transcripts, strict=True)
    ]  # fmt: skip
    update = {
        "planner": calls_of(transcripts), "plan": plan_to_json(finished[0].plan), "transcripts": transcripts,
        "planner_notes": dict(episodes[0].notes), "plan_received": episodes[0].abstention,
    }  # fmt: skip
    record = new_record(suite=suite, task=task).model_copy(update=update)
    faults = [fault for episode in episodes if (fault := fault_of(episode, task=task)) is not None]
    unscored = next((fault for fault in faults if is_infrastructure(fault.reason) or _is_left_out(fault)), None)
    if unscored is not None:
        return faulty(record, reason=unscored.reason, message=unscored.message)
    if len(faults) == len(episodes):
        return faulty(record, reason=faults[0].reason, message=faults[0].message)
    return environment.scored(suite=suite, task=task, record=record, episodes=finished)


def plan_of_transcript(*, transcript: Transcript, catalogue: Catalogue) -> Plan:
    """The actions with results as the steps of a plan."""
    steps: list[Step] = []
    for turn in transcript.turns:
        for action in turn.actions:
            if action.problem is not None:
                continue
            number = len(steps) + 1
            tool = catalogue.tools.get(action.tool)
            own = next(iter(tool.inputs), "arguments") if tool else "arguments"
            first = next(iter(tool.outputs), "") if tool else ""
            outputs = {
                first if first and place == 0 else name: f"s{number}.{name}"
                for place, name in enumerate(action.outputs)
            }
            steps.append(Step(id=f"s{number}", tool=action.tool, inputs={own: action.arguments}, outputs=outputs))
    last = list(steps[-1].outputs.values())[-1] if steps else None
    subgoals = tuple(text for turn in transcript.turns for text in turn.subgoals)
    return Plan(steps=tuple(steps), answers=(last,) if last else (), subgoals=subgoals or None)
