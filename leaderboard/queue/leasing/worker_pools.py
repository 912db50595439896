"""Queries for `time_slices`: what the workers of a pool hold, and what waits for them."""

from collections.abc import Sequence
from datetime import timedelta

from django.conf import settings
from django.db.models import (
    Case,
    Exists,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Value,
    When,
)
from django.db.models.functions import Coalesce, Now

from leaderboard.evaluations import states
from leaderboard.evaluations.models import Attempt, AttemptState, Evaluation, Shard, ShardState
from leaderboard.planners.kinds import KINDS
from leaderboard.planners.models import Planner
from leaderboard.queue.agents.turns import waits_for_agent
from leaderboard.queue.leasing.time_slices import SLICED_PHASES, Holding, Standing, Waiting, set_aside
from leaderboard.queue.pools import tagged, tags_sharing, taken_by

EVERY_SUITE = "*"
"""In a pool: its workers lease evaluations of all suites."""
_SUSPECT = timedelta(minutes=10)
"""How long after an attempt was set aside new planners of its user count as slow."""
_PAUSE = timedelta(minutes=3)
_UNSERVED = timedelta(seconds=3)
"""A shard that waits longer than this found no idle worker: those ask at least every two seconds."""
_PRESENT = timedelta(seconds=15)
"""A worker whose last attempt ended within this time is about to ask for the next one."""
_RECENT = timedelta(minutes=10)
_FOREIGN = tuple(name for name, kind in KINDS.items() if kind.has_canary)


LATELY = Q(set_aside_at__gte=Now() - _PAUSE)
"""Evaluations with an attempt set aside so recently that a single worker prefers proven planners. Among users with
equal shares, the newest of the new planners then goes first: when planners hang, those submitted next to them may hang
too, and later planners should not wait for all of them."""


def must_give_way(attempt: Attempt) -> bool:
    """Whether a live attempt, annotated with `now`, has used up its time slice and has to give way."""
    if not settings.SLICE_SECONDS or not attempt.pool or attempt.phase not in SLICED_PHASES:
        return False
    if (attempt.now - attempt.leased_at).total_seconds() < settings.SLICE_SECONDS:  # type: ignore[attr-defined]  # annotated by the caller
        return False
    suspected = tuple(suspects())
    if not (waiting := _waiting(attempt.pool, suspects=suspected)):
        return False
    # The second bound is for the index.
    just_ended = Q(ended_at__gte=Now() - _PRESENT, leased_at__gte=Now() - _RECENT)
    present = _in_pool(attempt.pool).filter(Q(state=AttemptState.LIVE) | just_ended)
    return attempt.pk in set_aside(
        holdings=_holdings(attempt.pool, suspects=suspected),
        waiting=waiting,
        workers=present.values("worker").distinct().count(),
        slice_seconds=settings.SLICE_SECONDS,
    )


def suspects() -> QuerySet[Evaluation, int]:
    """Users with a planner that was set aside recently."""
    recent = Evaluation.runs.filter(set_aside_at__gte=Now() - _SUSPECT)
    return recent.order_by().values_list("submission__submitted_by", flat=True).distinct()


def standings_held(pool: Sequence[str]) -> QuerySet[Attempt, int]:
    """The standings of the planners that other workers of this pool run. Concurrent leases may be missing: then two
    workers take new planners at once, and one of them is free again after a time slice."""
    held = _live(pool).annotate(standing=standing("shard__evaluation__", suspects=suspects()))
    return held.values_list("standing", flat=True)


def standing(prefix: str = "", *, suspects: Sequence[int] | QuerySet[Evaluation, int]) -> Case:
    """The `Standing` of an evaluation; `suspects` are the users with a planner that was set aside recently."""
    planner = f"{prefix}submission__planner__"
    of_user = Planner.objects.filter(owner=OuterRef(f"{prefix}submission__submitted_by"), proven=True)
    return Case(
        When(~Q(**{f"{planner}kind__in": _FOREIGN}), then=Value(Standing.PROVEN.value)),
        When(Q(**{f"{prefix}times_set_aside__gt": 0}), then=Value(Standing.SLOW.value)),
        When(Q(**{f"{planner}proven": True}), then=Value(Standing.PROVEN.value)),
        When(Q(**{f"{prefix}submission__submitted_by__in": suspects}), then=Value(Standing.SLOW.value)),
        When(Exists(of_user), then=Value(Standing.PROVEN.value)),
        default=Value(Standing.NEW.value),
        output_field=IntegerField(),
    )


def _in_pool(pool: Sequence[str]) -> QuerySet[Attempt]:
    """Attempts on workers that may lease some of the same work."""
    named = tags_sharing(pool_name) if (pool_name := tagged(pool)) else pool
    shared = ~Q(pool=[]) if EVERY_SUITE in pool else Q(pool__overlap=[*named, EVERY_SUITE])
    return Attempt.objects.filter(shared).order_by()


def _live(pool: Sequence[str]) -> QuerySet[Attempt]:
    return _in_pool(pool).filter(state=AttemptState.LIVE)


def _holdings(pool: Sequence[str], *, suspects: Sequence[int]) -> list[Holding]:
    of = "shard__evaluation__"
    live = _live(pool).annotate(
        now=Now(),
        standing=standing(of, suspects=suspects),
        times=F(f"{of}times_set_aside"),
        kind=F(f"{of}submission__planner__kind"),
    )
    return [
        Holding(
            attempt=row.pk,
            user=row.user_id or 0,
            standing=Standing(row.standing),
            held_seconds=(row.now - row.leased_at).total_seconds(),
            times_set_aside=row.times,
            is_sliced=row.kind in _FOREIGN and row.phase in SLICED_PHASES,
        )
        for row in live
    ]


def _waiting(pool: Sequence[str], *, suspects: Sequence[int]) -> list[Waiting]:
    """Users with due, unleased shards, once for each standing."""
    leasable = Coalesce(OuterRef("leasable_shards"), 2**31 - 1)
    unserved = Shard.objects.filter(
        evaluation=OuterRef("pk"),
        state=ShardState.PENDING,
        tries__lt=settings.SHARD_TRIES,
        number__lt=leasable,
        available_at__lte=Now() - _UNSERVED,
    )
    waiting = Evaluation.runs.filter(Exists(unserved), state__in=states.LEASABLE, own_worker_run__isnull=True).exclude(
        waits_for_agent()
    )
    waiting = waiting.annotate(standing=standing(suspects=suspects))
    if pool_name := tagged(pool):
        waiting = waiting.filter(taken_by(pool_name))
    elif EVERY_SUITE not in pool:
        waiting = waiting.filter(suite__slug__in=pool)
    rows = waiting.order_by().values_list("submission__submitted_by", "standing").distinct()
    return [Waiting(user=user, standing=Standing(standing)) for user, standing in rows]
