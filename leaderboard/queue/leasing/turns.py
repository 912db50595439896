"""Whose turn it is when a worker asks: by weight and what users and teams had, then the operator's priority, then age.

New and slow planners may have to wait for others before that (`time_slices.py`).

Among the evaluations of one user their own priority comes before age. It only says which of them stands in the user's
place, so that it moves nobody else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce, Now

from leaderboard.evaluations import transitions
from leaderboard.evaluations.models import Evaluation, Shard, ShardState
from leaderboard.queue.agents.presence import waits_for_agent
from leaderboard.queue.leasing.turn_statement import Pick, Turn, turn

ALL_SHARDS = 2**31 - 1
"""More shards than an evaluation can have."""


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
        leasable = Coalesce(OuterRef("leasable_shards"), ALL_SHARDS)
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
    return _turn(wanted, pick=Pick.FIRST_OF_EACH_USER, most=most, lock=False).ordered


def next_evaluations(wanted: Wanted, *, most: int) -> list[UUID]:
    """The evaluations whose turn it is, the first one first and at most so many; nothing is locked.

    What a user has had are the leases that live and those of the last while. Live ones alone would say nothing where
    there are fewer workers than users: nobody has any at the moment at which a worker asks.
    """
    return _turn(wanted, pick=Pick.EVERY, most=most, lock=False).ordered


def lock_first(wanted: Wanted, *, pick: Pick, most: int) -> Turn:
    """The same of one or the other, and the first of them that nobody else has locked is locked, as by
    `lock_evaluation`."""
    return _turn(wanted, pick=pick, most=most, lock=True)


def _turn(wanted: Wanted, *, pick: Pick, most: int, lock: bool) -> Turn:
    suites = None if wanted.suites is None else tuple(wanted.suites)
    key = suites, wanted.evaluation_id, wanted.scope
    return turn(key=key, due=wanted.due, pool=wanted.pool, pick=pick, most=most, lock=lock)


def _waiting_shards() -> QuerySet[Shard]:
    return Shard.objects.filter(state=ShardState.PENDING, available_at__lte=Now(), tries__lt=settings.SHARD_TRIES)
