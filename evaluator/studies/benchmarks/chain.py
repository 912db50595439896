"""ControlLLM's chain with corrections at run time against the same plans as they are, on a suite that executes plans.

Both are scored as the suite scores: a plan whose answers are not those that the request expects scores 0.
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
from evaluator.core.plans.model import PlanContext, PlanSyntaxError
from evaluator.core.provenance import provenance
from evaluator.episodes.executed import Prepared
from evaluator.episodes.parts import not_run_reasons
from evaluator.execution.engine.pool import ExpertPool
from evaluator.execution.engine.run import Engine
from evaluator.replies.read import read_plan
from evaluator.scoring.metrics.scorers.base import Scorer
from evaluator.scoring.metrics.scorers.loading import load_scorer
from evaluator.scoring.metrics.statistics import cluster_bootstrap


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way to run the requests. Shares and scores are over requests and samples."""

    every_subtask_made: float
    """Share in which every subtask made its result."""
    answers_as_expected: float
    """Share in which the results are of the types that the request expects."""
    score: float
    low: float | None
    high: float | None
    """95 % interval of the score over requests."""
    seconds: float
    calls: int
    """Calls of experts that this way needed; the first way fills the store."""


@dataclass(slots=True, kw_only=True)
class ChainReport:
    """Both ways, and what the corrections were."""

    conditions: dict[str, Any]
    ways: dict[str, Way] = field(default_factory=dict)
    corrections: dict[str, int] = field(default_factory=dict)
    """By problem and outcome."""
    better: tuple[str, ...] = ()
    """Requests with a higher score by corrections."""
    worse: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return {"version": "bench-chain/1", **asdict(self)}


def measure_chain(*, prepared: Prepared, planner: str, tasks: Sequence[str]) -> ChainReport:
    """Run every task on every sample as planned, then with corrections.

    Args:
        prepared: suite, profile, samples and store.
        planner: `controlllm/adaptive` or another of its strategies, with a language model or without.
        tasks: their keys; those that cannot run are left out.

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
        """Run one way and give each request's score."""
        requests = [request_of_task(prepared=self._prepared, key=key, sample=sample) for key, sample in self._cases]
        calls, started = self._engine.calls.total(), perf_counter()
        ends = self._runner.run_all(requests, correcting=correcting, declining=False)
        seconds = perf_counter() - started
        finished = [_finished(end) for end in ends]
        answers = [self._answers(key=key, one=one) for (key, _), one in zip(self._cases, finished, strict=True)]
        scores = self._scores(answers)
        by_task: dict[str, list[float]] = {}
        for (key, _), score in zip(self._cases, scores, strict=True):
            by_task.setdefault(key, []).append(score)
        means = {key: fmean(found) for key, found in by_task.items()}
        interval = cluster_bootstrap(list(means.values()))
        report.ways[name] = Way(
            every_subtask_made=fmean(one.is_complete for one in finished),
            answers_as_expected=fmean(bool(one) for one in answers),
            score=interval.mean,
            low=interval.low,
            high=interval.high,
            seconds=seconds,
            calls=self._engine.calls.total() - calls,
        )
        if correcting:
            report.corrections = dict(_corrections(finished).most_common())
        return means

    def _answers(self, *, key: str, one: Finished) -> tuple[Entry, ...]:
        """The results in the order of the plan's answers; none if they are not those that the request expects."""
        task = self._prepared.suite.task(key)
        context: PlanContext = self._prepared.suite.context(
            task=task, offered=frozenset(self._prepared.profile.experts)
        )
        try:
            plan = read_plan(value=one.plan, context=context).plan
        except PlanSyntaxError:
            return ()
        found = [one.state.get(reference) for reference in plan.answers]
        if check_plan(plan=plan, context=context) or not found or any(entry is None for entry in found):
            return ()
        return tuple(entry for entry in found if entry is not None)

    def _scores(self, answers: Sequence[tuple[Entry, ...]]) -> list[float]:
        """For each case the mean of its answers' scores."""
        found: list[list[float]] = [[] for _ in answers]
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
                found[number].append(float(score))
        return [fmean(one) if one else 0.0 for one in found]


def _finished(end: Finished | LanguageModelError) -> Finished:
    if isinstance(end, LanguageModelError):
        raise end
    return end


def _corrections(finished: Sequence[Finished]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for one in finished:
        for correction in one.corrections:
            helped = ": helped" if correction.helped else ": did not help"
            counted[
                f"{correction.problem}, {correction.kind}{'' if correction.kind is CorrectionKind.BACK else helped}"
            ] += 1
    return counted
