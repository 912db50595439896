"""Citations of an evaluation. Pure: everything comes in, texts go out."""

from typing import NamedTuple

from evaluator.scoring.metrics.undecided import ranged, undecided_words
from leaderboard.boards.exports import bibtex_entry, bibtex_text, published_in
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.results.figures import figure, interval_words
from leaderboard.evaluations.web.sharing.placing import Place


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
