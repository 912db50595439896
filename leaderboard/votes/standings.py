"""The table of votes: strengths by the votes that count, and their agreement with a board."""

import hmac
import json
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.db.models import Count, Max, Q, QuerySet
from django.utils import timezone

from evaluator.scoring.metrics.statistics import Interval
from leaderboard.boards.contents import content_of
from leaderboard.boards.services import latest_snapshot
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation, Submission
from leaderboard.evaluations.visibility import on_boards
from leaderboard.platform.lru_cache import SharedCache
from leaderboard.votes.agreement import agreement_of
from leaderboard.votes.bradley_terry import Comparison, Group, rate
from leaderboard.votes.models import Choice, Contestant, Vote
from leaderboard.votes.screening import Ballot, Exclusion, comparisons_of, screened

_WON: Mapping[str, float] = {Choice.A: 1.0, Choice.B: 0.0, Choice.EQUAL: 0.5, Choice.BOTH_BAD: 0.5}


class Question(StrEnum):
    """What a vote is on."""

    RESPONSE = "response"
    PLAN = "plan"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standings:
    """The table of one suite and question."""

    groups: Sequence[Group]
    names: Mapping[str, str]
    """By planner of the groups."""
    comparisons: Sequence[Comparison]
    """The votes that count."""
    excluded: Mapping[Exclusion, int]
    """Number of votes that do not count, by reason."""
    agreement: Interval | None
    """Share of decided votes that the planner with the better score on the board won; `count` is that of voters."""
    agreement_votes: int

    @property
    def voters(self) -> int:
        """Number of people whose votes count."""
        return len({one.voter for one in self.comparisons})


_cached: SharedCache[tuple[object, ...], Standings] = SharedCache(maxsize=32)


def standings_of(*, suite: Suite, question: Question) -> Standings:
    """The table as it is now. Computed once per process and change, and each hour, since teams change."""
    votes = _final(suite.slug).exclude(**{question.value: ""})
    facts = votes.aggregate(count=Count("pk"), changed=Max("changed"), named=Max("pair__named_at"))
    out = Contestant.objects.aggregate(count=Count("opted_out_at"), last=Max("opted_out_at"))
    snapshot = latest_snapshot(suite=suite)
    of_board = () if snapshot is None else (snapshot.pk, snapshot.digest)
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    key = (suite.slug, question, *facts.values(), *out.values(), of_board, hour)
    return _cached.get_or_make(key, lambda: _standings(suite=suite, question=question))


def _final(suite: str) -> QuerySet[Vote]:
    return Vote.objects.filter(pair__suite=suite, pair__named_at__isnull=False)


def _standings(*, suite: Suite, question: Question) -> Standings:
    contestants = {str(row.pk): row for row in Contestant.objects.select_related("planner__owner")}
    ballots = ballots_of(suite=suite.slug, question=question, contestants=contestants)
    excluded = screened(ballots)
    comparisons = comparisons_of(ballots, excluded=excluded)
    groups = rate(comparisons)
    measured = _measured(suite=suite, contestants=contestants)
    agreement = agreement_of(
        comparisons, measured=measured, higher_is_better=suite.ranking_column.higher_is_better
    ) or (None, 0)
    return Standings(
        groups=groups,
        names={row.planner: contestants[row.planner].name for group in groups for row in group},
        comparisons=comparisons,
        excluded=Counter(excluded.values()),
        agreement=agreement[0],
        agreement_votes=agreement[1],
    )


def ballots_of(*, suite: str, question: Question, contestants: Mapping[str, Contestant]) -> list[Ballot]:
    """All votes on a question whose names were shown."""
    hidden = _hidden(contestants)
    teams = _team_members(contestants)
    fields = (
        "pk", "voter_id", "address", "pair__a_id", "pair__b_id", question.value, "changed", "seconds", "characters",
        "account_hours", "pair__request", "was_own",
    )  # fmt: skip
    ballots = []
    for row in _final(suite).exclude(**{question.value: ""}).order_by("pk").values_list(*fields):
        pk, voter, address, a, b, choice, changed, seconds, characters, hours, request, was_own = row
        ends = (str(a), str(b))
        owners = {user for end in ends for user in teams.get(end, ())}
        ballots.append(
            Ballot(
                id=f"{pk:012}", voter=str(voter), address=address, first=ends[0], second=ends[1], won=_WON[choice],
                at=changed.timestamp(), seconds=seconds, characters=characters, account_hours=hours, request=request,
                is_own=was_own or voter in owners, is_opted_out=not hidden.isdisjoint(ends),
            )
        )  # fmt: skip
    return ballots


def _hidden(contestants: Mapping[str, Contestant]) -> set[str]:
    """Planners that are not named: their owner opted out, or they are on no board any more."""
    planners = [row.planner_id for row in contestants.values() if row.planner_id is not None]
    shown = set(
        Evaluation.objects.filter(on_boards(), submission__planner__in=planners).values_list(
            "submission__planner", flat=True
        )
    )
    return {
        key
        for key, row in contestants.items()
        if row.opted_out_at is not None or (row.planner_id is not None and row.planner_id not in shown)
    }


def _team_members(contestants: Mapping[str, Contestant]) -> Mapping[str, set[int]]:
    """The users by contestant whose planner it is: its owner, and members of teams that it was submitted for."""
    keys = {row.planner_id: key for key, row in contestants.items() if row.planner is not None}
    found = {key: {row.planner.owner_id} for key, row in contestants.items() if row.planner is not None}
    members = Submission.objects.filter(planner__in=keys, team__isnull=False).values_list(
        "planner", "team__memberships__user"
    )
    for planner, user in members.distinct():
        found[keys[planner]].add(user)
    return found


def _measured(*, suite: Suite, contestants: Mapping[str, Contestant]) -> dict[str, float]:
    """Primary score on the suite's board by contestant; those without a row are left out."""
    snapshot = latest_snapshot(suite=suite)
    if snapshot is None:
        return {}
    column = suite.ranking_column.key
    by_name: dict[tuple[str, str], float] = {}
    for row in content_of(snapshot).rows:
        if (value := row["metrics"].get(column)) is not None:
            name = ("", row["strategy"]) if row.get("strategy") else (row["owner"], row["planner"])
            by_name.setdefault(name, value["mean"])
    names = {
        key: ("", row.bundled_name or "") if row.planner is None else (row.planner.owner.username, row.planner.name)
        for key, row in contestants.items()
    }
    return {key: by_name[name] for key, name in names.items() if name in by_name}


def exported(suite: str) -> Iterator[str]:
    """Every vote whose names were shown, as a line of JSON, without those on planners that are not named.

    `voter` is a pseudonym that holds within this export only: its key is thrown away.
    """
    key = secrets.token_bytes(32)
    contestants = {str(row.pk): row for row in Contestant.objects.select_related("planner__owner")}
    hidden = _hidden(contestants)
    excluded = {
        question: screened(ballots_of(suite=suite, question=question, contestants=contestants)) for question in Question
    }
    rows = []
    for vote in _final(suite).select_related("pair"):
        ends = (str(vote.pair.a_id), str(vote.pair.b_id))
        if not hidden.isdisjoint(ends):
            continue
        reasons = {question: excluded[question].get(f"{vote.pk:012}") for question in Question}
        rows.append({
            "suite": suite, "day": vote.changed.date().isoformat(),
            "voter": hmac.digest(key, str(vote.voter_id).encode(), "sha256").hex()[:16],
            "a": contestants[ends[0]].name, "b": contestants[ends[1]].name,
            "response": vote.response or None, "plan": vote.plan or None,
            "excluded": {question: reason for question, reason in reasons.items() if reason is not None},
        })  # fmt: skip
    # Not in the order of the votes, by which two exports could be joined.
    for row in sorted(rows, key=lambda row: (row["day"], row["voter"], row["a"], row["b"])):
        yield json.dumps(row, ensure_ascii=False) + "\n"


def own_planners(user_id: int) -> Q:
    """Condition that a planner is a user's, or was submitted for a team of theirs."""
    return Q(owner=user_id) | Q(submissions__team__memberships__user=user_id)
