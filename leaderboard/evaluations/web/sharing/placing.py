"""The published rank of an evaluation."""

from typing import NamedTuple
from urllib.parse import urlencode

from django.urls import reverse

from leaderboard.boards.contents import content_of
from leaderboard.boards.models import Snapshot
from leaderboard.boards.selecting import PER_PAGE
from leaderboard.boards.services import latest_snapshot
from leaderboard.evaluations.board_of import conditions_of_board
from leaderboard.evaluations.models import Evaluation, EvaluationState
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
