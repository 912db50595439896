"""What the page of a reliability profile shows, ready for its template; the table beside each plot has the same
figures.
"""

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
from leaderboard.reliability.members import Condition, name_of
from leaderboard.reliability.models import ReliabilityProfile

_SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)

Interval = Mapping[str, Any]
"""`{"mean", "low", "high", "count"}`; the ends are null over too few tasks."""


def interval_plot(
    *, key: str, title: str, x_label: str, values: Sequence[tuple[str, Interval]], reference: str = ""
) -> Picture | None:
    """Values with whiskers on a scale that holds 0 and 1; None without any.

    Args:
        key: names the picture on its page.
        title: of the picture.
        x_label: of the scale.
        values: label and value of each row.
        reference: what a value of 1 means; empty: no line is drawn there.
    """
    if not values:
        return None
    bands = [
        Band(label, (Value(one["mean"], one["low"], one["high"], f"{label}: {in_words(one)}"),))
        for label, one in values
    ]
    return dot_plot(
        key=key,
        title=title,
        description="One line for each value, with its 95 % interval. The table has the same figures.",
        bands=bands,
        scale=Scale(label=x_label, holds=(0.0, 1.0), baseline=(1.0, reference) if reference else None),
    )


def in_words(value: Interval) -> str:
    """A value with its interval, for people."""
    if value["low"] is None or value["high"] is None:
        return score(value["mean"])
    return f"{score(value['mean'])}, 95 % interval {score(value['low'])} to {score(value['high'])}"


def reliability_diagram(bins: Sequence[Mapping[str, Any]]) -> LinePlot:
    """Success by confidence: the nearer to the diagonal, the better a confidence tells success.

    Args:
        bins: at least one, each with answers, mean confidence and share of successes.
    """
    dots = [
        Dot(
            across(one["confidence"]),
            up(one["success"]),
            f"{one['answers']} answers, mean confidence {score(one['confidence'])}: {score(one['success'])} succeed",
        )
        for one in bins
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
        curve: coverage and risk of so many most confident answers, at least one.
    """
    whole = curve[-1][1]
    shown = [curve[round(number * (len(curve) - 1) / 10)] for number in range(11)] if len(curve) > 11 else curve
    return _square(
        key="coverage",
        title="Risk and coverage",
        description=f"Share of wrong answers among the most confident ones. All answers together: {score(whole)}, the "
        "dashed line, which a confidence that says nothing follows.",
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
        "It takes at least two runs on unchanged requests.",
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
        "Whether confidence tells success: 1 minus the Brier score.",
        "No answer came with a confidence.",
    ),
)
"""Key, label, meaning, and why there may be none."""
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
    """Perturbations that the suite or the planner cannot have, for one reason."""

    labels: str
    why: str


class Confidence(NamedTuple):
    """What the planner's confidence is worth."""

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
    """Data points that the runs are compared on; None where plans are judged."""
    left_out: int
    once: int
    """Tasks that ran only once: consistency leaves them out."""
    never_succeeds: bool
    success: str
    cards: tuple[Card, ...]
    consistency: tuple[tuple[str, Interval], ...]
    consistency_plot: Picture | None
    counts: tuple[tuple[int, int, float], ...]
    """Runs that succeed, tasks for which so many do, and their share of the longest bar."""
    unsteady: Sequence[str]
    ratios: tuple[RatioRow, ...]
    ratio_plot: Picture | None
    unavailable: tuple[UnavailableRow, ...]
    confidence: Confidence | None


def figures_of(profile: ReliabilityProfile, *, members: Sequence[MemberRow]) -> Figures | None:
    """The figures; None until they are computed by this release."""
    found: Mapping[str, Any] | None = profile.figures
    if found is None or found["version"] != VERSION:
        return None
    consistency = tuple(_consistency(found))
    ratios = tuple(_ratio(one, members=members) for one in found["robustness"])
    most = max(found["success_counts"], default=0) or 1
    return Figures(
        runs=found["runs"],
        tasks=found["tasks"],
        samples=found["samples"],
        left_out=found["left_out"],
        once=found["once"],
        never_succeeds=found["never_succeeds"],
        success=found["success"],
        cards=cards_of(found),
        consistency=consistency,
        consistency_plot=interval_plot(
            key="consistency", title="Consistency of the runs", x_label="Mean over tasks; 1 is best", values=consistency
        ),
        counts=tuple((runs, tasks, 120 * tasks / most) for runs, tasks in enumerate(found["success_counts"])),
        unsteady=found["unsteady"],
        ratios=ratios,
        ratio_plot=interval_plot(
            key="ratios",
            title="Score kept under each perturbation",
            x_label="Ratio to the score on unchanged requests",
            values=[(one.label, one.ratio) for one in ratios if one.ratio is not None],
            reference="nothing lost",
        ),
        unavailable=_unavailable(found["unavailable"]),
        confidence=_confidence(found["predictability"]),
    )


def cards_of(figures: Mapping[str, Any]) -> tuple[Card, ...]:
    """The four dimensions at a glance."""
    return tuple(
        Card(key, label, value, _never(meaning, key=key, figures=figures), why_none, _scale(value))
        for key, label, meaning, why_none in _DIMENSIONS
        for value in [figures["dimensions"].get(key)]
    )


def _never(meaning: str, *, key: str, figures: Mapping[str, Any]) -> str:
    """What a dimension means; of consistency also that all outcomes are failures, where they are."""
    return f"{meaning} {NEVER}" if key == "consistency" and figures["never_succeeds"] else meaning


NEVER = "No run succeeds on any task: outcomes are alike because all are failures."


def _scale(value: Interval | None) -> tuple[float, float]:
    known = [end for end in (value or {}).values() if isinstance(end, float)]
    return min([0.0, *known]), max([1.0, *known])


class ReliabilityPanel(NamedTuple):
    """What an evaluation's page says of its profile."""

    profile: ReliabilityProfile | None
    """None: its owner may ask for it."""
    cards: tuple[Card, ...]


def reliability_panel(evaluation: Evaluation, *, acts: bool) -> ReliabilityPanel | None:
    """The panel on an evaluation's page; None where there is nothing to show. Of an evaluation that was read with its
    profile, it asks the database for nothing.

    Args:
        evaluation: read with `reliability`.
        acts: whether the reader may ask for a profile.
    """
    profile: ReliabilityProfile | None = getattr(evaluation, "reliability", None)
    if profile is None:
        may_ask = acts and evaluation.state == EvaluationState.COMPLETED and evaluation.is_submitted
        return ReliabilityPanel(None, ()) if may_ask else None
    known = profile.figures is not None and profile.figures["version"] == VERSION
    return ReliabilityPanel(profile, cards_of(profile.figures) if known and profile.figures else ())


def members_of(evaluation: Evaluation) -> list[MemberRow]:
    """The runs of a profile besides its evaluation, of each condition the last one, in one query."""
    latest = {Condition(member.perturbation, member.repetition): member for member in evaluation.members}
    return [MemberRow(name_of(condition), member) for condition, member in latest.items()]


def gaps_of(profile: ReliabilityProfile) -> list[GapRow]:
    """The runs without figures."""
    return [GapRow(name_of(Condition(gap["perturbation"], gap["repetition"])), gap["why"]) for gap in profile.gaps]


def ended(members: Sequence[MemberRow]) -> int:
    """How many of these runs have ended."""
    return sum(row.evaluation.state in FINAL for row in members)


def _consistency(found: Mapping[str, Any]) -> list[tuple[str, Interval]]:
    rows = [(f"pass^{k}", one) for k, one in found["pass_hat"].items()]
    rows += [
        ("consistent outcomes", found["outcomes"]),
        ("equal plans", found["equal_plans"]),
        ("equal edges of plans", found["equal_edges"]),
    ]
    rows += [(_RESOURCES.get(name, name), one) for name, one in found["resources"].items()]
    return [(label, one) for label, one in rows if one is not None]


def _ratio(found: Mapping[str, Any], *, members: Sequence[MemberRow]) -> RatioRow:
    own = [row.evaluation.pk for row in members if row.evaluation.perturbation == found["name"]]
    return RatioRow(
        label=found["label"], description=found["description"], tasks=found["tasks"], left_out=found["left_out"],
        ratio=found["ratio"], worst=tuple(found["worst"]), member=own[-1] if own else None,
    )  # fmt: skip


def _unavailable(found: Sequence[Mapping[str, str]]) -> tuple[UnavailableRow, ...]:
    labels: dict[str, list[str]] = {}
    for one in found:
        labels.setdefault(one["why"], []).append(one["label"])
    return tuple(UnavailableRow(", ".join(own), why) for why, own in labels.items())


def _confidence(found: Mapping[str, Any] | None) -> Confidence | None:
    if found is None:
        return None
    plain = (
        ("AUROC", found["auroc"], "chance that a right answer has a higher confidence than a wrong one"),
        (
            "selective gain",
            found["selective_gain"],
            "1 if all wrong answers are the least confident ones, 0 if by chance",
        ),
    )
    bare = [(name, value, text) for name, value, text in plain if value is not None]
    floor = f"a perfectly calibrated planner has {found['calibration_floor']:.3f} by chance"
    return Confidence(
        answers=found["answers"],
        rows=(
            ("Brier score", found["brier"], "mean squared distance of confidence and success; 0 is best"),
            (
                "calibration error",
                found["calibration_error"],
                f"mean distance of confidence and success over ten bins; 0 is best, and {floor}",
            ),
            *bare,
        ),
        diagram=reliability_diagram(found["bins"]),
        bins=found["bins"],
        coverage=risk_coverage(found["curve"]),
        curve=_tenths(found["curve"]),
        overconfident=found["overconfident"],
    )


def _tenths(curve: Sequence[Sequence[float]]) -> Sequence[Sequence[float]]:
    """At most ten points of a curve, the last one among them."""
    count = min(10, len(curve))
    return [curve[round((number + 1) * len(curve) / count) - 1] for number in range(count)]
