"""Compares results of a self-hosted worker with those of an operator's worker. Pure: no database.

Task by task:

    same plan             results follow from the plan: outcome and indicators must be equal, and so must the outputs of
                          all steps and the scores of all samples, as exactly as the devices allow
    different plan        the planner is not deterministic, or the plan is forged: a single task is no evidence. A
                          deterministic planner must not return a different plan
    no plan, but scored   impossible without a plan

Over all tasks, the owner's scores must not be significantly better than the new ones: a planner that is not
deterministic is worse as often as better, while forged plans are chosen because they are better. One test covers both
the number of different plans and their direction: k plans that are all better have the p-value 2^-k. Repeating a plan
here is no evidence either way: on the owner's device an honest planner may settle on a different answer each time.

Two rules compare the samples of one plan (`Rule`):

    one device class      outputs and scores must be equal, since devices of one class compute equal bytes. Samples with
                          a step whose key differs are compared by the other rule: its batch was smaller, for lack of
                          memory
    different classes     the output of a step with equal inputs may differ by the tolerance that the profile declares
                          for its expert, and a score by `SAMPLE_TOLERANCE`. Only so many samples may differ more as
                          rounding explains
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from evaluator.core import canonical_json
from evaluator.core.canonical_json import JsonValue
from evaluator.core.records import ArtefactReference, Outcome, ResultRecord, StepRun
from evaluator.scoring.metrics.aggregate import indicators_of_samples
from evaluator.scoring.metrics.statistics import paired_permutation

SAMPLE_TOLERANCE = 0.02
"""Largest difference between the scores of one plan on one sample, measured on two classes of devices; scores are in
[-1, 1]."""
DIFFERING_SHARE = 0.01
"""Share of samples that may differ on another class of devices: rounding decides a word of a text or a level of a
picture that was a close call. `docs/install.md`, "When results are bit-equal", has the measurements."""
DIFFERING_LEVEL = 0.01
"""Significance level of the binomial test of that share."""
INDICATOR_TOLERANCE = 1e-6
"""Largest difference between indicators, which follow from the plan by rules, without a device."""
NOISE = 1e-3
"""Differences up to this count as zero in the test over all tasks: rounding may favour one side on every task."""
LEVEL = 1 / 16
"""Significance level of the test over all tasks: four different plans that are all better. An upper bound of the share
of honest planners that are rejected, since only the last sample can reject by this test."""
SUSPICION = 0.5
"""p-value up to which more tasks are run again before the test decides, such as that of one better plan. A sample too
small to reject anything must not protect forged results."""
_OF_FURTHER_PLANS = "SE_best"
"""The one indicator that depends on a planner's further plans."""
_MOST_NAMED = 5
_SLIGHT = 0.0005
"""Smaller differences are not given as a number."""
MOST_OUTPUTS = 400
"""Outputs that are read and compared because their digests differ: the first of each task. Two pictures take 10 ms."""

Differ = Callable[[ArtefactReference, ArtefactReference], float | None]
"""How much two outputs differ, in [0, 1]; None if their values are equal. Unreadable ones differ by 1."""


class Finding(StrEnum):
    """Result of comparing one task."""

    SAME = "same"
    OTHER_PLAN = "other_plan"
    """A different plan of a planner that is not deterministic: evidence only together with the other tasks."""
    OTHER_PLAN_OF_REPEATABLE = "other_plan_of_repeatable"
    NO_PLAN = "no_plan"
    OTHER_OUTCOME = "other_outcome"
    OTHER_SAMPLES = "other_samples"
    """Samples with other outputs or scores: contradicts on one class of devices, and on different ones if rounding does
    not explain their number over all tasks."""
    OTHER_SCORE = "other_score"
    """A different score although nothing was executed, so that rounding does not explain it."""
    INCONSISTENT = "inconsistent"
    """The score is not the mean of its samples, or their number is wrong."""
    OTHER_INDICATORS = "other_indicators"


_NEUTRAL = frozenset({Finding.SAME, Finding.OTHER_PLAN, Finding.OTHER_SAMPLES})
"""Findings that do not contradict the owner's result by themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One worker's result of one task."""

    task: str
    outcome: str
    score: float
    """The suite's primary metric, in [-1, 1]; 0 for a `planner_fault`."""
    samples: tuple[float, ...] = ()
    """Score of each sample; empty if nothing was executed."""
    plan: JsonValue = None
    """The parsed plan as `plan/1`."""
    indicators: Mapping[str, float] = field(default_factory=dict)
    """Indicators that follow from the plan."""
    by_sample: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Indicators that follow from the execution, for each sample."""
    steps: tuple[Mapping[str, StepRun], ...] = ()
    """Executed steps of each sample by their id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How the samples of one plan are compared."""

    one_class: bool = False
    """Whether both workers computed on the same class of devices with the same packages."""
    own: tuple[str, ...] = ()
    """Names of the owner's devices; empty if unknown."""
    again: tuple[str, ...] = ()
    """Those of the operator's."""
    tolerances: Mapping[str, float] = field(default_factory=dict)
    """By tool, what the profile declares for outputs on different classes. Outputs of other tools are not compared
    there, only the scores that follow from them."""
    differ: Differ = lambda _own, _again: 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDifference:
    """An output that differs by more than is allowed."""

    sample: int
    """Position of the sample, from 0."""
    step: str
    tool: str
    expert: str
    difference: float
    """In [0, 1]."""
    tolerance: float
    """0 on one class of devices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskComparison:
    """Comparison of one task."""

    task: str
    finding: Finding
    own_outcome: str
    own_score: float
    outcome: str
    score: float
    samples: int
    """Compared samples: of the same plan, executed on both sides."""
    differing: int
    """Number of them that differ."""
    exact: int = 0
    """Number of compared samples that must be equal."""
    exact_differing: int = 0
    """Number of these that differ."""
    step: StepDifference | None = None
    """The first differing step, in the order of the samples; None if only scores differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Comparison of all tasks of the sample."""

    tasks: tuple[TaskComparison, ...]
    p_value: float
    """Of the test over all tasks, in (0, 1]."""
    rule: Rule | None = None
    """None where nothing was executed."""

    @property
    def contradicting(self) -> tuple[TaskComparison, ...]:
        """The tasks that contradict the owner's results."""
        neutral = _NEUTRAL - {Finding.OTHER_SAMPLES} if self.too_many_differ else _NEUTRAL
        return tuple(task for task in self.tasks if task.finding not in neutral)

    @property
    def samples(self) -> int:
        """Number of compared samples."""
        return sum(task.samples for task in self.tasks)

    @property
    def differing(self) -> int:
        """Number of compared samples that differ."""
        return sum(task.differing for task in self.tasks)

    @property
    def too_many_differ(self) -> bool:
        """Whether more samples of the same plans differ than may: none on one class of devices, and as many as rounding
        explains on different ones."""
        exact = sum(task.exact for task in self.tasks)
        return any(task.exact_differing for task in self.tasks) or self.differing > most_differing(self.samples - exact)

    @property
    def better_than_chance(self) -> bool:
        """Whether the owner's scores are significantly better."""
        return self.p_value <= LEVEL

    @property
    def leans(self) -> bool:
        """Whether a larger sample has to decide: nothing contradicts the results, but the owner's scores are better."""
        return not self.contradicting and self.p_value <= SUSPICION

    @property
    def agrees(self) -> bool:
        """Whether the results may be ranked."""
        return not self.contradicting and not self.better_than_chance

    def as_json(self) -> dict[str, Any]:
        """The value of `Verification.comparison`."""
        contradicting = self.contradicting
        tasks = [{**asdict(task), "contradicts": task in contradicting} for task in self.tasks]
        rule = self.rule
        return {
            "tasks": tasks, "p_value": self.p_value,
            "rule": None if rule is None else {
                "one_class": rule.one_class, "own": list(rule.own), "again": list(rule.again),
            },
        }  # fmt: skip


def most_differing(samples: int) -> int:
    """Number of samples that may differ: the (1 - `DIFFERING_LEVEL`) quantile of the binomial distribution with
    probability `DIFFERING_SHARE`."""
    most, term = 0, (1 - DIFFERING_SHARE) ** samples
    reached = term
    while reached < 1 - DIFFERING_LEVEL:
        term *= (samples - most) / (most + 1) * DIFFERING_SHARE / (1 - DIFFERING_SHARE)
        most += 1
        reached += term
    return most


def measured(*, record: ResultRecord, ranked_by: str, optional: AbstractSet[str] = frozenset()) -> Measured:
    """The comparable part of a stored record.

    Args:
        record: of a task that was `scored` or ended as `planner_fault`.
        ranked_by: key of the suite's primary metric, which judged suites take from the indicators.
        optional: keys of optional columns, which are not compared: a rater is no rule, and none of them ranks.
    """
    scored = record.outcome is Outcome.SCORED
    by_sample = indicators_of_samples(record) if scored else {}
    left_out = {*by_sample, *optional}
    # A task at fault scores 0, whatever the scores of its samples.
    samples = record.samples if scored else []
    return Measured(
        task=record.task,
        outcome=record.outcome,
        score=float(record.indicators.get(ranked_by, record.score or 0.0)),
        samples=tuple(sample.score or 0.0 for sample in samples),
        plan=record.plan,
        indicators={name: value for name, value in record.indicators.items() if name not in left_out},
        by_sample=by_sample,
        steps=tuple({step.step: step for step in sample.steps} for sample in samples),
    )


def compare(
    *, own: Sequence[Measured], again: Sequence[Measured], repeatable: bool, rule: Rule | None = None
) -> Comparison:
    """Compare both results of each task of a sample.

    Args:
        own: results of the owner's worker.
        again: results of the operator's worker for the same tasks in the same order, without any `infra_fault`.
        repeatable: whether the planner is known to be deterministic.
        rule: how samples are compared; None where nothing was executed.

    Raises:
        ValueError: the tasks are not the same.
    """
    if [result.task for result in own] != [result.task for result in again]:
        raise ValueError("results of different tasks cannot be compared")
    outputs = max(MOST_OUTPUTS // max(len(own), 1), 1)
    tasks = tuple(
        _compare(mine=mine, theirs=theirs, repeatable=repeatable, rule=rule or Rule(), outputs=outputs)
        for mine, theirs in zip(own, again, strict=True)
    )
    p_value = paired_permutation([_difference(task) for task in tasks])
    return Comparison(tasks=tasks, p_value=p_value, rule=rule)


def _compare(*, mine: Measured, theirs: Measured, repeatable: bool, rule: Rule, outputs: int) -> TaskComparison:
    finding = _find(mine=mine, theirs=theirs, repeatable=repeatable)
    samples: list[_SampleComparison] = []
    if finding is Finding.SAME:
        samples = _samples(mine=mine, theirs=theirs, rule=rule, outputs=outputs)
    differing = [sample for sample in samples if sample.differs]
    return TaskComparison(
        task=mine.task,
        finding=Finding.OTHER_SAMPLES if differing else finding,
        own_outcome=mine.outcome,
        own_score=mine.score,
        outcome=theirs.outcome,
        score=theirs.score,
        samples=len(samples),
        differing=len(differing),
        exact=sum(sample.exact for sample in samples),
        exact_differing=sum(sample.exact for sample in differing),
        step=next((sample.step for sample in differing if sample.step is not None), None),
    )


def _find(*, mine: Measured, theirs: Measured, repeatable: bool) -> Finding:
    """What the two results show before their samples are compared."""
    if canonical_json.dumps(mine.plan) != canonical_json.dumps(theirs.plan):
        if mine.plan is None and mine.outcome == Outcome.SCORED:
            return Finding.NO_PLAN
        return Finding.OTHER_PLAN_OF_REPEATABLE if repeatable else Finding.OTHER_PLAN
    if mine.outcome != theirs.outcome:
        return Finding.OTHER_OUTCOME
    names = (set(mine.indicators) | set(theirs.indicators)) - {_OF_FURTHER_PLANS}
    if not names <= set(mine.indicators) & set(theirs.indicators) or not all(
        abs(mine.indicators[name] - theirs.indicators[name]) <= INDICATOR_TOLERANCE for name in names
    ):
        return Finding.OTHER_INDICATORS
    if len(mine.samples) != len(theirs.samples) or set(mine.by_sample) != set(theirs.by_sample):
        return Finding.INCONSISTENT
    if any(len(values) != len(mine.samples) for values in mine.by_sample.values()):
        # Samples without a score, which a self-hosted worker may send.
        return Finding.INCONSISTENT
    if not all(-1 <= score <= 1 for score in mine.samples):
        return Finding.INCONSISTENT
    if mine.samples and not abs(sum(mine.samples) / len(mine.samples) - mine.score) <= INDICATOR_TOLERANCE:
        return Finding.INCONSISTENT
    if not mine.samples and abs(mine.score - theirs.score) > INDICATOR_TOLERANCE:
        return Finding.OTHER_SCORE
    return Finding.SAME


@dataclass(frozen=True, slots=True)
class _SampleComparison:
    exact: bool
    """Whether both must be equal."""
    differs: bool
    step: StepDifference | None


def _samples(*, mine: Measured, theirs: Measured, rule: Rule, outputs: int) -> list[_SampleComparison]:
    """Compare the samples of one plan in order, reading at most this many pairs of outputs."""
    compared = []
    differ = _at_most(outputs, rule.differ)
    for number, (first, second) in enumerate(zip(_figures(mine), _figures(theirs), strict=True)):
        ran = mine.steps[number] if mine.steps else {}
        again = theirs.steps[number] if theirs.steps else {}
        same_inputs = [step for name, step in ran.items() if name in again and _inputs(step) == _inputs(again[name])]
        exact = rule.one_class and all(step.key == again[step.step].key for step in same_inputs)
        step = _differing_step(
            ran=ran, again=again, sample=number, tolerances=None if exact else rule.tolerances, differ=differ
        )
        tolerance = 0.0 if exact else SAMPLE_TOLERANCE
        scores = any(abs(left - right) > tolerance for left, right in zip(first, second, strict=True))
        compared.append(_SampleComparison(exact, scores or step is not None, step))
    return compared


def _at_most(most: int, differ: Differ) -> Differ:
    """`differ` for the first `most` pairs; further ones count as equal, so that only their scores are compared."""
    read = 0

    def limited(first: ArtefactReference, second: ArtefactReference) -> float | None:
        nonlocal read
        read += 1
        return differ(first, second) if read <= most else None

    return limited


def _differing_step(
    *,
    ran: Mapping[str, StepRun],
    again: Mapping[str, StepRun],
    sample: int,
    tolerances: Mapping[str, float] | None,
    differ: Differ,
) -> StepDifference | None:
    """The first step of a sample whose output differs by more than is allowed.

    Args:
        ran: steps on the owner's worker.
        again: steps on the operator's.
        sample: position of the sample.
        tolerances: by tool; None if all outputs must be equal.
        differ: compares two outputs.
    """
    for name, theirs in again.items():
        mine, tolerance = ran.get(name), 0.0 if tolerances is None else tolerances.get(theirs.tool)
        if mine is None or mine.outputs.keys() != theirs.outputs.keys():
            found, tolerance = 1.0, tolerance or 0.0
        elif tolerance is None or (tolerances is not None and _inputs(mine) != _inputs(theirs)):
            # What an expert makes of inputs that differ is not bounded.
            continue
        else:
            pairs = ((output, theirs.outputs[key]) for key, output in mine.outputs.items())
            sizes = [size for a, b in pairs if a.digest != b.digest and (size := differ(a, b)) is not None]
            found = max(sizes, default=-1.0)
            if not sizes or (tolerances is not None and found <= tolerance):
                continue
        return StepDifference(
            sample=sample, step=name, tool=theirs.tool, expert=theirs.expert, difference=found,
            tolerance=tolerance,
        )  # fmt: skip
    return None


def _inputs(step: StepRun) -> dict[str, str]:
    return {name: reference.digest for name, reference in step.inputs.items()}


def _figures(measured: Measured) -> list[tuple[float, ...]]:
    """Score and indicators of each sample."""
    return list(zip(measured.samples, *(measured.by_sample[name] for name in sorted(measured.by_sample)), strict=True))


def _difference(task: TaskComparison) -> float:
    difference = task.own_score - task.score
    return difference if abs(difference) > NOISE else 0.0


def sentence(comparison: Comparison) -> str:
    """The outcome as a public sentence."""
    total = len(comparison.tasks)
    if contradicting := comparison.contradicting:
        by_finding = {finding: [t.task for t in contradicting if t.finding is finding] for finding in Finding}
        named = "; ".join(f"{_names(tasks)} ({WORDS[finding]})" for finding, tasks in by_finding.items() if tasks)
        return (
            f"{len(contradicting)} of {total} tasks that were run again gave other results: {named}."
            f"{_differing_step_in_words(contradicting)}"
        )
    others = [task for task in comparison.tasks if task.finding is Finding.OTHER_PLAN]
    if comparison.better_than_chance:
        better = _names([task.task for task in comparison.tasks if _difference(task) > 0])
        return (
            f"the planner made a different plan in {len(others)} of {total} tasks that were run again, and the owner's "
            f"scores are better, in {better}, than chance explains (p = {comparison.p_value:.3f})."
        )
    same = f"the results agreed on {total - len(others)} of {total} tasks that were run again"
    if comparison.differing:
        same += f" ({comparison.differing} of {comparison.samples} samples differ, within rounding)"
    if not others:
        return f"{same}."
    return f"{same}; in {len(others)} the planner made another plan, and the scores differ no more than by chance."


def _differing_step_in_words(tasks: Sequence[TaskComparison]) -> str:
    """Which step of which task differs most, as a sentence; empty if only scores differ."""
    differing = [(task.step.difference, task.task, task.step) for task in tasks if task.step is not None]
    if not differing:
        return ""
    _, task, step = max(differing, key=lambda found: found[0])
    return f" In task {task}, {step_in_words(step)}."


def step_in_words(step: StepDifference) -> str:
    """Such as `step s1 (Image Denoising, lilliput/denoising) of sample 2 differs by 0.31, but must be equal`."""
    allowed = f"only {step.tolerance:.3g} is allowed" if step.tolerance else "must be equal"
    size = f"by {step.difference:.3g}" if step.difference >= _SLIGHT else "slightly"
    return f"step {step.step} ({step.tool}, {step.expert}) of sample {step.sample + 1} differs {size}, but {allowed}"


def rule_in_words(rule: Rule) -> str:
    """Which rule compared the samples, as a sentence."""
    if rule.one_class:
        return (
            f"Both ran on one class of devices ({_names(rule.own)}): outputs and scores of equal plans must be equal."
        )
    own, again = (_names(names) or "unknown devices" for names in (rule.own, rule.again))
    return (
        f"The owner's worker ran on {own}, this site's on {again}, which round differently: outputs may differ by the "
        f"tolerance of their expert, scores by {SAMPLE_TOLERANCE}, and one of a hundred samples by more."
    )


def leaning(comparison: Comparison) -> str:
    """Why a larger sample has to decide, as a sentence."""
    better = _names([task.task for task in comparison.tasks if _difference(task) > 0])
    return (
        f"nothing contradicts the owner's results in {len(comparison.tasks)} tasks that were run again, but their "
        f"scores are better in {better} (p = {comparison.p_value:.3f}): more tasks are run again."
    )


def _names(tasks: Sequence[str]) -> str:
    more = f" and {len(tasks) - _MOST_NAMED} more" if len(tasks) > _MOST_NAMED else ""
    return ", ".join(tasks[:_MOST_NAMED]) + more


WORDS: Mapping[Finding, str] = {
    Finding.SAME: "the same",
    Finding.OTHER_PLAN: "another plan",
    Finding.OTHER_PLAN_OF_REPEATABLE: "different plan from a deterministic planner",
    Finding.NO_PLAN: "scored without a plan",
    Finding.OTHER_OUTCOME: "the same plan ended differently",
    Finding.OTHER_SAMPLES: "the same plan scored differently",
    Finding.OTHER_SCORE: "the same plan scored differently",
    Finding.INCONSISTENT: "the score does not follow from its samples",
    Finding.OTHER_INDICATORS: "the same plan was judged differently",
}
