"""Who may act, also where it was read with the evaluation."""

import pytest

from leaderboard.accounts import teams
from leaderboard.evaluations.acting import may_act, remember_reader
from tests.leaderboard.factories import make_submission, make_team, make_user

pytestmark = pytest.mark.django_db


def test_what_was_read_counts_for_that_reader_and_that_object_only(django_assert_num_queries):
    owner, member, stranger = make_user(), make_user(), make_user()
    submission = make_submission(user=owner, team=make_team(owner, member))
    remember_reader(reader=member, submission=submission, in_team=True)
    with django_assert_num_queries(0):
        assert may_act(user=member, submission=submission)
        assert may_act(user=owner, submission=submission)
    assert not may_act(user=stranger, submission=submission)
    remember_reader(reader=stranger, submission=submission, in_team=False)
    assert may_act(user=member, submission=submission), "asked again"


def test_who_left_the_team_may_not_act_on_what_is_read_after_that():
    owner, member = make_user(), make_user()
    team = make_team(owner, member)
    submission = make_submission(user=owner, team=team)
    remember_reader(reader=member, submission=submission, in_team=True)
    teams.remove(team=team, user=member, by=owner)
    again = type(submission).objects.get(pk=submission.pk)
    assert not may_act(user=member, submission=again)
