"""The page of a pair, and the table of votes."""

from typing import NamedTuple
from uuid import UUID

from evaluator.core.records import ArtefactReference
from evaluator.core.suites.registry import suite_of
from evaluator.core.tools.types import Catalogue
from evaluator.scoring.metrics.statistics import Interval
from evaluator.workbench.tree import ENDINGS
from leaderboard.evaluations.results.objects import object_url, server_store
from leaderboard.evaluations.web.tasks.artefacts_shown import Reading, Shown
from leaderboard.evaluations.web.tasks.plan_graph import Graph, Marks, draw
from leaderboard.votes.blind import BlindSide
from leaderboard.votes.bradley_terry import Group, RatedPlanner
from leaderboard.votes.models import Choice, Pair, Vote
from leaderboard.votes.screening import IN_WORDS, Exclusion
from leaderboard.votes.services import sides_of, why_not_votable
from leaderboard.votes.standings import Standings
from leaderboard.workbench.models import Run, RunState
from leaderboard.workbench.web.presenters import OUTCOMES


class SidePage(NamedTuple):
    """One side of a pair."""

    letter: str
    state: str
    """As a few words."""
    outcome: str
    text: str
    answers: tuple[Shown, ...]
    graph: Graph | None
    name: str
    """Empty: not to be known yet."""
    run: UUID | None
    """For a link once the name is known."""


class PairPage(NamedTuple):
    """Context of the page."""

    pair: Pair
    text: str
    """The request; empty once it was deleted."""
    sides: tuple[SidePage, ...]
    has_ended: bool
    why_not: str
    """Why it cannot be voted on yet; empty if it can."""
    vote: Vote | None
    is_named: bool


class BallotQuestion(NamedTuple):
    """A question of the form."""

    key: str
    words: str
    choices: tuple[tuple[str, str, bool], ...]
    """Value, label, and whether it is chosen."""


def pair_page(pair: Pair) -> PairPage:
    """The page of a pair as it is now, the same for all readers."""
    sides = sides_of(pair) or ()
    is_named = pair.named_at is not None
    runs = (pair.run_a, pair.run_b)
    shown = tuple(
        _side(letter, side=side, run=run, name=contestant.name if is_named else "", pair=pair)
        for letter, side, run, contestant in zip("AB", sides, runs, (pair.a, pair.b), strict=False)
        if run is not None
    )
    return PairPage(
        pair=pair,
        text="" if pair.run_a is None else pair.run_a.text,
        sides=shown,
        has_ended=all(run is None or run.has_ended for run in runs),
        why_not=why_not_votable(pair),
        vote=pair.votes.first(),
        is_named=is_named,
    )


def questions_of(vote: Vote | None) -> tuple[BallotQuestion, ...]:
    """The questions of the form, with the answers of a vote."""
    texts = (("response", "Which response is better?"), ("plan", "Which plan is better?"))
    return tuple(
        BallotQuestion(
            key,
            words,
            (
                *((value, label, vote is not None and getattr(vote, key) == value) for value, label in Choice.choices),
                ("", "No opinion", vote is None or getattr(vote, key) == ""),
            ),
        )
        for key, words in texts
    )


def _side(letter: str, *, side: BlindSide, run: Run, name: str, pair: Pair) -> SidePage:
    reading = Reading(store=server_store(split=""), url_of=lambda digest: object_url(digest=digest, split=""))
    states = {str(step["step"]): str(step["state"]) for step in side.steps}
    problems: dict[str | None, str] = {step: state for step, state in states.items() if state != "done"}
    graph = (
        draw(plan=side.plan, catalogue=_catalogue(pair.suite), resources=side.inputs, marks=Marks(problems=problems))
        if side.plan
        else None
    )
    return SidePage(
        letter=letter,
        state=ENDINGS[side.ending] if side.ending else str(RunState(run.state).label),
        outcome=OUTCOMES[side.ending] if side.ending else "cancelled" if run.has_ended else "waiting",
        text=side.text,
        answers=tuple(
            reading.show(
                name=f"result {number}", reference=ArtefactReference(**answer), alt=f"Result {number} of {letter}"
            )
            for number, answer in enumerate(side.answers, start=1)
        ),
        graph=graph if graph is not None and graph.nodes else None,
        name=name,
        run=run.pk if name else None,
    )


def _catalogue(suite: str) -> Catalogue | None:
    try:
        return suite_of(suite).catalogue
    except LookupError:
        return None


class RatedRow(NamedTuple):
    """A row of the table."""

    planner: str
    ranks: str
    share: str
    interval: str
    """Empty for too few voters."""
    votes: int
    voters: int


class TablePage(NamedTuple):
    """The table."""

    groups: tuple[tuple[RatedRow, ...], ...]
    votes: int
    voters: int
    excluded: tuple[tuple[int, str], ...]
    """Number of votes and reason, the most first."""
    agreement: str
    """As a sentence; empty without votes on measured planners."""


def table_page(standings: Standings) -> TablePage:
    """The table of a suite and question."""
    excluded = sorted(standings.excluded.items(), key=lambda item: (-item[1], item[0]))
    return TablePage(
        groups=tuple(_rows(group, standings=standings) for group in standings.groups),
        votes=len(standings.comparisons),
        voters=standings.voters,
        excluded=tuple((count, IN_WORDS[Exclusion(reason)]) for reason, count in excluded),
        agreement=_agreement(standings.agreement, votes=standings.agreement_votes),
    )


def _rows(group: Group, *, standings: Standings) -> tuple[RatedRow, ...]:
    return tuple(
        RatedRow(
            standings.names[row.planner], _ranks(row), _percent(row.share.mean), _ends(row.share), row.votes, row.voters
        )
        for row in group
    )


def _ranks(row: RatedPlanner) -> str:
    if row.ranks is None:
        return "—"
    low, high = row.ranks.low, row.ranks.high
    return str(low) if low == high else f"{low} to {high}"


def _ends(share: Interval) -> str:
    return "" if share.ends is None else f"{_percent(share.ends[0])} to {_percent(share.ends[1])}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _agreement(share: Interval | None, *, votes: int) -> str:
    if share is None:
        return ""
    return (
        f"The planner with the better measured score won {_percent(share.mean)} of {votes:,} decided "
        f"vote{'' if votes == 1 else 's'} of {share.count:,} {'person' if share.count == 1 else 'people'} "
        f"(95 % interval {_ends(share)})."
    )
