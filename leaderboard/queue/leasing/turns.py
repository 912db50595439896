"""Whose turn it is when a worker asks: by weight and what users and teams had, then the operator's priority, then age.

New and slow planners may have to wait for others before that (`time_slices.py`).

Among the evaluations of one user their own priority comes before age. It only says which of them stands in the user's
place, so that it moves nobody else.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db.models import (
    Count,
    Exists,
    Expression,
    F,
    FloatField,
    Func,
    JSONField,
    OuterRef,
    Q,
    QuerySet,
    TextField,
    Value,
    Window,
)
from django.db.models.functions import Cast, Coalesce, Greatest, Now, RowNumber

from leaderboard.agents.presence import waits_for_agent
from leaderboard.evaluations import transitions
from leaderboard.evaluations.models import Attempt, AttemptState, Evaluation, Shard, ShardState
from leaderboard.queue.leasing.worker_pools import Order, order_of

_ALL = 2**31 - 1
"""More shards than an evaluation can have."""
_OF_ONE_USER = "-priority", "-submission__priority", "created", "pk"
"""The order of one user's evaluations."""
_OF_ALL_USERS = "-priority", "created", "pk"
"""The order of evaluations whose users have had equally much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which evaluations a worker may work on."""

    suites: Sequence[str] | None = None
    evaluation_id: UUID | None = None
    scope: Q | None = None
    """A condition on evaluations."""
    pool: Sequence[str] = ()
    """Suites that the worker shares among all users (`Attempt.pool`)."""

    def due(self) -> QuerySet[Evaluation]:
        """Those of them with a shard that may be leased now, in no order."""
        leasable = Coalesce(OuterRef("leasable_shards"), _ALL)
        due = Evaluation.objects.filter(
            Exists(_waiting_shards().filter(evaluation=OuterRef("pk"), number__lt=leasable)),
            self.scope or Q(),
            state__in=transitions.LEASABLE,
        ).exclude(waits_for_agent())
        return self._named(due)

    def unfinished(self) -> QuerySet[Evaluation]:
        """Those of them with a shard that is not done, also where none may be leased now, in no order."""
        open_shards = Shard.objects.filter(evaluation=OuterRef("pk")).exclude(state=ShardState.DONE)
        ended = [state.value for state in transitions.FINAL]
        found = Evaluation.objects.filter(Exists(open_shards), self.scope or Q()).exclude(state__in=ended)
        return self._named(found)

    def _named(self, evaluations: QuerySet[Evaluation]) -> QuerySet[Evaluation]:
        if self.suites is not None:
            evaluations = evaluations.filter(suite__slug__in=self.suites)
        return evaluations if self.evaluation_id is None else evaluations.filter(pk=self.evaluation_id)


def next_of_each_user(wanted: Wanted, *, most: int) -> list[UUID]:
    """The next evaluation of each user, the one whose turn it is first, and at most so many; nothing is locked.

    Workers that ask at the same moment do not see each other's leases yet. Who finds the first one taken goes on with
    another user's, so that nobody is served twice for that.
    """
    user = "submission__submitted_by"
    tiers = _order(wanted)
    due = wanted.due() if tiers is None else tiers.annotated(wanted.due())
    tier = () if tiers is None else ("tier",)
    next_ones = due.order_by(user, *tier, *_OF_ONE_USER).distinct(user)
    found = Evaluation.objects.filter(pk__in=next_ones.values("pk"))
    return _by_turn(found, tiers=tiers, order=_OF_ALL_USERS, most=most)


def next_evaluations(wanted: Wanted, *, most: int) -> list[UUID]:
    """The evaluations whose turn it is, the first one first and at most so many; nothing is locked.

    What a user has had are the leases that live and those of the last while. Live ones alone would say nothing where
    there are fewer workers than users: nobody has any at the moment at which a worker asks.
    """
    of_user = F("submission__submitted_by"), F("priority")
    own_order = [F("submission__priority").desc(), F("created").asc(), F("pk").asc()]
    place = Window(RowNumber(), partition_by=of_user, order_by=own_order)
    # A user's first is behind no other's second: else who marks one as high would pass those who marked none.
    order = "-priority", "place", "created", "pk"
    return _by_turn(wanted.due().annotate(place=place), tiers=_order(wanted), order=order, most=most)


def _order(wanted: Wanted) -> Order | None:
    """What comes before fair share; None if nothing does."""
    order = order_of(wanted.pool)
    return None if order is None or order.is_flat else order


def _by_turn(evaluations: QuerySet[Evaluation], *, tiers: Order | None, order: Sequence[str], most: int) -> list[UUID]:
    order = "share", "own_share", *order
    if tiers is not None:
        evaluations = tiers.annotated(evaluations)
        order = "tier", *(field for name in order for field in (("recency", name) if name == "created" else (name,)))
    ordered = with_share(evaluations, had=leases_had()).order_by(*order)
    return list(ordered.values_list("pk", flat=True)[:most])


def due_shards(evaluation: Evaluation) -> QuerySet[Shard]:
    """Shards of an evaluation that may be leased now; the next one first."""
    leasable = _ALL if evaluation.leasable_shards is None else evaluation.leasable_shards
    if evaluation.state not in transitions.LEASABLE:
        leasable = 0
    return _waiting_shards().filter(evaluation=evaluation, number__lt=leasable).order_by("number")


def _waiting_shards() -> QuerySet[Shard]:
    return Shard.objects.filter(state=ShardState.PENDING, available_at__lte=Now(), tries__lt=settings.SHARD_TRIES)


class Had(NamedTuple):
    """How many leases everybody has had, by id as a text: those that live and those of the last while."""

    users: Mapping[str, int]
    teams: Mapping[str, int]


def leases_had() -> Had:
    """What users and teams have had."""
    since = Now() - timedelta(seconds=settings.FAIR_SHARE_SECONDS)
    leases = Attempt.objects.filter(Q(state=AttemptState.LIVE) | Q(leased_at__gte=since))
    users, teams = Counter[str](), Counter[str]()
    for user, team, count in leases.order_by().values_list("user", "team").annotate(count=Count("pk")):
        users[str(user)] += count
        if team is not None:
            teams[str(team)] += count
    return Had(users, teams)


def with_share(evaluations: QuerySet[Evaluation], *, had: Had) -> QuerySet[Evaluation]:
    """Evaluations with `share`: what their users have had for their weight; the smaller, the sooner they are due.

    Of what is for a team it is the greater of the user's and the team's: neither many members nor many teams get more.
    `own_share` is the user's alone, by which the members of a team take turns.

    Counted once, before: PostgreSQL would run a subquery again for every evaluation that waits. One value for all
    users, because a condition for each of them takes longer to write down than the query takes to run.
    """
    of_user = _share(had=had.users, whose="submission__submitted_by")
    of_team = _share(had=had.teams, whose="submission__team")
    return evaluations.annotate(own_share=of_user, share=Greatest(of_user, Coalesce(of_team, 0.0)))


def _share(*, had: Mapping[str, int], whose: str) -> Expression:
    key = Cast(whose, TextField())
    found = Func(Value(dict(had), output_field=JSONField()), key, function="jsonb_extract_path_text")
    return Coalesce(Cast(found, FloatField()), 0.0) / Cast(f"{whose}__queue_weight", FloatField())
