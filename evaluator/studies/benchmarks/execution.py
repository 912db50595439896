"""Benchmark of the execution of plans: this engine with an empty store, a second planner, and the released structure.

All phases use the same experts, samples and machine, and all but `process` run in one process. The engine runs first,
so that the baseline benefits from warm caches and imported modules, and the peak memory after the cold run is that of
the engine.
"""

import os
import resource
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from evaluator.core.planner import Planner, PlannerReply, PlannerRequest
from evaluator.core.plans.model import Plan, plan_to_json
from evaluator.core.records import Outcome, PlannerCall, ResultRecord, without_timings
from evaluator.core.suites.base import Suite
from evaluator.core.values import encode
from evaluator.episodes.executed import Prepared
from evaluator.episodes.execution import ExecutionEvaluator
from evaluator.execution.engine.pool import ExpertPool
from evaluator.execution.engine.progress import Stopwatch
from evaluator.execution.engine.store import LocalStore
from evaluator.planners.ablations import without_step
from evaluator.planners.bundled import GoldPlanner
from evaluator.studies.benchmarks.new_process import run_in_new_process, seconds_since_start
from evaluator.studies.benchmarks.released import SequentialStructure, released_structure


def distinct_calls(
    *, records: Iterable[ResultRecord], plans: dict[str, Plan], sampling: Collection[str]
) -> Counter[str]:
    """Number of distinct (tool, inputs) of all plans on all samples, by tool, from the digests in the records.

    Args:
        records: results whose steps all succeeded.
        plans: the plan of each task.
        sampling: tools whose experts sample; their calls are distinct for each sample.
    """
    calls: set[tuple[str, tuple[tuple[str, str], ...], int | None]] = set()
    for task, sample in ((record.task, sample) for record in records for sample in record.samples):
        steps = plans[task].steps
        runs = {run.step: run for run in sample.steps}
        # A plan may reference a file of the request without "$".
        digests = {key: reference.digest for name, reference in sample.inputs.items() for key in (f"${name}", name)}
        for step in steps:
            outputs = runs[step.id].outputs
            digests |= {reference: outputs[name].digest for name, reference in step.outputs.items() if name in outputs}
        for step in steps:
            inputs = sorted((name, digests.get(value) or encode(value).digest) for name, value in step.inputs.items())
            calls.add((step.tool, tuple(inputs), sample.index if step.tool in sampling else None))
    return Counter(tool for tool, _, _ in calls)


PHASES = ("cold", "second", "process", "again", "released")
CHANGED = 10
"""The second planner answers one in this many tasks differently."""


class SecondPlanner:
    """The gold plans, but every tenth lacks a step that can be left out."""

    name = f"gold, every {CHANGED}th plan without one of its steps"

    def __init__(self, suite: Suite) -> None:
        self._gold = GoldPlanner(suite)
        self._changed: dict[str, Plan] = {}
        for task in suite.tasks[::CHANGED]:
            gold = task.gold or Plan(steps=(), answers=())
            # The first step that can be left out, so that most later calls are new.
            for step in gold.steps:
                shorter = without_step(plan=gold, step=step.id, catalogue=suite.catalogue, resources=task.resources)
                if shorter is not None:
                    self._changed[task.key] = shorter
                    break

    def plan(self, request: PlannerRequest) -> PlannerReply:
        shorter = self._changed.get(request.task.id)
        if shorter is None:
            return self._gold.plan(request)
        return PlannerReply(plan=plan_to_json(shorter), call=PlannerCall(seconds=0.0))


@dataclass(slots=True)
class Phase:
    """An evaluation of all tasks. Times in seconds; `cpu` is of all threads of the process."""

    name: str
    what: str
    wall: float = 0.0
    cpu: float = 0.0
    loading: float = 0.0
    experts: float = 0.0
    scoring: float = 0.0
    tasks: int = 0
    """Number of tasks; the baseline may be measured on fewer, and ratios are per task."""
    measured_cpu: float = 0.0
    """CPU time of loading, experts and scoring together."""
    loads: int = 0
    calls: dict[str, int] = field(default_factory=dict)
    peak_rss_bytes: int = 0
    """Peak of the process up to the end of the phase."""
    scored: int = 0
    start: float = 0.0
    """First phase only: time from the start of the process to the phase, not included in `wall` and `cpu`."""
    start_cpu: float = 0.0

    @property
    def whole_overhead_share(self) -> float:
        """`overhead_share` with the start of the process, including imports, as overhead."""
        whole = self.wall + self.start
        return (whole - self.loading - self.experts - self.scoring) / whole if whole else 0.0

    @property
    def whole_overhead_cpu_share(self) -> float:
        """`whole_overhead_share` by CPU time."""
        whole = self.cpu + self.start_cpu
        return (whole - self.measured_cpu) / whole if whole else 0.0

    @property
    def overhead_share(self) -> float:
        """Share of the wall time that is not loading, experts or scoring."""
        return (self.wall - self.loading - self.experts - self.scoring) / self.wall if self.wall else 0.0

    @property
    def overhead_cpu_share(self) -> float:
        """`overhead_share` by CPU time, for shared machines."""
        return (self.cpu - self.measured_cpu) / self.cpu if self.cpu else 0.0


@dataclass(slots=True)
class ExecutionReport:
    """The results of all phases, and the conditions."""

    conditions: dict[str, Any]
    phases: dict[str, Phase] = field(default_factory=dict)
    distinct: dict[str, int] = field(default_factory=dict)
    """Distinct calls that the cold run needs, counted without the engine."""
    same_scores: bool | None = None
    """Whether the scores of baseline and engine are equal."""
    same_results: bool | None = None
    """Whether the results of a repeated run are byte-equal except for timings."""
    same_in_process: bool | None = None
    """Whether the results of the second planner in a new process are byte-equal except for timings."""

    def ratio(self, phase: str, *, clock: str = "wall") -> float | None:
        """Speedup of a phase per task relative to the baseline, by `wall` or `cpu`.

        The baseline shares nothing between tasks, so its time per task does not depend on their number.
        """
        if phase not in self.phases or "released" not in self.phases:
            return None
        baseline, measured = self.phases["released"], self.phases[phase]
        per_task = float(getattr(baseline, clock)) / max(baseline.tasks, 1)
        return per_task * measured.tasks / max(float(getattr(measured, clock)), 1e-9)

    @property
    def calls_are_distinct_nodes(self) -> bool | None:
        """Whether the cold run made exactly the calls that are needed."""
        return self.phases["cold"].calls == self.distinct if "cold" in self.phases else None

    @property
    def claims(self) -> dict[str, bool | None]:
        """Whether each claim about the engine holds; None if no phase measured it."""
        return {
            "the cold run makes each distinct call once": self.calls_are_distinct_nodes,
            "scores are those of the released structure": self.same_scores,
            "running again gives byte-equal results": self.same_results,
            "a new process gives byte-equal results": self.same_in_process,
        }

    def to_json(self) -> dict[str, Any]:
        """The report as a JSON object, ratios first."""
        return {
            "version": "bench-execution/1",
            "ratios": {
                f"{phase}_{clock}": self.ratio(phase, clock=clock) for phase in PHASES[:-1] for clock in ("wall", "cpu")
            },
            "calls_are_distinct_nodes": self.calls_are_distinct_nodes,
            "same_scores": self.same_scores,
            "same_results": self.same_results,
            "same_in_process": self.same_in_process,
            "phases": {
                name: asdict(phase)
                | {
                    "overhead_share": phase.overhead_share,
                    "overhead_cpu_share": phase.overhead_cpu_share,
                    "whole_overhead_share": phase.whole_overhead_share,
                    "whole_overhead_cpu_share": phase.whole_overhead_cpu_share,
                }
                for name, phase in self.phases.items()
            },
            "distinct_calls": self.distinct,
            "conditions": self.conditions,
        }


def measure_execution(
    *,
    prepared: Prepared,
    tasks: Sequence[str],
    only: Sequence[str] = PHASES,
    baseline_tasks: int = 0,
    second: Planner | None = None,
    say: Callable[[str], None] = lambda _: None,
    save: Callable[[ExecutionReport], None] = lambda _: None,
    folder: Path | None = None,
) -> ExecutionReport:
    """Run the phases in the order of `PHASES`.

    Args:
        prepared: suite, profile, samples; its store is not used.
        tasks: keys; tasks that cannot run are left out of every phase.
        only: phases to run; all but `released` need `cold`, and `process` needs `second`.
        baseline_tasks: number of tasks that the baseline is measured on, evenly spread; 0 for all.
        second: the planner of the phase `second`; None for `SecondPlanner`.
        say: prints progress.
        save: called with the report after every phase.
        folder: parent folder of the engine's store; the system's temporary folder by default.
    """
    report = ExecutionReport(conditions=_conditions(prepared))
    with tempfile.TemporaryDirectory(prefix="planarena-bench-", dir=folder) as store:
        bench = _Bench(prepared=replace(prepared, store=LocalStore(Path(store))), tasks=tasks, report=report, say=say)
        if "cold" in only:
            bench.cold()
            report.conditions["torch_threads"] = _threads()
            save(report)
        if "second" in only:
            bench.second(second or SecondPlanner(prepared.suite))
            save(report)
        if "process" in only:
            bench.process(Path(store))
            save(report)
        if "again" in only:
            bench.again()
            save(report)
        if "released" in only:
            bench.released(count=baseline_tasks)
            report.conditions["torch_threads"] = _threads()
            save(report)
    return report


class _Bench:
    def __init__(
        self, *, prepared: Prepared, tasks: Sequence[str], report: ExecutionReport, say: Callable[[str], None]
    ) -> None:
        self._prepared = prepared
        self._report = report
        self._say = say
        self._evaluator = prepared.evaluator()
        self._tasks = [key for key in tasks if key not in self._evaluator.not_run]
        self._cold: dict[str, ResultRecord] = {}
        self._second: dict[str, ResultRecord] = {}
        report.conditions["tasks"] = len(self._tasks)

    def cold(self) -> None:
        """The engine with an empty store and no expert loaded."""
        phase = Phase(name="cold", what="this engine, empty store, no expert loaded")
        phase.start, phase.start_cpu = seconds_since_start()
        self._cold = self._run(phase=phase, planner=GoldPlanner(self._prepared.suite), evaluator=self._evaluator)
        complete = [record for record in self._cold.values() if record.outcome is Outcome.SCORED]
        sampling = {tool for tool, spec in self._prepared.profile.experts.items() if spec.samples}
        plans = {record.task: self._plan(record.task) for record in complete}
        self._report.distinct = dict(sorted(distinct_calls(records=complete, plans=plans, sampling=sampling).items()))

    def second(self, planner: Planner) -> None:
        """Another planner on the same evaluator, as in a worker."""
        phase = Phase(name="second", what=f"this engine, store and experts as they are now: {planner.name}")
        self._second = self._run(phase=phase, planner=planner, evaluator=self._evaluator)

    def process(self, store: Path) -> None:
        """The second planner in a new process, timed from start to end; everything is in the store."""
        phase = Phase(name="process", what="this engine in a new process, imports counted, full store: second planner")
        with_plan = {key: record for key, record in self._second.items() if record.plan is not None}
        run = run_in_new_process(prepared=self._prepared, records=with_plan.values(), store=store)
        records = {record.task: record for record in map(ResultRecord.model_validate, run.document["results"])}
        phase.wall, phase.cpu, phase.tasks = run.wall, run.cpu, len(records)
        phase.scored = sum(record.outcome is Outcome.SCORED for record in records.values())
        self._close(phase=phase, calls=Counter(run.document["expert_calls"]))
        phase.peak_rss_bytes = peak_bytes(run.peak_rss)
        self._report.same_in_process = _executed(records) == _executed(with_plan)

    def again(self) -> None:
        """The first planner again, with no experts loaded and no scores cached: everything comes from the store."""
        phase = Phase(name="again", what="this engine, full store, nothing loaded: the same planner once more")
        planner, evaluator = GoldPlanner(self._prepared.suite), self._prepared.evaluator()
        records = self._run(phase=phase, planner=planner, evaluator=evaluator)
        self._report.same_results = _comparable(records) == _comparable(self._cold)

    def released(self, *, count: int) -> None:
        tasks = evenly(self._tasks, count=count)
        prepared = self._prepared
        baseline = released_structure(
            suite=prepared.suite, profile=prepared.profile, samples=prepared.samples, count=prepared.count,
            device=prepared.device,
        )  # fmt: skip
        is_sequential = isinstance(baseline, SequentialStructure)
        what = "call by call, nothing shared, models kept" if is_sequential else "task by task, nothing shared or kept"
        phase = Phase(name="released", what=f"the released structure: {what}")
        scores: dict[str, float] = {}
        watch = Stopwatch()
        for number, key in enumerate(tasks, start=1):
            with watch.running():
                scores[key] = baseline.score(task=prepared.suite.task(key), plan=self._plan(key))
            if number % 10 == 0 or number == len(tasks):
                self._say(f"released: {number}/{len(tasks)} tasks, {watch.wall:.0f} s")
        phase.wall, phase.cpu = watch.wall, watch.cpu
        parts = (baseline.loading, baseline.experts, baseline.scoring)
        phase.loading, phase.experts, phase.scoring = (part.wall for part in parts)
        phase.measured_cpu = sum(part.cpu for part in parts)
        phase.loads, phase.scored, phase.tasks = baseline.loads, len(scores), len(tasks)
        self._close(phase=phase, calls=baseline.calls)
        if self._cold:
            self._report.same_scores = scores == {key: self._cold[key].score for key in tasks}

    def _run(self, *, phase: Phase, planner: Planner, evaluator: ExecutionEvaluator) -> dict[str, ResultRecord]:
        self._say(f"{phase.name}: {phase.what}")
        pool = evaluator.engine.pool
        loads = pool.loads if isinstance(pool, ExpertPool) else Counter[str]()
        calls, loaded = evaluator.engine.calls.copy(), loads.total()
        spent = (evaluator.engine.spent.loading, evaluator.engine.spent.experts, evaluator.scoring)
        before = [replace(watch) for watch in spent]
        watch = Stopwatch()
        with watch.running():
            records = {record.task: record for record in evaluator.run(planner=planner, tasks=self._tasks)}
        phase.wall, phase.cpu = watch.wall, watch.cpu
        phase.loading, phase.experts, phase.scoring = (
            part.wall - earlier.wall for part, earlier in zip(spent, before, strict=True)
        )
        phase.measured_cpu = sum(part.cpu - earlier.cpu for part, earlier in zip(spent, before, strict=True))
        phase.loads, phase.tasks = loads.total() - loaded, len(self._tasks)
        phase.scored = sum(record.outcome is Outcome.SCORED for record in records.values())
        self._close(phase=phase, calls=evaluator.engine.calls - calls)
        return records

    def _close(self, *, phase: Phase, calls: Counter[str]) -> None:
        phase.calls = dict(sorted(calls.items()))
        phase.peak_rss_bytes = peak_bytes(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        self._report.phases[phase.name] = phase
        self._say(f"{phase.name}: {phase.wall:.1f} s")

    def _plan(self, key: str) -> Plan:
        gold = self._prepared.suite.task(key).gold
        if gold is None:
            raise LookupError(f"no right plan is known for task {key}")
        return gold


def evenly(items: Sequence[str], *, count: int) -> list[str]:
    """`count` of the items, evenly spread; all for 0."""
    if not 0 < count < len(items):
        return list(items)
    return [items[position * len(items) // count] for position in range(count)]


def _comparable(records: dict[str, ResultRecord]) -> list[str]:
    return sorted(without_timings(record).model_dump_json() for record in records.values())


def _executed(records: dict[str, ResultRecord]) -> dict[str, object]:
    """Scores and results of every step, without the calls of the planner."""
    return {
        key: (record.outcome, record.score, [sample.model_dump() for sample in without_timings(record).samples])
        for key, record in records.items()
    }


def peak_bytes(peak: int) -> int:
    """The peak memory that the system reports for a process, in bytes."""
    return peak if sys.platform == "darwin" else peak * 1024


def _conditions(prepared: Prepared) -> dict[str, Any]:
    from evaluator.core.provenance import provenance

    return {
        "suite": prepared.suite.slug,
        "profile": {"name": prepared.profile.name, "digest": prepared.profile.digest},
        "samples": prepared.count,
        "cpus": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load_average": os.getloadavg()[0],
        # Without bytecode, every new process compiles this repository again.
        "keeps_bytecode": not sys.dont_write_bytecode,
        "provenance": provenance(device=prepared.device),
    }


def _threads() -> int:
    """Threads of torch, imported lazily so that its import counts in the phases and not before them."""
    import torch

    return torch.get_num_threads()
