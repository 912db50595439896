"""What the reconciler decides. Pure: no database, no launcher."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.evaluations import states
from leaderboard.evaluations.models import EvaluationState
from leaderboard.queue.decisions import Action, AttemptView, View, decide

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SOON = NOW + timedelta(minutes=1)
PAST = NOW - timedelta(seconds=1)


def view(state, **changes) -> View:
    return View(**{"now": NOW, "state": EvaluationState(state), "deadline": SOON, **changes})


def attempt(**changes) -> AttemptView:
    return AttemptView(**{"id": UUID(int=1), "expires_at": SOON, **changes})


WAITING = {"open_shards": 2, "pending_shards": 2}
DECISIONS = [
    *((state, {"deadline": PAST, "pending_shards": 1}, Action.NOTHING) for state in sorted(states.FINAL)),
    ("queued", {}, Action.LAUNCH),
    ("queued", {"is_outdated": True}, Action.FOLLOW_RELEASE),
    *((state, {"deadline": PAST, "open_shards": 1}, Action.FAIL) for state in ("queued", "running", "aggregating")),
    # Waiting for a worker never fails, however long it lasts.
    ("launching", {"deadline": None, **WAITING}, Action.ENSURE_WORKER),
    ("launching", {"deadline": None, **WAITING, "worker_runs": True}, Action.NOTHING),
    ("running", {"deadline": PAST, **WAITING, "lacks_worker": True}, Action.WAIT_LONGER),
    ("running", {**WAITING, "lacks_worker": True}, Action.ENSURE_WORKER),
    ("running", {"deadline": PAST, **WAITING}, Action.FAIL),
    ("on_hold", {}, Action.NOTHING),
    ("on_hold", {"deadline": PAST}, Action.ABANDON),
    ("aggregating", {}, Action.SUMMARISE),
    *(
        (state, fields, do)
        for state in sorted(states.LAUNCHED)
        for fields, do in (
            ({"open_shards": 2, "pending_shards": 1}, Action.ENSURE_WORKER),
            ({"open_shards": 2, "pending_shards": 1, "worker_runs": True}, Action.NOTHING),
            ({"open_shards": 1, "live_attempts": (attempt(),)}, Action.NOTHING),
            # Settled before anything else is started.
            ({**WAITING, "canary_ended": True}, Action.SETTLE_CANARY),
            # All shards are done.
            ({"deadline": PAST}, Action.AGGREGATE),
            ({"is_outdated": True}, Action.AGGREGATE),
            ({**WAITING, "is_outdated": True}, Action.FOLLOW_RELEASE),
            # A worker of the other release may finish what it holds.
            ({"open_shards": 1, "live_attempts": (attempt(),), "is_outdated": True}, Action.NOTHING),
        )
    ),
]
"""State, what else is seen, and what is done."""


def test_what_is_done():
    wrong = [(row, found) for row in DECISIONS if (found := decide(view(row[0], **row[1])).action) is not row[2]]
    assert wrong == []


@pytest.mark.parametrize("gone", [{"expires_at": NOW}, {"worker_dead": "its process ended"}, {"stalls_at": NOW}])
def test_a_worker_that_is_gone_loses_its_attempt(gone):
    step = decide(view("running", open_shards=1, live_attempts=(attempt(), attempt(id=UUID(int=2), **gone))))
    assert step.action is Action.LOSE_ATTEMPTS
    assert [(lost.attempt, lost.why) for lost in step.attempts] == [(UUID(int=2), gone.get("worker_dead", ""))]


def test_shards_that_were_tried_too_often_are_given_up_before_anything_is_started_for_them():
    step = decide(view("running", open_shards=1, pending_shards=1, exhausted_shards=(7,)))
    assert (step.action, step.shards) == (Action.GIVE_UP_SHARDS, (7,))


@given(
    state=st.sampled_from(sorted(set(EvaluationState) - states.FINAL - {EvaluationState.LAUNCHING})),
    open_shards=st.integers(0, 3),
    pending=st.integers(0, 3),
    worker=st.booleans(),
    expired=st.booleans(),
)
def test_past_its_deadline_nothing_that_has_not_ended_is_ever_left_alone(state, open_shards, pending, worker, expired):
    attempts = (attempt(expires_at=PAST if expired else SOON),) if open_shards > pending else ()
    shards = {"open_shards": open_shards, "pending_shards": min(pending, open_shards)}
    step = decide(view(state, deadline=PAST, **shards, worker_runs=worker, live_attempts=attempts))
    assert step.action is not Action.NOTHING
