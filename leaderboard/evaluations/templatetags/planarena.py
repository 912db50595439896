"""Tags and filters for numbers, intervals and outcomes on all pages."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from django import template
from django.utils.html import format_html

from evaluator.core.records import PlannerCall
from evaluator.scoring.metrics import undecided
from evaluator.scoring.metrics.digits import rounded
from evaluator.scoring.metrics.statistics import TOO_FEW
from evaluator.scoring.metrics.undecided import range_in_words
from leaderboard.evaluations.results import figures
from leaderboard.evaluations.results.figures import OUTCOMES, exact_words, interval_ends, score
from leaderboard.evaluations.results.filters import in_words, written

register = template.Library()
register.filter("in_words", in_words)
register.filter("score", score)
register.filter("figure", figures.figure)

OUTCOME_MEANINGS = {
    "scored": "There is a plan, and it was scored.",
    "empty_plan": "The plan has no steps.",
    "planner_fault": "The plan or the endpoint's response is invalid: the task gets the worst value.",
    "infra_fault": "Not the planner's fault: no score until the owner resumes the task or accepts the fault.",
    "not_run": "The task did not run: it cannot be measured here, the planner was not asked, or the evaluation failed.",
    "cancelled": "The evaluation was cancelled before this task finished.",
    "pending": "The task has not finished yet.",
}
SCALE = 120
"""Width of an interval bar in its own units."""
_ENDS = '<span class="visually-hidden">{} </span>{} \N{EN DASH} {}'
_ENDS_LABELLED = "{} {} \N{EN DASH} {}"
_NO_ENDS = (
    '<span class="no-interval" title="{}"><span aria-hidden="true">{}</span>'
    '<span class="visually-hidden">{}</span></span>'
)
_ESTIMATE = (
    '<span class="estimate" title="{title}"><span aria-hidden="true"{shown_mark}><span class="value">{mean}</span>'
    '{margin}{note}</span><span class="visually-hidden"><span{exact_mark}>{exact}</span>{interval}</span>'
    "</span>{why_none}"
)
_MARGIN = ' <span class="margin">{}</span>'
_NOTE = ' <span class="margin note">{}</span>'
_BAND = '<rect class="range" x="{left}" y="2" width="{width}" height="8"/>'
_OPEN = '<rect class="open" x="{left}" y="4" width="{width}" height="4"/>'
_INTERVAL = (
    '<svg class="interval" viewBox="0 0 {scale} 12" preserveAspectRatio="none" aria-hidden="true" focusable="false">'
    '<line class="scale" x1="0" x2="{scale}" y1="6" y2="6"/>{band}{open}'
    '<rect class="mean" x="{mean}" y="0" width="2" height="12" transform="translate(-1)"/></svg>'
)


class Segment(NamedTuple):
    """A coloured part of a bar."""

    outcome: str
    x: str
    width: str


@register.filter
def undecided_words(value: Mapping[str, Any] | None) -> str:
    """The undecided share of a metric's value in words; empty if all is decided."""
    return undecided.undecided_words(value or {})


@register.filter
def decider_words(value: Mapping[str, Any] | None) -> str:
    """The shares of tasks by who decided them; empty if that is not recorded."""
    return undecided.decider_words(value or {})


@register.filter
def undecided_notes(value: Mapping[str, Any] | None) -> list[str]:
    """The same as a list of notes."""
    return undecided.undecided_notes(value or {})


@register.filter
def seconds(value: float | None) -> str:
    """A duration with its significant digits."""
    if value is None:
        return "—"
    if value < 0.0005:
        return "0 ms"
    if value < 1:
        return f"{value * 1000:.{0 if value >= 0.01 else 1}f} ms"
    return f"{value:.1f} s" if value < 120 else f"{value / 60:.0f} min"


@register.filter
def tokens(usage: PlannerCall | Mapping[str, float | None] | None) -> str:
    """The tokens of a call, or means per task; empty if none are reported."""
    # Templates pass an empty text for a task without a record.
    if not usage:
        return ""
    return figures.tokens_in_words(usage if isinstance(usage, Mapping) else usage.model_dump())


@register.filter
def short(digest: str) -> str:
    """The first twelve digits of a digest."""
    return digest[:12]


@register.filter
def outcome_label(outcome: str) -> str:
    """An outcome in words."""
    return OUTCOMES.get(outcome, outcome)


@register.filter
def outcome_meaning(outcome: str) -> str:
    """The meaning of an outcome, as a sentence."""
    return OUTCOME_MEANINGS.get(outcome, "")


@register.simple_tag(takes_context=True)
def filter_link(context: template.Context, name: str, value: str | None = None) -> str:
    """The page's query string with one filter set, or removed for None, without the page number."""
    query = context["request"].GET.lists()
    others = [(other, text) for other, texts in query for text in texts if other not in {"page", name}]
    return written([*others, *([] if value is None else [(name, value)])]) or "?"


@register.simple_tag
def interval(value: Mapping[str, Any], scale: tuple[float, float] = (0.0, 1.0)) -> str:
    """The 95 % interval of a metric as a bar on a scale, with the range of undecided tasks.

    Not an inclusion tag, which takes ten times as long: a page of a board has hundreds of intervals.
    """
    ends = interval_ends(value)
    band = ""
    if ends is not None:
        left, right = _place(ends[0], scale), _place(ends[1], scale)
        band = format_html(_BAND, left=left, width=f"{max(float(right) - float(left), 1):.1f}")
    open_part = ""
    if "upper" in value:
        left, right = _place(value["mean"], scale), _place(value["upper"], scale)
        open_part = format_html(_OPEN, left=left, width=f"{float(right) - float(left):.1f}")
    mean = _place(value["mean"], scale)
    return format_html(_INTERVAL, scale=SCALE, band=band, open=open_part, mean=mean)


@register.simple_tag
def estimate(value: Mapping[str, Any], cell: str = "") -> str:
    """A mean with as many digits as its 95 % interval allows, such as 0.87 ± 0.03; exact in its tooltip, and for screen
    readers.

    Args:
        cell: key of the column on a board, whose texts `planarena verify` reads.
    """
    shown, interval = rounded(value), figures.interval_words(value)
    comma = "," if shown.note else ""
    margin = f"({shown.interval})" if shown.ends else shown.interval
    return format_html(
        _ESTIMATE,
        title=exact_words(value),
        shown_mark=format_html(' data-cell="shown-{}"', cell) if cell else "",
        mean=shown.mean if margin else f"{shown.mean}{comma}",
        margin=format_html(_MARGIN, f"{margin}{comma}") if margin else "",
        note=format_html(_NOTE, shown.note) if shown.note else "",
        exact_mark=format_html(' data-cell="metric-{}"', cell) if cell else "",
        exact=range_in_words(value),
        interval=f"; {interval}" if interval else "",
        why_none="" if interval else format_html(f" {_NO_ENDS}", TOO_FEW, "—", TOO_FEW),
    )


@register.simple_tag
def interval_text(value: Mapping[str, Any], label: str = "") -> str:
    """The ends of a metric's 95 % interval; without one, a dash or "no" and the label, with the reason.

    Args:
        label: visible prefix; if empty, a label for screen readers only.
    """
    ends = interval_ends(value)
    if ends is not None:
        return format_html(_ENDS_LABELLED if label else _ENDS, label or "95 % interval", score(ends[0]), score(ends[1]))
    if value.get("mean") is not None:
        return format_html(_NO_ENDS, TOO_FEW, f"no {label}" if label else "—", TOO_FEW)
    return ""


@register.simple_tag
def interval_words(value: Mapping[str, Any] | None) -> str:
    """The interval as plain text to follow a metric's name."""
    words = figures.interval_words(value)
    return f", {words}" if words else ""


@register.inclusion_tag("components/stackbar.html")
def stackbar(outcomes: Mapping[str, int]) -> dict[str, Any]:
    """The outcomes of tasks as a stacked bar, without tasks that cannot run."""
    counted = {name: outcomes.get(name, 0) for name in OUTCOMES if name != "not_run"}
    total = sum(counted.values())
    segments, x = [], 0.0
    for name, count in counted.items():
        if count:
            width = SCALE * count / total
            segments.append(Segment(name, f"{x:.2f}", f"{width:.2f}"))
            x += width
    parts = [f"{count} {OUTCOMES[name].lower()}" for name, count in counted.items() if count]
    return {"segments": segments, "scale": SCALE, "words": ", ".join(parts)}


def _place(value: float, scale: tuple[float, float]) -> str:
    share = (value - scale[0]) / (scale[1] - scale[0])
    return f"{SCALE * min(max(share, 0.0), 1.0):.1f}"
