"""ControlLLM's chain with and without corrections at run time, on a suite that executes plans.

Both are scored like the suite: a plan whose answers are not those that the request expects scores 0.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean
from time import perf_counter
from typing import Any

from evaluator.controlllm.chain.conversation import CorrectionKind, Finished
from evaluator.controlllm.chain.requests import request_of_task
from evaluator.controlllm.chain.running import ChainRunner, chain_planner
from evaluator.controlllm.chain.state import Entry
from evaluator.core.language_model import LanguageModelError
from evaluator.core.plans.checks import check_plan
from evaluator.core.plans.model import PlanSyntaxError
from evaluator.core.provenance import provenance
from evaluator.episodes.executed import Prepared
from evaluator.episodes.parts import not_run_reasons
from evaluator.execution.engine.pool import ExpertPool
from evaluator.execution.engine.run import Engine
from evaluator.replies.read import read_plan
from evaluator.scoring.metrics.scorers.base import Scorer
from evaluator.scoring.metrics.scorers.loading import load_scorer
from evaluator.scoring.metrics.statistics import mean_of_tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """The requests run with or without corrections. Shares and scores are over requests and samples."""

    every_subtask_made: float
    """Share in which every subtask produced its result."""
    answers_as_expected: float
    """Share in which the results have the types that the request expects."""
    score: float
    low: float | None
    high: float | None
    """95 % interval of the score over requests."""
    seconds: float
    calls: int
    """Expert calls; the run without corrections fills the store."""


@dataclass(slots=True, kw_only=True)
class ChainReport:
    """Both runs, and the corrections."""

    conditions: dict[str, Any]
    ways: dict[str, Way] = field(default_factory=dict)
    corrections: dict[str, int] = field(default_factory=dict)
    """Number by problem and outcome."""
    better: tuple[str, ...] = ()
    """Requests whose score is higher with corrections."""
    worse: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The report as a JSON object."""
        return {"version": "bench-chain/1", **asdict(self)}


def measure_chain(*, prepared: Prepared, planner: str, tasks: Sequence[str]) -> ChainReport:
    """Run every task on every sample as planned, then with corrections.

    Args:
        prepared: suite, profile, samples and store.
        planner: `controlllm/adaptive` or another of its strategies, with or without a language model.
        tasks: keys; tasks that cannot run are left out.

    Raises:
        LookupError: see `chain_planner` and `request_of_task`.
        LanguageModelError: the language model failed.
    """
    left_out = not_run_reasons(suite=prepared.suite, profile=prepared.profile, samples=prepared.samples)
    keys = [key for key in tasks if key not in left_out]
    bench = _Bench(prepared=prepared, planner=planner, keys=keys)
    report = ChainReport(
        conditions={
            "suite": prepared.suite.slug, "split": prepared.split, "samples": prepared.count, "tasks": len(keys),
            "planner": planner, "profile": prepared.profile.digest, "provenance": provenance(device=prepared.device),
        }
    )  # fmt: skip
    planned = bench.run(report, name="as planned", correcting=False)
    corrected = bench.run(report, name="with corrections", correcting=True)
    report.better = tuple(key for key in keys if corrected[key] > planned[key])
    report.worse = tuple(key for key in keys if corrected[key] < planned[key])
    return report


class _Bench:
    def __init__(self, *, prepared: Prepared, planner: str, keys: Sequence[str]) -> None:
        self._prepared = prepared
        strategy, model = chain_planner(planner)
        pool = ExpertPool(profile=prepared.profile, device=prepared.device, budget=prepared.memory_budget)
        self._engine = Engine(pool=pool, store=prepared.store, salt=prepared.suite.slug)
        self._runner = ChainRunner(strategy=strategy, engine=self._engine, model=model)
        self._cases = [(key, sample) for key in keys for sample in range(prepared.count)]
        self._scorers: dict[str, Scorer] = {}

    def run(self, report: ChainReport, *, name: str, correcting: bool) -> dict[str, float]:
        """Run the requests and return the score of each."""
        requests = [request_of_task(prepared=self._prepared, key=key, sample=sample) for key, sample in self._cases]
        calls, started = self._engine.calls.total(), perf_counter()
        ends = self._runner.run_all(requests, correcting=correcting, declining=False)
        seconds = perf_counter() - started
        finished: list[Finished] = []
        for end in ends:
            if isinstance(end, LanguageModelError):
                raise end
            finished.append(end)
        answers = [self._answers(key=key, run=run) for (key, _), run in zip(self._cases, finished, strict=True)]
        scores = self._scores(answers)
        by_task: dict[str, list[float]] = {}
        for (key, _), score in zip(self._cases, scores, strict=True):
            by_task.setdefault(key, []).append(score)
        means = {key: fmean(values) for key, values in by_task.items()}
        interval = mean_of_tasks(list(means.values()))
        report.ways[name] = Way(
            every_subtask_made=fmean(run.is_complete for run in finished),
            answers_as_expected=fmean(bool(entries) for entries in answers),
            score=interval.mean,
            low=interval.low,
            high=interval.high,
            seconds=seconds,
            calls=self._engine.calls.total() - calls,
        )
        if correcting:
            counts = Counter(
                f"{correction.problem}, {correction.kind}"
                + (
                    ""
                    if correction.kind is CorrectionKind.BACK
                    else f": {'helped' if correction.helped else 'did not help'}"
                )
                for run in finished
                for correction in run.corrections
            )
            report.corrections = dict(counts.most_common())
        return means

    def _answers(self, *, key: str, run: Finished) -> tuple[Entry, ...]:
        """The results in the order of the plan's answers; empty if they are not those that the request expects."""
        task = self._prepared.suite.task(key)
        context = self._prepared.suite.context(task=task, offered=frozenset(self._prepared.profile.experts))
        try:
            plan = read_plan(value=run.plan, context=context).plan
        except PlanSyntaxError:
            return ()
        entries = [entry for reference in plan.answers if (entry := run.state.get(reference)) is not None]
        if check_plan(plan=plan, context=context) or len(entries) < len(plan.answers):
            return ()
        return tuple(entries)

    def _scores(self, answers: Sequence[tuple[Entry, ...]]) -> list[float]:
        """The mean score of the answers of each case."""
        by_case: list[list[float]] = [[] for _ in answers]
        by_metric: dict[str, list[tuple[int, Any, Any]]] = {}
        for number, ((key, sample), entries) in enumerate(zip(self._cases, answers, strict=True)):
            parts = self._prepared.suite.task(key).answers
            for part, entry in zip(parts, entries, strict=False):
                reference = self._prepared.samples.reference(task=part, index=sample)
                value = self._engine.value(entry.artefact)
                by_metric.setdefault(part.metric, []).append((number, value, reference))
        for metric, cases in by_metric.items():
            if metric not in self._scorers:
                self._scorers[metric] = load_scorer(
                    name=metric, profile=self._prepared.profile, device=self._prepared.device
                )
            outputs, references = [value for _, value, _ in cases], [reference for _, _, reference in cases]
            scores = self._scorers[metric].score(outputs=outputs, references=references)
            for (number, _, _), score in zip(cases, scores, strict=True):
                by_case[number].append(float(score))
        return [fmean(values) if values else 0.0 for values in by_case]
