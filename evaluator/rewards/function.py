"""Reward functions in the form that the trainers of TRL call: `reward(prompts=..., completions=..., **columns)`.

A completion is the planner's answer in any form that a planner's answer may have (`evaluator.replies.read`). The data
set needs a column with the key of each prompt's task, which TRL hands over as a keyword argument.

    reward = reward_function(suite=SLUG)
    reward(prompts=["..."], completions=["Image Denoising"], task=["4"])
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
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
_KEPT = 200_000
"""Rewards in memory: some hundred bytes each."""


class Rewards(Protocol):
    """Scores plans."""

    def of(self, proposals: Sequence[Proposal]) -> list[float | None]:
        """The reward of each: in [0, 1] if it was executed, a constant for an invalid plan, None where the
        infrastructure failed."""
        ...


@dataclass(slots=True)
class _Fixed:
    """Answers each task with a given plan."""

    plans: dict[str, object]
    name: str = "proposals"

    def plan(self, request: PlannerRequest) -> PlannerReply:
        return PlannerReply(plan=self.plans[request.task.id], call=PlannerCall(seconds=0.0))


class ExecutedRewards:
    """Executes plans with real experts. Equal plans for a task are executed once; equal steps are in the store."""

    def __init__(self, evaluator: "ExecutionEvaluator", *, fault: float = FAULT_SCORE) -> None:
        """Args:
        evaluator: executes and scores.
        fault: reward of a plan that cannot be read or is invalid.
        """
        self._evaluator = evaluator
        self._fault = fault
        self._known: dict[tuple[str, str], float] = {}
        self.executed = 0
        """Plans that were not known before."""

    def of(self, proposals: Sequence[Proposal]) -> list[float | None]:
        """See `Rewards`.

        Raises:
            LookupError: a key names no task of the suite.
        """
        keys = [(task, canonical_json.digest(plan)) for task, plan in proposals]
        new = {key: plan for key, (_, plan) in zip(keys, proposals, strict=True) if key not in self._known}
        for batch in _one_per_task(new):
            self._execute(batch)
        found = [self._known.get(key) for key in keys]
        if len(self._known) > _KEPT:
            self._known.clear()
        return found

    def _execute(self, batch: dict[str, tuple[str, object]]) -> None:
        planner = _Fixed({task: plan for task, (_, plan) in batch.items()})
        for record in self._evaluator.run(planner=planner, tasks=list(batch)):
            self.executed += 1
            key = (record.task, batch[record.task][0])
            if record.outcome is Outcome.SCORED and record.score is not None:
                self._known[key] = record.score
            elif record.outcome is Outcome.PLANNER_FAULT:
                self._known[key] = self._fault


def _one_per_task(plans: dict[tuple[str, str], object]) -> Iterator[dict[str, tuple[str, object]]]:
    """Batches in which each task has one plan: an evaluation asks a planner once about a task."""
    waiting = list(plans.items())
    while waiting:
        batch: dict[str, tuple[str, object]] = {}
        left = []
        for (task, digest), plan in waiting:
            if task in batch:
                left.append(((task, digest), plan))
            else:
                batch[task] = (digest, plan)
        yield batch
        waiting = left


Completion = str | Sequence[Mapping[str, Any]]
"""A text, or the messages of a chat, of which the last one counts."""


class SplitRefusedError(ValueError):
    """A split that planners may not learn from; the message says which they may."""


class PlanReward:
    """The reward of a completion is the score of the plan in it."""

    def __init__(self, *, suite: Suite, rewards: Rewards, column: str = "task") -> None:
        """Args:
        suite: whose tasks the prompts are.
        rewards: scores plans of this suite.
        column: of the data set, with the keys of the prompts' tasks.
        """
        # TRL names its metrics after the function.
        self.__name__ = f"{suite.slug.replace('-', '_')}_reward"
        self._rewards = rewards
        self._column = column

    def __call__(
        self, prompts: Sequence[object], completions: Sequence[Completion], **columns: Any
    ) -> list[float | None]:
        """The reward of each completion.

        Args:
            prompts: not read; the task decides.
            completions: the planner's answers.
            columns: of the data set, that with the tasks' keys among them. Others are ignored.

        Returns:
            Scores in [0, 1]; for a plan that cannot be read or is invalid what a planner's fault counts, 0 unless
            `reward_function` says otherwise; None where the infrastructure failed, which TRL leaves out of a group.

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
    """The text of a completion: its own, or that of the last message of a chat.

    Raises:
        ValueError: the last message has no text.
    """
    if isinstance(completion, str):
        return completion
    text = completion[-1].get("content") if completion else ""
    if not isinstance(text, str):
        raise ValueError("the last message of a completion has no text as its content")
    return text


# Long: one line for each option.
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
    """A reward function for a suite. Experts stay loaded between calls; what was executed stays in the store.

    Args:
        suite: slug of a suite that executes plans.
        profile: which experts run the tools.
        split: a training split of the suite; empty: its first.
        samples: data points that each plan is executed on.
        store: where executed steps are kept: a folder, `s3://bucket/prefix`, or what opens it; empty: `store` in the
            data folder.
        device: torch device of experts and scorers.
        fault: reward of a plan that cannot be read or is invalid.
        column: of the data set, with the keys of the prompts' tasks.

    Raises:
        LookupError: there is no such suite.
        SplitRefusedError: planners may not learn from this split, or from no split of this suite.
        SettingError: the suite executes no plans, or there are no data for it under this profile.
    """
    from evaluator.episodes.executed import ExecutedPlans
    from evaluator.execution.engine.opening import open_store

    found, episode = suite_of(suite), episode_of(suite)
    if not isinstance(episode, ExecutedPlans):
        how = "asks for plans step by step" if episode.in_turns else "judges plans without executing them"
        raise SettingError(f"{suite} {how}; rewards need a suite that executes whole plans")
    data = Path(os.environ.get("PLANARENA_DATA", ".data"))
    setting = Setting(
        profile=profile,
        split=training_split(suite=found, split=split),
        samples=samples,
        open_store=store if callable(store) else lambda: open_store(where=store or str(data / "store"), data=data),
        device=device,
    )
    evaluator = episode.prepared(suite=found, setting=setting).evaluator()
    return PlanReward(suite=found, rewards=ExecutedRewards(evaluator, fault=fault), column=column)


def training_split(*, suite: Suite, split: str = "") -> str:
    """The split, if planners may learn from it; empty: the first of those.

    Raises:
        SplitRefusedError: they may not.
    """
    allowed = suite.training_splits
    if not allowed:
        raise SplitRefusedError(f"{suite.slug} has no split that planners may learn from")
    if split and split not in allowed:
        raise SplitRefusedError(
            f"planners may not learn from the split {split!r} of {suite.slug}, only from {', '.join(allowed)}"
        )
    return split or allowed[0]
