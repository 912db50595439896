"""The verdict of a submission for a pipeline: thresholds and exit codes. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluator.client.shapes import Evaluation, SuiteInfo
from evaluator.core.commands.exit_codes import ExitCode

PLANNER_REASONS = frozenset({"canary_failed"})
"""Reasons of failed evaluations that are the planner's; all others are the site's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """The least value of a metric, on one suite or on all that have it."""

    metric: str
    value: float
    suite: str = ""

    @classmethod
    def parse(cls, text: str) -> "Threshold":
        """Read `overall=0.40` or `SUITE:overall=0.40`.

        Raises:
            ValueError: it is neither.
        """
        match = re.fullmatch(r"(?:(?P<suite>[\w-]+):)?(?P<metric>[\w@.-]+)=(?P<value>[^=]+)", text.strip())
        try:
            value = float(match["value"]) if match else float("nan")
        except ValueError:
            value = float("nan")
        if match is None or not abs(value) < float("inf"):
            raise ValueError(f"--fail-under takes METRIC=NUMBER or SUITE:METRIC=NUMBER, not {text!r}")
        return cls(metric=match["metric"], value=value, suite=match["suite"] or "")

    def concerns(self, suite: str) -> bool:
        """Whether it applies to this suite."""
        return self.suite in {"", suite}


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The result of one threshold on one evaluation."""

    suite: str
    metric: str
    wanted: float
    measured: float | None
    """The mean; None: not measured."""

    @property
    def passed(self) -> bool:
        """Whether the metric was measured and reaches the threshold."""
        return self.measured is not None and self.measured >= self.wanted

    def sentence(self) -> str:
        """The check in words."""
        if self.measured is None:
            return f"{self.suite} {self.metric} was not measured; at least {self.wanted:g} was wanted"
        relation = "at least" if self.passed else "below"
        return f"{self.suite} {self.metric} is {self.measured:.4f}, {relation} {self.wanted:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The verdict of a submission."""

    code: ExitCode
    sentences: Sequence[str]
    """Reasons, one for each evaluation or threshold that decides."""
    checks: Sequence[Check]


def unknown_thresholds(*, thresholds: Sequence[Threshold], suites: Sequence[SuiteInfo]) -> list[str]:
    """A sentence for each threshold whose metric none of these suites has."""
    return [
        f"no suite of this submission measures {threshold.metric!r}"
        + (f" under the name {threshold.suite!r}" if threshold.suite else "")
        + "; "
        + "; ".join(f"{suite.slug} has {', '.join(suite.metric_keys)}" for suite in suites)
        for threshold in thresholds
        if not any(threshold.concerns(suite.slug) and threshold.metric in suite.metric_keys for suite in suites)
    ]


def verdict_of(
    *, evaluations: Sequence[Evaluation], thresholds: Sequence[Threshold], metrics: Mapping[str, Sequence[str]]
) -> Verdict:
    """The verdict of evaluations that have ended or wait for their owner.

    Infrastructure faults outrank planner faults, which outrank thresholds.

    Args:
        metrics: the keys of each suite's metrics.
    """
    endings = [_ending(evaluation) for evaluation in evaluations]
    checks = [
        _check(evaluation=evaluation, threshold=threshold)
        for evaluation in evaluations
        for threshold in thresholds
        if threshold.concerns(evaluation.suite) and threshold.metric in metrics.get(evaluation.suite, ())
    ]
    sentences = [sentence for _, sentence in endings if sentence]
    codes = {code for code, _ in endings}
    for code in (ExitCode.INFRASTRUCTURE, ExitCode.PLANNER_FAULT):
        if code in codes:
            return Verdict(code=code, sentences=sentences, checks=checks)
    if any(check.measured is None for check in checks):
        worst = ExitCode.INFRASTRUCTURE
    else:
        worst = ExitCode.PASSED if all(check.passed for check in checks) else ExitCode.BELOW_THRESHOLD
    return Verdict(code=worst, sentences=[check.sentence() for check in checks], checks=checks)


def _ending(evaluation: Evaluation) -> tuple[ExitCode, str]:
    """Exit code of an evaluation, and its reason if that is not success."""
    said = f"{evaluation.suite}: {evaluation.reason_text}"
    if evaluation.state == "completed":
        outcomes: Mapping[str, Any] = evaluation.summary.outcomes if evaluation.summary else {}
        if outcomes.get("planner_fault") and not outcomes.get("scored"):
            return ExitCode.PLANNER_FAULT, f"{evaluation.suite}: no plan of the planner could be used."
        return ExitCode.PASSED, ""
    if evaluation.state == "failed" and evaluation.reason in PLANNER_REASONS:
        return ExitCode.PLANNER_FAULT, said
    return ExitCode.INFRASTRUCTURE, said


def _check(*, evaluation: Evaluation, threshold: Threshold) -> Check:
    found = evaluation.summary.metrics.get(threshold.metric) if evaluation.summary else None
    return Check(
        suite=evaluation.suite,
        metric=threshold.metric,
        wanted=threshold.value,
        measured=None if found is None else found.mean,
    )
