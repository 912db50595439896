"""Benchmark of a profile's experts on a device: the gold plans once, with an empty store, by expert and by scorer.

`measure_card` also examines each expert and measures its batch sizes, all that a new card needs.
"""

import resource
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from evaluator.core.suites.base import Suite
from evaluator.episodes.executed import Prepared
from evaluator.execution.doctor.examining import Examination, Further
from evaluator.execution.doctor.profiles import RandomWeights, examine_profile
from evaluator.execution.engine.progress import Stopwatch, Work
from evaluator.execution.engine.store import LocalStore
from evaluator.execution.experts.devices import device_class, device_facts
from evaluator.execution.random_weights.building import random_profile
from evaluator.planners.bundled import GoldPlanner
from evaluator.studies.benchmarks.execution import peak_bytes
from evaluator.studies.benchmarks.utilisation import reader_for, sampled

WHOLE = 100
"""Samples of a task in the paper's evaluation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What an expert or a scorer did."""

    name: str
    """The tool or the metric."""
    model: str
    batch_size: int
    items: int
    batches: int
    seconds: float
    """Without loading."""
    loading: float
    utilisation: float | None
    """Mean share of the time in which the GPU was busy, while this ran; None if it could not be read."""

    @property
    def rate(self) -> float:
        """Items per second."""
        return self.items / self.seconds if self.seconds else 0.0


@dataclass(slots=True)
class DeviceReport:
    """A run on a device. Times in seconds."""

    conditions: dict[str, Any]
    wall: float = 0.0
    cpu: float = 0.0
    loading: float = 0.0
    experts: float = 0.0
    scoring: float = 0.0
    """Including the loading of scorers."""
    utilisation: float | None = None
    peak_rss_bytes: int = 0
    peak_device_bytes: int | None = None
    outcomes: dict[str, int] = field(default_factory=dict)
    tools: list[Line] = field(default_factory=list)
    scorers: list[Line] = field(default_factory=list)

    @property
    def busy_share(self) -> float:
        """Share of the time after loading in which experts and scorers ran, an upper limit of the utilisation."""
        worked = self.experts + sum(line.seconds for line in self.scorers)
        return worked / self.after_loading if self.after_loading else 0.0

    @property
    def after_loading(self) -> float:
        """The time without the loading of experts and scorers."""
        return self.wall - self.loading - sum(line.loading for line in self.scorers)

    @property
    def estimated(self) -> float:
        """Estimated time with `WHOLE` samples: loading once, and all else in proportion to the samples."""
        return self.wall + self.after_loading * (WHOLE / int(self.conditions["samples"]) - 1)

    def to_json(self) -> dict[str, Any]:
        """The report as a JSON object."""
        lines = {
            kind: [{**asdict(line), "per_second": line.rate} for line in getattr(self, kind)]
            for kind in ("tools", "scorers")
        }
        derived = {"busy_share": self.busy_share, f"estimated_seconds_with_{WHOLE}_samples": self.estimated}
        return {"version": "bench-device/1", **asdict(self), **lines, **derived}


def tools_of_gold(suite: Suite, *, keys: Sequence[str]) -> list[str]:
    """The tools of the gold plans of tasks."""
    plans = (suite.task(key).gold for key in keys)
    return list(dict.fromkeys(tool for plan in plans if plan is not None for tool in plan.tools()))


def measure_on_device(*, prepared: Prepared, tasks: Sequence[str], conditions: dict[str, Any]) -> DeviceReport:
    """Execute and score the gold plans of tasks.

    Args:
        prepared: suite, profile, samples and device; its store is not used.
        tasks: keys.
        conditions: what else the report is to say about the run.
    """
    with tempfile.TemporaryDirectory(prefix="planarena-bench-") as folder:
        evaluator = replace(prepared, store=LocalStore(Path(folder))).evaluator()
        pool = evaluator.engine.pool
        report = DeviceReport(
            conditions={
                "suite": prepared.suite.slug, "profile": prepared.profile.name, "tasks": len(tasks),
                "samples": prepared.count, "device": dict(pool.device_class), **conditions,
            }
        )  # fmt: skip
        watch = Stopwatch()
        with (
            sampled(
                read=reader_for(prepared.device), running=lambda: evaluator.engine.running or evaluator.scored_now or ""
            ) as utilisation,
            watch.running(),
        ):
            planner = GoldPlanner(prepared.suite)
            records = list(evaluator.run(planner=planner, tasks=tasks))
        report.wall, report.cpu, report.utilisation = watch.wall, watch.cpu, utilisation.mean
        report.outcomes = dict(Counter(str(record.outcome) for record in records))
        report.loading, report.experts = evaluator.engine.spent.loading.wall, evaluator.engine.spent.experts.wall
        report.scoring = evaluator.scoring.wall
        report.peak_rss_bytes = peak_bytes(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        torch = sys.modules.get("torch")
        if torch is not None and prepared.device.startswith("cuda"):
            report.peak_device_bytes = int(torch.cuda.max_memory_allocated(prepared.device))

        def line(name: str, *, work: Work, model: str, batch_size: int) -> Line:
            return Line(
                name=name, model=model, batch_size=batch_size, items=work.items, batches=work.batches,
                seconds=work.seconds, loading=work.loading, utilisation=utilisation.of(name),
            )  # fmt: skip

        for tool, work in evaluator.engine.work.items():
            spec = pool.spec(tool)
            report.tools.append(line(tool, work=work, model=spec.id, batch_size=spec.batch_size))
        for metric, work in evaluator.scoring_work.items():
            scorer = prepared.profile.scorers.get(metric)
            model, size = (scorer.id, scorer.batch_size) if scorer is not None else ("rules", 1)
            report.scorers.append(line(metric, work=work, model=model, batch_size=size))
        for lines in (report.tools, report.scorers):
            lines.sort(key=lambda entry: -entry.seconds)
    return report


@dataclass(slots=True)
class CardReport:
    """What is to be known of a card."""

    device: dict[str, Any]
    profile: str
    weights: str
    experts: list[Examination] = field(default_factory=list)
    execution: DeviceReport = field(default_factory=lambda: DeviceReport(conditions={}))
    """Empty until the gold plans are executed."""

    def to_json(self) -> dict[str, Any]:
        """The report as a JSON object."""
        return {
            "version": "bench-card/1", "device": self.device, "profile": self.profile, "weights": self.weights,
            "experts": [one.to_json() for one in self.experts],
            "batch_sizes": {
                one.tool: {str(card): size for card, size in one.proposed.items()}
                for one in self.experts if one.proposed
            },
            "execution": self.execution.to_json() if self.execution.conditions else None,
        }  # fmt: skip


def measure_card(
    *,
    prepared: Prepared,
    tasks: Sequence[str],
    weights: RandomWeights,
    tools: Sequence[str],
    seconds: float,
    compiles: bool = False,
    say: Callable[[str], None] = lambda _: None,
    save: Callable[[CardReport], None] = lambda _: None,
) -> CardReport:
    """Examine experts and measure their batch sizes, then execute gold plans.

    Args:
        prepared: suite, samples and device; its store is not used.
        tasks: keys of the tasks to execute.
        weights: builds checkpoints, and keeps those that these tasks need.
        tools: of the profile, those to examine.
        seconds: no expert is examined after this time.
        compiles: also measure experts with compiled networks.
        say: prints progress.
        save: called with the report after every part.
    """
    device = prepared.device
    report = CardReport(
        device=device_facts(device, of_class=device_class(device)), profile=weights.profile.name,
        weights=f"random-{weights.size}",
    )  # fmt: skip
    for found in examine_profile(
        profile=weights.profile, weights=weights, tools=tools, device=device, seconds=seconds,
        further=Further(sizes=True, compiles=compiles),
    ):  # fmt: skip
        report.experts.append(found)
        say(f"{found.tool}: {found.problem or ('as declared' if found.is_right else 'not as declared')}")
        save(report)
    built = random_profile(
        weights.profile.name, folder=weights.folder, tools=tools_of_gold(prepared.suite, keys=tasks), device=device,
        size=weights.size, report=weights.report,
    )  # fmt: skip
    report.execution = measure_on_device(
        prepared=replace(prepared, profile=built), tasks=tasks, conditions={"weights": report.weights}
    )
    save(report)
    return report
