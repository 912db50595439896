"""What the reconciler decides. Pure: no database, no launcher."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.evaluations import transitions
from leaderboard.evaluations.models import EvaluationState
from leaderboard.queue.decisions import AttemptView, Do, View, decide

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SOON = NOW + timedelta(minutes=1)
PAST = NOW - timedelta(seconds=1)
ACTIVE = sorted(transitions.LAUNCHED)


def view(state, **changes) -> View:
    return View(**{"now": NOW, "state": EvaluationState(state), "deadline": SOON, **changes})


def attempt(**changes) -> AttemptView:
    return AttemptView(**{"id": UUID(int=1), "expires_at": SOON, **changes})


@pytest.mark.parametrize("state", sorted(transitions.FINAL))
def test_what_has_ended_stays_so(state):
    assert decide(view(state, deadline=PAST, pending_shards=1)).do is Do.NOTHING


def test_what_is_queued_is_launched():
    assert decide(view("queued")).do is Do.LAUNCH


@pytest.mark.parametrize("state", ["queued", "running", "aggregating"])
def test_a_state_that_lasts_too_long_fails(state):
    assert decide(view(state, deadline=PAST, open_shards=1)).do is Do.FAIL


@pytest.mark.parametrize("deadline", [None, PAST])
def test_waiting_for_a_worker_never_fails_however_long_it_lasts(deadline):
    waiting = view("launching", deadline=deadline, open_shards=2, pending_shards=2)
    assert decide(waiting).do is Do.ENSURE_WORKER
    assert decide(replace(waiting, worker_runs=True)).do is Do.NOTHING


def test_running_never_fails_for_want_of_a_worker():
    waiting = view("running", deadline=PAST, open_shards=2, pending_shards=2, lacks_worker=True)
    assert decide(waiting).do is Do.WAIT_LONGER
    assert decide(replace(waiting, deadline=SOON)).do is Do.ENSURE_WORKER
    assert decide(replace(waiting, lacks_worker=False)).do is Do.FAIL


def test_an_owner_who_does_nothing_loses_the_evaluation():
    assert decide(view("on_hold")).do is Do.NOTHING
    assert decide(view("on_hold", deadline=PAST)).do is Do.ABANDON


@pytest.mark.parametrize("state", ACTIVE)
def test_waiting_shards_need_a_worker(state):
    assert decide(view(state, open_shards=2, pending_shards=1)).do is Do.ENSURE_WORKER
    assert decide(view(state, open_shards=2, pending_shards=1, worker_runs=True)).do is Do.NOTHING


@pytest.mark.parametrize("state", ACTIVE)
def test_leased_shards_are_left_alone_while_their_workers_live(state):
    assert decide(view(state, open_shards=1, live_attempts=(attempt(),))).do is Do.NOTHING


@pytest.mark.parametrize("gone", [{"expires_at": NOW}, {"worker_dead": "its process ended"}, {"stalls_at": NOW}])
def test_a_worker_that_is_gone_loses_its_attempt(gone):
    step = decide(view("running", open_shards=1, live_attempts=(attempt(), attempt(id=UUID(int=2), **gone))))
    assert step.do is Do.LOSE_ATTEMPTS
    assert [lost.attempt for lost in step.attempts] == [UUID(int=2)]
    assert [lost.why for lost in step.attempts] == [gone.get("worker_dead", "")]


def test_shards_that_were_tried_too_often_are_given_up_before_anything_is_started_for_them():
    step = decide(view("running", open_shards=1, pending_shards=1, exhausted_shards=(7,)))
    assert (step.do, step.shards) == (Do.GIVE_UP_SHARDS, (7,))


@pytest.mark.parametrize("state", ACTIVE)
def test_when_the_canary_has_ended_that_is_settled_before_anything_else_is_started(state):
    waiting = view(state, open_shards=2, pending_shards=2, canary_ended=True)
    assert decide(waiting).do is Do.SETTLE_CANARY


@pytest.mark.parametrize("state", ACTIVE)
def test_when_all_shards_are_done_the_scores_are_computed_even_after_the_deadline(state):
    assert decide(view(state, deadline=PAST)).do is Do.AGGREGATE


def test_scores_are_computed_until_they_are():
    assert decide(view("aggregating")).do is Do.SUMMARISE


@given(
    state=st.sampled_from(sorted(set(EvaluationState) - transitions.FINAL - {EvaluationState.LAUNCHING})),
    open_shards=st.integers(0, 3),
    pending=st.integers(0, 3),
    worker=st.booleans(),
    expired=st.booleans(),
)
def test_past_its_deadline_nothing_that_has_not_ended_is_ever_left_alone(state, open_shards, pending, worker, expired):
    attempts = (attempt(expires_at=PAST if expired else SOON),) if open_shards > pending else ()
    step = decide(
        view(
            state,
            deadline=PAST,
            open_shards=open_shards,
            pending_shards=min(pending, open_shards),
            worker_runs=worker,
            live_attempts=attempts,
        )
    )
    assert step.do is not Do.NOTHING
