"""Throughput of rewards: how many plans a second are scored, from nothing stored to everything remembered."""

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

WANTED = 200.0
"""Plans a second, warm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardPhase:
    """One pass over all plans."""

    what: str
    plans: int
    wall: float
    """Seconds."""
    cpu: float
    """Seconds of this process, all threads together."""

    @property
    def rate(self) -> float:
        """Plans per second of wall time."""
        return self.plans / self.wall

    @property
    def cpu_rate(self) -> float:
        """Plans per second of processor time: what the machine does besides hardly changes it."""
        return self.plans / self.cpu


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardReport:
    """What was measured."""

    phases: dict[str, RewardPhase]
    conditions: dict[str, Any]

    @property
    def claims(self) -> dict[str, bool | None]:
        """What is wanted, and whether it holds."""
        return {f"at least {WANTED:.0f} plans a second warm": self.phases["warm"].rate >= WANTED}

    def to_json(self) -> dict[str, Any]:
        """The report with its rates and claims."""
        phases = {
            name: {**asdict(phase), "rate": phase.rate, "cpu_rate": phase.cpu_rate}
            for name, phase in self.phases.items()
        }
        return {"phases": phases, "conditions": self.conditions, "claims": self.claims}


def measure_rewards(*, prepared: Prepared, tasks: Sequence[str]) -> RewardReport:
    """Score the gold plans of tasks and all variants of them that lack one step, four times.

    Args:
        prepared: suite, experts and data. Its store is not used: each report begins with an empty one.
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
    """The gold plan of each task as text, and each that is left when one of its steps is left out."""
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
    found = rewards.of(proposals)
    if None in found:
        raise RuntimeError(f"{found.count(None)} of {len(found)} plans could not be executed")
    return RewardPhase(what=what, plans=len(proposals), wall=time.perf_counter() - wall, cpu=time.process_time() - cpu)
