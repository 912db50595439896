"""Throughput of rewards in plans per second, from an empty store to everything cached."""

import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from evaluator.core.plans.model import plan_to_json
from evaluator.core.suites.base import Suite
from evaluator.episodes.executed import Prepared
from evaluator.execution.engine.store import LocalStore
from evaluator.planners.ablations import without_step
from evaluator.rewards import ExecutedRewards, Proposal

TARGET = 200.0
"""Least number of plans per second when warm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardPhase:
    """A pass over all plans."""

    what: str
    plans: int
    wall: float
    """Seconds."""
    cpu: float
    """CPU seconds of all threads of this process."""

    @property
    def rate(self) -> float:
        """Plans per second of wall time."""
        return self.plans / self.wall

    @property
    def cpu_rate(self) -> float:
        """Plans per second of CPU time, which other load on the machine hardly changes."""
        return self.plans / self.cpu


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardReport:
    """The result of the benchmark."""

    phases: dict[str, RewardPhase]
    conditions: dict[str, Any]

    @property
    def claims(self) -> dict[str, bool | None]:
        """The target, and whether it is met."""
        return {f"at least {TARGET:.0f} plans a second warm": self.phases["warm"].rate >= TARGET}

    def to_json(self) -> dict[str, Any]:
        """The report with its rates and claims."""
        phases = {
            name: {**asdict(phase), "rate": phase.rate, "cpu_rate": phase.cpu_rate}
            for name, phase in self.phases.items()
        }
        return {"phases": phases, "conditions": self.conditions, "claims": self.claims}


def measure_rewards(*, prepared: Prepared, tasks: Sequence[str]) -> RewardReport:
    """Score the gold plans of tasks, and all their variants that lack a step, four times.

    Args:
        prepared: suite, experts and data. Its store is not used: each report starts with an empty one.
        tasks: keys.
    """
    proposals = list(plans_of(suite=prepared.suite, tasks=tasks))
    with tempfile.TemporaryDirectory() as folder:
        stored = replace(prepared, store=LocalStore(Path(folder)))
        phases = {"cold": _phase("empty store", ExecutedRewards(stored.evaluator()), proposals)}
        evaluator = stored.evaluator()
        phases["stored"] = _phase("filled store, scorers not loaded", ExecutedRewards(evaluator), proposals)
        rewards = ExecutedRewards(evaluator)
        phases["warm"] = _phase("filled store, scorers loaded, outputs known", rewards, proposals)
        phases["repeated"] = _phase("the same plans again", rewards, proposals)
    conditions = {
        "suite": prepared.suite.slug,
        "profile": prepared.profile.name,
        "samples": prepared.count,
        "tasks": len(tasks),
        "plans": len(proposals),
    }
    return RewardReport(phases=phases, conditions=conditions)


def plans_of(*, suite: Suite, tasks: Sequence[str]) -> Iterator[Proposal]:
    """The gold plan of each task as text, and each valid plan without one of its steps."""
    for key in tasks:
        task = suite.task(key)
        if task.gold is None:
            continue
        shorter = (
            without_step(plan=task.gold, step=step.id, catalogue=suite.catalogue, resources=task.resources)
            for step in task.gold.steps
        )
        for plan in (task.gold, *filter(None, shorter)):
            yield key, json.dumps(plan_to_json(plan))


def _phase(what: str, rewards: ExecutedRewards, proposals: Sequence[Proposal]) -> RewardPhase:
    wall, cpu = time.perf_counter(), time.process_time()
    scores = rewards.of(proposals)
    if None in scores:
        raise RuntimeError(f"{scores.count(None)} of {len(scores)} plans could not be executed")
    return RewardPhase(what=what, plans=len(proposals), wall=time.perf_counter() - wall, cpu=time.process_time() - cpu)
