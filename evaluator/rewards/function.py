"""Reward functions for the trainers of TRL: `reward(prompts=..., completions=..., **columns)`.

A completion is a planner's answer in any form that `evaluator.replies.read` accepts. The data set needs a column with
the key of each prompt's task, which TRL passes as a keyword argument.

    reward = reward_function(suite=SLUG)
    reward(prompts=["..."], completions=["Image Denoising"], task=["4"])
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from evaluator.core import canonical_json
from evaluator.core.planner import PlannerReply, PlannerRequest
from evaluator.core.records import FAULT_SCORE, Outcome, PlannerCall
from evaluator.core.suites.base import Suite
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.base import Setting, SettingError, episode_of

if TYPE_CHECKING:
    from evaluator.episodes.execution import ExecutionEvaluator
    from evaluator.execution.engine.store import Store


Proposal = tuple[str, object]
"""Key of a task, and a plan for it in any form that `read_plan` accepts."""
_CACHED = 200_000
"""Maximum number of cached rewards, of some hundred bytes each."""


class Rewards(Protocol):
    """Scores plans."""

    def of(self, proposals: Sequence[Proposal]) -> list[float | None]:
        """The reward of each plan: in [0, 1] if executed, a constant if invalid, None if the infrastructure failed."""
        ...


@dataclass(slots=True)
class _ProposalPlanner:
    plans: dict[str, object]
    name: str = "proposals"

    def plan(self, request: PlannerRequest) -> PlannerReply:
        return PlannerReply(plan=self.plans[request.task.id], call=PlannerCall(seconds=0.0))


class ExecutedRewards:
    """Executes plans with experts. Caches the rewards of equal plans of a task; the store caches equal steps."""

    def __init__(self, evaluator: "ExecutionEvaluator", *, fault: float = FAULT_SCORE) -> None:
        """Args:
        evaluator: executes and scores the plans.
        fault: reward of an unreadable or invalid plan.
        """
        self._evaluator = evaluator
        self._fault = fault
        self._known: dict[tuple[str, str], float] = {}
        self.executed = 0
        """Number of executed plans."""

    def of(self, proposals: Sequence[Proposal]) -> list[float | None]:
        """See `Rewards`.

        Raises:
            LookupError: a key names no task of the suite.
        """
        keys = [(task, canonical_json.digest(plan)) for task, plan in proposals]
        waiting = {key: plan for key, (_, plan) in zip(keys, proposals, strict=True) if key not in self._known}
        while waiting:
            # Batches with one plan per task, since an evaluation asks a planner once about a task.
            batch: dict[str, str] = {}
            for task, digest in waiting:
                batch.setdefault(task, digest)
            planner = _ProposalPlanner({task: waiting.pop((task, digest)) for task, digest in batch.items()})
            for record in self._evaluator.run(planner=planner, tasks=list(batch)):
                self.executed += 1
                key = (record.task, batch[record.task])
                if record.outcome is Outcome.SCORED and record.score is not None:
                    self._known[key] = record.score
                elif record.outcome is Outcome.PLANNER_FAULT:
                    self._known[key] = self._fault
        rewards = [self._known.get(key) for key in keys]
        if len(self._known) > _CACHED:
            self._known.clear()
        return rewards


Completion = str | Sequence[Mapping[str, Any]]
"""A text, or the messages of a chat, of which the last is the answer."""


class SplitRefusedError(ValueError):
    """A split is not for training; the message lists the training splits."""


class PlanReward:
    """Rewards a completion with the score of its plan."""

    def __init__(self, *, suite: Suite, rewards: Rewards, column: str = "task") -> None:
        """Args:
        suite: suite of the prompts.
        rewards: scores plans of this suite.
        column: column of the data set with the keys of the prompts' tasks.
        """
        # TRL derives the names of its metrics from this.
        self.__name__ = f"{suite.slug.replace('-', '_')}_reward"
        self._rewards = rewards
        self._column = column

    def __call__(
        self, prompts: Sequence[object], completions: Sequence[Completion], **columns: Any
    ) -> list[float | None]:
        """The reward of each completion.

        Args:
            prompts: ignored; the task determines the request.
            completions: the planner's answers.
            columns: columns of the data set, including the tasks' keys.

        Returns:
            Scores in [0, 1]; the constant of planner faults for an unreadable or invalid plan, by default 0; None if
            the infrastructure failed, which TRL leaves out of a group.

        Raises:
            ValueError: the column is missing, or the lengths differ.
            LookupError: a key names no task of the suite.
        """
        if self._column not in columns:
            raise ValueError(f"the data set needs a column {self._column!r} with the key of each prompt's task")
        tasks = columns[self._column]
        if not len(prompts) == len(completions) == len(tasks):
            raise ValueError(f"{len(prompts)} prompts, {len(completions)} completions and {len(tasks)} tasks")
        pairs = zip(tasks, completions, strict=True)
        return self.of([(str(task), text_of(completion)) for task, completion in pairs])

    def of(self, proposals: Sequence[Proposal]) -> list[float | None]:
        """See `Rewards`: the rewards of plans in any form, by the keys of their tasks."""
        return self._rewards.of(proposals)


def text_of(completion: Completion) -> str:
    """The text of a completion, or of the last message of a chat; ValueError if that has no text."""
    if isinstance(completion, str):
        return completion
    text = completion[-1].get("content") if completion else ""
    if not isinstance(text, str):
        raise ValueError("the last message of a completion has no text as its content")
    return text


def reward_function(
    *,
    suite: str,
    profile: str = "lilliput",
    split: str = "",
    samples: int = 4,
    store: "str | Callable[[], Store]" = "",
    device: str = "cpu",
    fault: float = FAULT_SCORE,
    column: str = "task",
) -> PlanReward:
    """A reward function for a suite. Experts stay loaded between calls, and the store caches executed steps.

    Args:
        suite: slug of a suite that executes plans.
        profile: profile of the experts.
        split: a training split of the suite; empty: its first.
        samples: data points per plan.
        store: the store of executed steps: a folder, `s3://bucket/prefix`, or a function that opens it; empty: `store`
            in the data folder.
        device: torch device of experts and scorers.
        fault: reward of an unreadable or invalid plan.
        column: column of the data set with the keys of the prompts' tasks.

    Raises:
        LookupError: there is no such suite.
        SplitRefusedError: the split is not for training, or the suite has no training split.
        SettingError: the suite executes no plans, or has no data for this profile.
    """
    from evaluator.episodes.executed import ExecutedPlans
    from evaluator.execution.engine.opening import open_store

    resolved, episode = suite_of(suite), episode_of(suite)
    if not isinstance(episode, ExecutedPlans):
        how = "asks for plans step by step" if episode.in_turns else "judges plans without executing them"
        raise SettingError(f"{suite} {how}; rewards need a suite that executes whole plans")
    data = Path(os.environ.get("PLANARENA_DATA", ".data"))
    setting = Setting(
        profile=profile,
        split=training_split(suite=resolved, split=split),
        samples=samples,
        open_store=store if callable(store) else lambda: open_store(where=store or str(data / "store"), data=data),
        device=device,
    )
    evaluator = episode.prepared(suite=resolved, setting=setting).evaluator()
    return PlanReward(suite=resolved, rewards=ExecutedRewards(evaluator, fault=fault), column=column)


def training_split(*, suite: Suite, split: str = "") -> str:
    """The split if it is for training, by default the first training split; SplitRefusedError otherwise."""
    allowed = suite.training_splits
    if not allowed:
        raise SplitRefusedError(f"{suite.slug} has no split that planners may learn from")
    if split and split not in allowed:
        raise SplitRefusedError(
            f"planners may not learn from the split {split!r} of {suite.slug}, only from {', '.join(allowed)}"
        )
    return split or allowed[0]
