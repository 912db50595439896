"""Context of the page of a reliability profile. The table beside each plot has the same figures."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from evaluator.reliability.profile import VERSION
from leaderboard.boards.drawing.dot_plot import Band, Scale, Value, dot_plot
from leaderboard.boards.drawing.picture import Picture
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.evaluations.results.figures import score
from leaderboard.evaluations.states import FINAL
from leaderboard.evaluations.web.line_plot import Dot, LinePlot, Tick, across, up
from leaderboard.reliability.columns import FLOORS
from leaderboard.reliability.models import Condition, ReliabilityProfile, name_of

_SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)

Interval = Mapping[str, Any]
"""`{"mean", "low", "high", "count"}`; the ends are null for too few tasks."""


def interval_plot(
    *, key: str, title: str, x_label: str, values: Sequence[tuple[str, Interval]], reference: str = ""
) -> Picture | None:
    """A plot of values with whiskers on a scale that includes 0 and 1; None without values.

    Args:
        key: id of the picture on its page.
        title: of the picture.
        x_label: of the scale.
        values: label and value of each row.
        reference: meaning of a value of 1, marked by a line unless it is empty.
    """
    if not values:
        return None
    bands = [
        Band(label, (Value(value["mean"], value["low"], value["high"], f"{label}: {in_words(value)}"),))
        for label, value in values
    ]
    return dot_plot(
        key=key,
        title=title,
        description="One line for each value, with its 95 % interval. The table has the same figures.",
        bands=bands,
        scale=Scale(label=x_label, holds=(0.0, 1.0), baseline=(1.0, reference) if reference else None),
    )


def in_words(value: Interval) -> str:
    """A value with its interval in words."""
    if value["low"] is None or value["high"] is None:
        return score(value["mean"])
    return f"{score(value['mean'])}, 95 % interval {score(value['low'])} to {score(value['high'])}"


def reliability_diagram(bins: Sequence[Mapping[str, Any]]) -> LinePlot:
    """Success by confidence: the closer to the diagonal, the better calibrated.

    Args:
        bins: at least one, each with answers, mean confidence and share of successes.
    """
    dots = [
        Dot(
            across(each["confidence"]),
            up(each["success"]),
            f"{each['answers']} answers, mean confidence {score(each['confidence'])}: {score(each['success'])} succeed",
        )
        for each in bins
    ]
    return _square(
        key="diagram",
        title="Reliability diagram",
        description="Share of answers that succeed, by confidence in ten bins. On the dashed line both are equal; "
        "below it the planner is overconfident.",
        labels=("Mean confidence", "Share that succeeds"),
        dots=dots,
        reference=f"M{across(0)} {up(0)}L{across(1)} {up(1)}",
        reference_words="perfectly calibrated",
    )


def risk_coverage(curve: Sequence[Sequence[float]]) -> LinePlot:
    """The share of wrong answers among the most confident ones.

    Args:
        curve: coverage and risk for increasing numbers of the most confident answers; at least one point.
    """
    whole = curve[-1][1]
    shown = [curve[round(number * (len(curve) - 1) / 10)] for number in range(11)] if len(curve) > 11 else curve
    return _square(
        key="coverage",
        title="Risk and coverage",
        description=f"Share of wrong answers among the most confident ones. The dashed line is the share among all "
        f"answers, {score(whole)}, which an uninformative confidence would give.",
        labels=("Coverage: share of answers, the most confident first", "Risk: share that is wrong"),
        dots=[
            Dot(across(coverage), up(risk), f"The most confident {coverage:.0%}: {score(risk)} are wrong")
            for coverage, risk in shown
        ],
        line="M" + "L".join(f"{across(coverage)} {up(risk)}" for coverage, risk in curve),
        reference=f"M{across(0)} {up(whole)}L{across(1)} {up(whole)}",
        reference_words="all answers",
    )


def _square(
    *,
    key: str,
    title: str,
    description: str,
    labels: tuple[str, str],
    dots: Sequence[Dot],
    reference: str,
    reference_words: str,
    line: str = "",
) -> LinePlot:
    path = line or "M" + "L".join(f"{dot.x} {dot.y}" for dot in dots)
    return LinePlot(
        key=key, title=title, description=description, x_label=labels[0], y_label=labels[1],
        x_ticks=tuple(Tick(across(value), f"{value:g}") for value in _SHARES),
        y_ticks=tuple(Tick(up(value), f"{value:g}") for value in _SHARES),
        line=path, reference=reference, reference_words=reference_words, dots=tuple(dots),
    )  # fmt: skip


_DIMENSIONS: Sequence[tuple[str, str, str, str]] = (
    ("success", "Success", "Mean success rate of a task over the runs.", "No task has a value in every run."),
    (
        "consistency",
        "Consistency",
        "Whether runs of the same request end alike: 1 if all do, 0 if half of them succeed.",
        "It needs at least two runs on unchanged requests.",
    ),
    (
        "robustness",
        "Robustness",
        "Score on perturbed requests over the score on unchanged ones: 1 if nothing is lost.",
        "No perturbed run was measured, or the plain score is 0.",
    ),
    (
        "predictability",
        "Predictability",
        "Whether confidence predicts success: 1 minus the Brier score.",
        "No answer came with a confidence.",
    ),
)
"""Key, label, meaning, and why it may be missing."""
_RESOURCES = {"steps": "consistency of steps", "tokens": "consistency of tokens", "seconds": "consistency of seconds"}


class Card(NamedTuple):
    """One of the four dimensions."""

    key: str
    label: str
    value: Interval | None
    meaning: str
    why_none: str
    scale: tuple[float, float]
    """Ends of its bar."""


class RatioRow(NamedTuple):
    """A perturbation."""

    label: str
    description: str
    tasks: int
    left_out: int
    ratio: Interval | None
    worst: tuple[str, ...]
    member: UUID | None
    """The evaluation that ran it."""


class MemberRow(NamedTuple):
    """A run of the profile."""

    label: str
    evaluation: Evaluation


class GapRow(NamedTuple):
    """A run without figures."""

    label: str
    why: str


class UnavailableRow(NamedTuple):
    """Perturbations that do not apply to the suite or the planner, for one reason."""

    labels: str
    why: str


class Confidence(NamedTuple):
    """The quality of the planner's confidence."""

    answers: int
    rows: tuple[tuple[str, Interval, str], ...]
    """Label, value and meaning."""
    diagram: LinePlot
    bins: Sequence[Mapping[str, Any]]
    coverage: LinePlot
    curve: Sequence[Sequence[float]]
    overconfident: Sequence[str]


class Figures(NamedTuple):
    """The figures of a measured profile."""

    runs: int
    tasks: int
    samples: int | None
    """Number of data points on which the runs are compared; None if plans are judged."""
    left_out: int
    once: int
    """Tasks that ran only once; consistency leaves them out."""
    never_succeeds: bool
    success: str
    cards: tuple[Card, ...]
    consistency: tuple[tuple[str, Interval], ...]
    consistency_plot: Picture | None
    counts: tuple[tuple[int, int, float], ...]
    """Number of successful runs, number of tasks with it, and width of the bar."""
    unsteady: Sequence[str]
    ratios: tuple[RatioRow, ...]
    ratio_plot: Picture | None
    unavailable: tuple[UnavailableRow, ...]
    confidence: Confidence | None


def figures_of(profile: ReliabilityProfile, *, members: Sequence[MemberRow]) -> Figures | None:
    """The figures; None until this release has computed them."""
    figures: Mapping[str, Any] | None = profile.figures
    if figures is None or figures["version"] != VERSION:
        return None
    measures = [
        *((f"pass^{k}", value) for k, value in figures["pass_hat"].items()),
        ("consistent outcomes", figures["outcomes"]),
        ("equal plans", figures["equal_plans"]),
        ("equal edges of plans", figures["equal_edges"]),
        *((_RESOURCES.get(name, name), value) for name, value in figures["resources"].items()),
    ]
    consistency = tuple((label, value) for label, value in measures if value is not None)
    members_by_perturbation = {row.evaluation.perturbation: row.evaluation.pk for row in members}
    ratios = tuple(
        RatioRow(
            label=ratio["label"], description=ratio["description"], tasks=ratio["tasks"], left_out=ratio["left_out"],
            ratio=ratio["ratio"], worst=tuple(ratio["worst"]), member=members_by_perturbation.get(ratio["name"]),
        )
        for ratio in figures["robustness"]
    )  # fmt: skip
    labels: dict[str, list[str]] = {}
    for perturbation in figures["unavailable"]:
        labels.setdefault(perturbation["why"], []).append(perturbation["label"])
    most = max(figures["success_counts"], default=0) or 1
    return Figures(
        runs=figures["runs"],
        tasks=figures["tasks"],
        samples=figures["samples"],
        left_out=figures["left_out"],
        once=figures["once"],
        never_succeeds=figures["never_succeeds"],
        success=figures["success"],
        cards=cards_of(figures),
        consistency=consistency,
        consistency_plot=interval_plot(
            key="consistency", title="Consistency of the runs", x_label="Mean over tasks; 1 is best", values=consistency
        ),
        counts=tuple((runs, tasks, 120 * tasks / most) for runs, tasks in enumerate(figures["success_counts"])),
        unsteady=figures["unsteady"],
        ratios=ratios,
        ratio_plot=interval_plot(
            key="ratios",
            title="Score kept under each perturbation",
            x_label="Ratio to the score on unchanged requests",
            values=[(row.label, row.ratio) for row in ratios if row.ratio is not None],
            reference="nothing lost",
        ),
        unavailable=tuple(UnavailableRow(", ".join(group), why) for why, group in labels.items()),
        confidence=_confidence(figures["predictability"]),
    )


NEVER = "No run succeeds on any task: outcomes are alike because all are failures."


def cards_of(figures: Mapping[str, Any]) -> tuple[Card, ...]:
    """The four dimensions at a glance."""
    cards = []
    for key, label, meaning, why_none in _DIMENSIONS:
        value: Interval | None = figures["dimensions"].get(key)
        if key == "consistency" and figures["never_succeeds"]:
            meaning = f"{meaning} {NEVER}"
        floor: float | None = (figures["dimensions"].get(key) or {}).get("floor")
        if floor is not None:
            meaning = f"{meaning} Without any {FLOORS[key]} it would be {floor:.3f}."
        ends = [end for end in (value or {}).values() if isinstance(end, float)]
        cards.append(Card(key, label, value, meaning, why_none, (min([0.0, *ends]), max([1.0, *ends]))))
    return tuple(cards)


class ReliabilityPanel(NamedTuple):
    """The panel about the profile on an evaluation's page."""

    profile: ReliabilityProfile | None
    """None: its owner may request it."""
    cards: tuple[Card, ...]


def reliability_panel(evaluation: Evaluation, *, acts: bool) -> ReliabilityPanel | None:
    """The panel on an evaluation's page; None if there is nothing to show. Needs no queries.

    Args:
        evaluation: read with `reliability`.
        acts: whether the reader may request a profile.
    """
    profile: ReliabilityProfile | None = getattr(evaluation, "reliability", None)
    if profile is None:
        may_ask = acts and evaluation.state == EvaluationState.COMPLETED and evaluation.is_submitted
        return ReliabilityPanel(None, ()) if may_ask else None
    known = profile.figures is not None and profile.figures["version"] == VERSION
    return ReliabilityPanel(profile, cards_of(profile.figures) if known and profile.figures else ())


def members_of(evaluation: Evaluation) -> list[MemberRow]:
    """The members of a profile, the last one of each condition, in one query."""
    latest = {Condition(member.perturbation, member.repetition): member for member in evaluation.members}
    return [MemberRow(name_of(condition), member) for condition, member in latest.items()]


def gaps_of(profile: ReliabilityProfile) -> list[GapRow]:
    """The runs without figures."""
    return [GapRow(name_of(Condition(gap["perturbation"], gap["repetition"])), gap["why"]) for gap in profile.gaps]


def ended(members: Sequence[MemberRow]) -> int:
    """The number of these runs that have ended."""
    return sum(row.evaluation.state in FINAL for row in members)


def _confidence(figures: Mapping[str, Any] | None) -> Confidence | None:
    if figures is None:
        return None
    floor = f"a perfectly calibrated planner has {figures['calibration_floor']:.3f} by chance"
    rows = (
        ("Brier score", "brier", "mean squared difference between confidence and success; 0 is best"),
        (
            "calibration error",
            "calibration_error",
            f"mean difference between confidence and success over ten bins; 0 is best, and {floor}",
        ),
        ("AUROC", "auroc", "chance that a right answer has a higher confidence than a wrong one"),
        ("selective gain", "selective_gain", "1 if all wrong answers are the least confident ones, 0 if by chance"),
    )
    # At most ten points of the curve, including the last one.
    curve = figures["curve"]
    count = min(10, len(curve))
    return Confidence(
        answers=figures["answers"],
        rows=tuple((label, figures[key], text) for label, key, text in rows if figures[key] is not None),
        diagram=reliability_diagram(figures["bins"]),
        bins=figures["bins"],
        coverage=risk_coverage(curve),
        curve=[curve[round((number + 1) * len(curve) / count) - 1] for number in range(count)],
        overconfident=figures["overconfident"],
    )
