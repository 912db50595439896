"""Evaluation of a planner in turns: run the episodes of each task and score them."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import Planner
from evaluator.core.plans.model import plan_to_json
from evaluator.core.provenance import code_version
from evaluator.core.records import Outcome, Reason, ResultRecord
from evaluator.core.suites.base import Suite, Task
from evaluator.core.transcripts import Transcript, bounded
from evaluator.core.turns import PacedTurnPlanner, TurnPlanner, turn_request
from evaluator.episodes.parts import faulty, new_record, not_run_records
from evaluator.episodes.turns.asking import OPEN_EPISODES, OpenEpisode, run_episodes
from evaluator.episodes.turns.environment import (
    Bounds,
    Environment,
    ExpertEnvironment,
    SampleEnvironment,
    TypedTask,
    offered_tools,
)
from evaluator.episodes.turns.episode import REFUSAL, Episode
from evaluator.episodes.turns.faults import Fault, FaultInjector
from evaluator.episodes.turns.planners import in_turns, journaled
from evaluator.episodes.turns.records import calls_of, fault_of, indicators_of, plan_of_transcript, record_of_samples

if TYPE_CHECKING:
    from evaluator.execution.engine.store import Store


class TurnEvaluator:
    """Evaluates planners on one suite in turns; planners of whole plans give one in the first turn."""

    def __init__(
        self,
        *,
        suite: Suite,
        environment: Environment,
        bounds: Bounds,
        open_journal: "Callable[[], Store] | None" = None,
    ) -> None:
        """Args:
        suite: the suite as presented to planners.
        environment: its tools and rules.
        bounds: limits of each episode.
        open_journal: opens the store of the planner's answers in named runs; None: they are not stored.
        """
        self.suite = suite
        self._environment = environment
        self._bounds = bounds
        self._open_journal = open_journal
        self._fault: Fault | None = None
        self._not_run = environment.not_run(suite)
        self._offered = offered_tools(suite=suite, environment=environment)

    def run(self, *, planner: Planner, tasks: Sequence[str], run: str = "") -> Iterator[ResultRecord]:
        """See `Evaluator.run`."""
        requested = self.suite.asked(tasks)
        yield from not_run_records(suite=self.suite, tasks=requested, reasons=self._not_run)
        runnable = [task for task in requested if task.key not in self._not_run]
        acting = in_turns(planner)
        at_once = acting.episodes_at_once if isinstance(acting, PacedTurnPlanner) else OPEN_EPISODES
        if run and self._open_journal is not None:
            acting = journaled(planner=acting, store=self._open_journal())
        # Turn keys are unique across runs.
        name = run or secrets.token_hex(8)
        if isinstance(self._environment, SampleEnvironment):
            yield from self._over_samples(self._environment, runnable, acting=acting, name=name, at_once=at_once)
            return
        by_episode: dict[int, Task] = {}

        def opened() -> Iterator[OpenEpisode]:
            for task in runnable:
                opening = self._open(task, sample=0, acting=acting, name=name)
                by_episode[id(opening.episode)] = task
                yield opening

        for episode in self._run_episodes(opened(), acting=acting, at_once=at_once):
            yield self._record(task=by_episode.pop(id(episode)), episode=episode)

    def with_fault(self, fault: Fault) -> "TurnEvaluator":
        """A copy with a fault in every episode."""
        other = copy(self)
        other._fault = fault
        return other

    def facts(self) -> dict[str, JsonValue]:
        """Digest of the rules and version of the code; with experts, also their profile and calls."""
        commit, dirty = code_version()
        experts = self._environment.facts() if isinstance(self._environment, ExpertEnvironment) else {}
        return {"judge": self._environment.digest(), "provenance": {"commit": commit, "dirty": dirty}, **experts}

    @property
    def origin(self) -> str:
        """Whose data the tasks use, if not those of the suite's authors, as sentences."""
        data = self.facts().get("data")
        return str(data.get("origin", "")) if isinstance(data, dict) else ""

    def _run_episodes(self, episodes: Iterator[OpenEpisode], *, acting: TurnPlanner, at_once: int) -> Iterator[Episode]:
        faults = None if self._fault is None else FaultInjector(self._fault, self._bounds.seconds)
        return run_episodes(
            planner=acting, episodes=episodes, environment=self._environment, at_once=at_once, faults=faults
        )

    def _over_samples(
        self, environment: SampleEnvironment, tasks: Sequence[Task], *, acting: TurnPlanner, name: str, at_once: int
    ) -> Iterator[ResultRecord]:
        """Run an episode for each data point of each task, and yield each record once it is complete."""
        problems = environment.prepare(suite=self.suite, tasks=tasks)
        for task in tasks:
            if task.key in problems:
                record = new_record(suite=self.suite, task=task)
                yield faulty(record, reason=Reason.INTERNAL_ERROR, message=problems[task.key])
        by_episode: dict[int, Task] = {}
        finished: dict[str, list[Episode]] = {}

        def opened() -> Iterator[OpenEpisode]:
            for task in tasks:
                for sample in range(environment.episodes(task) if task.key not in problems else 0):
                    typed = environment.begin(task=task, sample=sample)
                    opening = self._open(task, sample=sample, acting=acting, name=name, typed=typed)
                    by_episode[id(opening.episode)] = task
                    yield opening

        for episode in self._run_episodes(opened(), acting=acting, at_once=at_once):
            task = by_episode.pop(id(episode))
            task_episodes = finished.setdefault(task.key, [])
            task_episodes.append(episode)
            if len(task_episodes) == environment.episodes(task):
                episodes = sorted(finished.pop(task.key), key=lambda episode: episode.sample)
                yield record_of_samples(environment=environment, suite=self.suite, task=task, episodes=episodes)

    def _open(
        self, task: Task, *, sample: int, acting: TurnPlanner, name: str, typed: TypedTask | None = None
    ) -> OpenEpisode:
        context = self.suite.context(task=task, offered=self._offered)
        episode = Episode(
            key=f"{name}/{task.asked_as or task.key}", sample=sample, scope=self._environment.scope(task),
            context=context, statement_tool=self.suite.statement_tool_in(context),
            formulation=acting.formulation, bounds=self._bounds, typed=typed,
            candidates=self.suite.candidates,
        )  # fmt: skip
        return OpenEpisode(
            episode, lambda: turn_request(suite=self.suite, task=task, context=context, asked=episode.next_turn())
        )

    def _record(self, *, task: Task, episode: Episode) -> ResultRecord:
        (transcript,) = bounded([episode.transcript()])
        plan = plan_of_transcript(transcript=transcript, catalogue=self.suite.catalogue)
        update = {
            "planner": calls_of([transcript]), "plan": plan_to_json(plan), "transcripts": [transcript],
            "planner_notes": dict(episode.notes), "plan_received": episode.abstention,
        }  # fmt: skip
        record = new_record(suite=self.suite, task=task).model_copy(update=update)
        if (fault := fault_of(episode, task=task)) is not None:
            return faulty(record, reason=fault.reason, message=fault.message)
        outcome = self._environment.score(task=task, answer=episode.answer, transcript=transcript)
        if episode.refusal and not outcome.score:
            *before, last = transcript.turns
            turns = [*before, last.model_copy(update={"error": REFUSAL})]
            record = record.model_copy(update={"transcripts": [transcript.model_copy(update={"turns": turns})]})
            return faulty(record, reason=Reason.UNPARSABLE_PLAN, message=REFUSAL)
        scores = {"score": outcome.score, "expected": outcome.expected, "indicators": dict(outcome.indicators)}
        answer = {} if outcome.answer is None else {"answer": outcome.answer}
        scored = transcript.model_copy(update={**scores, **answer})
        update = {
            "outcome": Outcome.SCORED,
            "score": outcome.score,
            "indicators": {**indicators_of(transcript), **outcome.indicators},
            "explanations": dict(outcome.explanations),
            "transcripts": [Transcript.model_validate(scored.model_dump())],
        }
        return record.model_copy(update=update)
