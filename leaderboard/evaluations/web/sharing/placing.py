"""The place of an evaluation on its board, its citation, and its badge for a README as SVG."""

from typing import NamedTuple
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.html import escape

from evaluator.scoring.metrics.undecided import ranged, undecided_words
from leaderboard.boards.contents import content_of
from leaderboard.boards.exports import bibtex_entry, bibtex_text, published_in
from leaderboard.boards.models import Snapshot
from leaderboard.boards.selecting import PER_PAGE
from leaderboard.boards.services import latest_snapshot
from leaderboard.evaluations.models import Evaluation, EvaluationState, conditions_of_board
from leaderboard.evaluations.results.figures import figure, interval_words
from leaderboard.evaluations.visibility import is_public


class Place(NamedTuple):
    """Where an evaluation is on the newest snapshot of its board."""

    rank: int | None
    """None without a value for the metric that the board is ranked by."""
    rank_low: int | None
    rank_high: int | None
    planners: int
    snapshot: Snapshot
    address: str
    """Of its row, without the host."""

    @property
    def is_open(self) -> bool:
        """Whether paired tests leave more than one rank open."""
        return self.rank_low is not None and self.rank_low != self.rank_high


def place_on_board(evaluation: Evaluation) -> Place | None:
    """The row that shows this evaluation on the newest snapshot, in at most two queries; None if there is none."""
    snapshot = snapshot_of(evaluation)
    return None if snapshot is None else place_in(snapshot=snapshot, evaluation=evaluation)


def snapshot_of(evaluation: Evaluation) -> Snapshot | None:
    """The newest snapshot of an evaluation's board, whether or not it shows the evaluation."""
    return latest_snapshot(suite=evaluation.suite, conditions=conditions_of_board(evaluation))


def place_in(*, snapshot: Snapshot, evaluation: Evaluation) -> Place | None:
    """The row of a snapshot that shows this evaluation; None if it is not public or no row does, as where a later run
    of the planner took its place."""
    if evaluation.state != EvaluationState.COMPLETED or evaluation.hidden_at or not is_public(evaluation.submission):
        return None
    rows = content_of(snapshot).rows
    own = str(evaluation.pk)
    found = next((number for number, row in enumerate(rows) if row["evaluation"] == own), None)
    if found is None:
        return None
    row = rows[found]
    page = found // PER_PAGE + 1
    query = f"?{urlencode({'page': page})}" if page > 1 else ""
    board = reverse("boards:snapshot", kwargs={"suite": evaluation.suite.slug, "number": snapshot.number})
    address = f"{board}{query}#row-{own}"
    return Place(row["rank"], row["rank_low"], row["rank_high"], len(rows), snapshot, address)


class Citation(NamedTuple):
    """How to cite an evaluation."""

    bibtex: str
    text: str


def citation(*, evaluation: Evaluation, place: Place | None, address: str) -> Citation:
    """A citation of an evaluation that has ended, as BibTeX and as a sentence.

    Args:
        evaluation: with its submission, planner, owner, team and suite.
        place: on its board; None where it has none.
        address: absolute, of its page.
    """
    submission, suite = evaluation.submission, evaluation.suite
    planner, finished = submission.planner, evaluation.finished or evaluation.created
    author = submission.team.name if submission.team else planner.owner.username
    title = f"{planner.name} on {suite.title}, evaluated by PlanArena"
    found = ", ".join([score_words(evaluation), *([rank_words(place)] if place else [])])
    conditions = f"Suite {suite.slug} {suite.version}, profile {evaluation.profile}, split {evaluation.split}"
    if place:
        conditions += f"; snapshot {place.snapshot.number}, SHA-256 {place.snapshot.digest}"
    bibtex = bibtex_entry(
        key=f"planarena-{suite.slug}-{str(evaluation.pk)[:8]}",
        fields={
            "title": title,
            "author": f"{{{bibtex_text(author)}}}",
            **published_in(finished),
            "url": address,
            "note": f"{found}. {conditions}",
        },
    )
    return Citation(bibtex.strip(), f"{author} ({finished:%Y}). {title}. {found}. {conditions}. {address}")


def score_words(evaluation: Evaluation) -> str:
    """The score that boards rank by, such as `Overall 0.712 (95 % interval 0.680 to 0.744)`."""
    column = evaluation.suite.ranking_column
    value = ranged(metrics=(evaluation.summary or {}).get("metrics") or {}, column=column)
    if not value:
        return f"no value for {column.label}"
    notes = ", ".join(words for words in (undecided_words(value), interval_words(value)) if words)
    return f"{column.label} {figure(value)}" + (f" ({notes})" if notes else "")


def short_score(evaluation: Evaluation) -> str:
    """The same without its interval; the state of an evaluation without a summary."""
    if not evaluation.summary:
        return evaluation.get_state_display().lower()
    column = evaluation.suite.ranking_column
    value = ranged(metrics=evaluation.summary.get("metrics") or {}, column=column)
    return f"{column.label} {figure(value)}" if value else f"no value for {column.label}"


def rank_words(place: Place) -> str:
    """Such as `rank 3 of 33`."""
    return f"rank {place.rank} of {place.planners}" if place.rank is not None else f"unranked among {place.planners}"


LABEL = "PlanArena"
_HEIGHT = 20
_SIDE = 7
"""Space beside a text."""
_CHARACTER = 6.6
"""Mean width of a character at 11 px; `textLength` makes the text exactly as wide as its place."""
_NARROW = frozenset("ijltfr.,:;'|!() ")
_LONGEST = 80
_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" role="img" aria-label="{title}">'
    "<title>{title}</title>"
    '<clipPath id="r"><rect width="{width}" height="{height}" rx="3"/></clipPath>'
    '<g clip-path="url(#r)"><rect width="{left}" height="{height}" fill="#2d3633"/>'
    '<rect x="{left}" width="{right}" height="{height}" fill="#0b5f54"/></g>'
    '<g fill="#ffffff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
    '<text x="{label_x}" y="14" textLength="{label_width}">{label}</text>'
    '<text x="{message_x}" y="14" textLength="{message_width}">{message}</text></g></svg>\n'
)


class Badge(NamedTuple):
    """A picture of one line."""

    svg: str
    width: int
    """In pixels; it is 20 high."""


def badge_of(*, message: str, label: str = LABEL) -> Badge:
    """A badge with a label on the left and a message on the right; texts are cut at 80 characters and escaped."""
    label, message = _shortened(label), _shortened(message)
    label_width, message_width = _width(label), _width(message)
    left, right = label_width + 2 * _SIDE, message_width + 2 * _SIDE
    svg = _SVG.format(
        width=left + right,
        height=_HEIGHT,
        left=left,
        right=right,
        label=escape(label),
        message=escape(message),
        label_x=_SIDE,
        message_x=left + _SIDE,
        label_width=label_width,
        message_width=message_width,
        title=escape(f"{label}: {message}"),
    )
    return Badge(svg, left + right)


def _shortened(text: str) -> str:
    # XML has no control characters.
    text = "".join(character for character in text if character.isprintable())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _width(text: str) -> int:
    return round(sum(3.9 if character in _NARROW else _CHARACTER for character in text)) or 1
