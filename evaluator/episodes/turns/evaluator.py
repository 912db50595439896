"""Evaluating a planner in turns: hold an episode for each task, and score what came of it."""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from evaluator.canonical_json import JsonValue
from evaluator.episodes.parts import faulty, new_record, not_run_records
from evaluator.episodes.turns.asking import Opened, hold_all
from evaluator.episodes.turns.environment import Environment, ExpertEnvironment, offered_tools
from evaluator.episodes.turns.episode import Episode
from evaluator.episodes.turns.feedback import Bounds
from evaluator.episodes.turns.plans import plan_of_transcript
from evaluator.planners.protocol import Planner
from evaluator.planners.turns.journal import journaled
from evaluator.planners.turns.one_shot import in_turns
from evaluator.planners.turns.protocol import TurnRequest, turn_request
from evaluator.plans import PlanContext
from evaluator.plans.model import plan_to_json
from evaluator.provenance import code_version
from evaluator.records import Outcome, PlannerCall, Reason, ResultRecord
from evaluator.suites.base import Suite, Task
from evaluator.transcripts import StopReason, Transcript

if TYPE_CHECKING:
    from evaluator.engine.store import Store


class TurnEvaluator:
    """Evaluates planners on one suite in turns. Planners that know only whole plans are asked for one."""

    def __init__(
        self,
        *,
        suite: Suite,
        environment: Environment,
        bounds: Bounds,
        open_journal: "Callable[[], Store] | None" = None,
    ) -> None:
        """Args:
        suite: as planners are asked.
        environment: its tools and rules.
        bounds: what each episode may use.
        open_journal: opens where the planner's answers in named runs are kept; None: they are not kept.
        """
        self.suite = suite
        self._environment = environment
        self._bounds = bounds
        self._open_journal = open_journal
        self._not_run = environment.not_run(suite)
        self._offered = offered_tools(suite=suite, environment=environment)

    def run(self, *, planner: Planner, tasks: Sequence[str], run: str = "") -> Iterator[ResultRecord]:
        """See `Evaluator.run`.

        Raises:
            LookupError: a key names no task of the suite.
        """
        wanted = [self.suite.task(key) for key in tasks]
        yield from not_run_records(suite=self.suite, tasks=wanted, reasons=self._not_run)
        runnable = [task for task in wanted if task.key not in self._not_run]
        acting = in_turns(planner)
        if run and self._open_journal is not None:
            acting = journaled(planner=acting, store=self._open_journal())
        # Two runs never have turns of the same key.
        name = run or secrets.token_hex(8)
        by_episode: dict[int, Task] = {}

        def opened() -> Iterator[Opened]:
            for task in runnable:
                context = self._context(task)
                episode = Episode(
                    key=f"{name}/{task.asked_as or task.key}", sample=0, scope=self._environment.scope(task),
                    context=context, statement_tool=self.suite.statement_tool_in(context),
                    formulation=acting.formulation, bounds=self._bounds,
                )  # fmt: skip
                by_episode[id(episode)] = task
                yield Opened(episode, partial(self._request, task=task, context=context, episode=episode))

        for episode in hold_all(planner=acting, episodes=opened(), environment=self._environment):
            yield self._record(task=by_episode.pop(id(episode)), episode=episode)

    def facts(self) -> dict[str, JsonValue]:
        """Digest of the rules and version of the code; with experts, what ran as well."""
        commit, dirty = code_version()
        experts = self._environment.facts() if isinstance(self._environment, ExpertEnvironment) else {}
        return {"judge": self._environment.digest(), "provenance": {"commit": commit, "dirty": dirty}, **experts}

    def _context(self, task: Task) -> PlanContext:
        return self.suite.context(task=task, offered=self._offered)

    def _request(self, *, task: Task, context: PlanContext, episode: Episode) -> TurnRequest:
        return turn_request(suite=self.suite, task=task, context=context, asked=episode.asked())

    def _record(self, *, task: Task, episode: Episode) -> ResultRecord:
        transcript = episode.transcript()
        plan = plan_of_transcript(transcript=transcript, catalogue=self.suite.catalogue)
        update = {"planner": _call(transcript), "plan": plan_to_json(plan), "transcripts": [transcript]}
        record = new_record(suite=self.suite, task=task).model_copy(update=update)
        if episode.failure is not None:
            failure = episode.failure
            return faulty(record, reason=failure.reason, message=str(failure))
        if episode.fault:
            return faulty(record, reason=Reason.EXPERT_FAILED, message=episode.fault)
        found = self._environment.score(task=task, answer=episode.answer, transcript=transcript)
        scored = transcript.model_copy(
            update={"score": found.score, "expected": found.expected, "indicators": dict(found.indicators)}
        )
        update = {
            "outcome": Outcome.SCORED,
            "score": found.score,
            "indicators": {**_indicators(transcript), **found.indicators},
            "explanations": dict(found.explanations),
            "transcripts": [Transcript.model_validate(scored.model_dump())],
        }
        return record.model_copy(update=update)


def _indicators(transcript: Transcript) -> Mapping[str, float]:
    """Of every suite in turns: how long the episode was, and how much of it worked."""
    actions = [action for turn in transcript.turns for action in turn.actions]
    worked = sum(action.problem is None for action in actions)
    ended = transcript.stop in {StopReason.ANSWERED, StopReason.STOPPED, StopReason.COMPLETED}
    return {
        "turns": float(len(transcript.turns)),
        "actions": float(len(actions)),
        **({"actions_done": worked / len(actions)} if actions else {}),
        "ended": float(ended),
    }


def _call(transcript: Transcript) -> PlannerCall:
    turns = transcript.turns
    prompts = [turn.prompt_tokens for turn in turns if turn.prompt_tokens is not None]
    completions = [turn.completion_tokens for turn in turns if turn.completion_tokens is not None]
    return PlannerCall(
        seconds=round(sum(turn.seconds for turn in turns), 6),
        tries=max((turn.tries for turn in turns), default=1),
        prompt_tokens=sum(prompts) if prompts else None,
        completion_tokens=sum(completions) if completions else None,
    )
