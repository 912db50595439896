"""The table of votes: which votes count, the agreement with a board, and the export."""

import json
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from leaderboard.planners.models import Planner
from leaderboard.votes.models import Pair, Vote
from leaderboard.votes.services import set_opted_out
from leaderboard.votes.standings import Question, exported, standings_of
from leaderboard.workbench.models import Run
from tests.leaderboard.factories import make_submission, make_suite, make_team, make_user
from tests.leaderboard.platform.api.test_reading import finish
from tests.leaderboard.votes.factories import bundled, make_contestant, make_pair, make_vote

pytestmark = pytest.mark.django_db
GOOD, BAD = "controlllm/adaptive", "controlllm/greedy"


@pytest.fixture(autouse=True)
def suite(own_store):
    return make_suite(slug="toolworld")


def votes(*, people: int = 8, each: int = 3, name: str = "person", **facts) -> None:
    """People who prefer the first planner twice of three times."""
    good, bad = bundled(GOOD), bundled(BAD)
    for number in range(people):
        user = make_user(f"{name}{number}")
        for turn in range(each):
            swapped = turn % 2 == 1
            pair = make_pair(
                user, a=bad if swapped else good, b=good if swapped else bad, request=f"{name} {number} {turn}"
            )
            wins = turn % 3 != 2
            make_vote(pair, response="b" if swapped == wins else "a", **facts)


def test_votes_give_strengths_with_intervals(suite):
    votes()
    found = standings_of(suite=suite, question=Question.RESPONSE)
    [rows] = found.groups
    assert [found.names[row.planner] for row in rows] == [GOOD, BAD]
    assert (len(found.comparisons), found.voters, dict(found.excluded)) == (24, 8, {})
    assert rows[0].share.low < rows[0].share.mean < rows[0].share.high
    assert standings_of(suite=suite, question=Question.PLAN).groups == []


def test_a_vote_counts_once_the_names_are_shown_and_no_longer_when_it_is_deleted(suite):
    votes()
    pair = make_pair(make_user("late"), a=bundled(GOOD), b=bundled(BAD), request="late")
    vote = make_vote(pair, named=False)
    assert len(standings_of(suite=suite, question=Question.RESPONSE).comparisons) == 24
    Pair.objects.filter(pk=pair.pk).update(named_at=timezone.now())
    assert len(standings_of(suite=suite, question=Question.RESPONSE).comparisons) == 25
    vote.delete()
    assert len(standings_of(suite=suite, question=Question.RESPONSE).comparisons) == 24


def test_votes_outlive_the_runs(suite):
    votes()
    Run.objects.all().delete()
    assert len(standings_of(suite=suite, question=Question.RESPONSE).comparisons) == 24


def test_excluded_votes_are_kept_and_counted(suite):
    votes()
    votes(name="fast", people=1, each=2, seconds=0.5)
    votes(name="new", people=1, each=1, account_hours=1.0)
    found = standings_of(suite=suite, question=Question.RESPONSE)
    assert dict(found.excluded) == {"too_fast": 2, "new_account": 1}
    assert (len(found.comparisons), Vote.objects.count()) == (24, 27)
    shown = Client().get("/api/v1/votes/toolworld/").json()
    assert (shown["votes"], shown["voters"], shown["excluded"]) == (24, 8, {"too_fast": 2, "new_account": 1})
    page = Client().get("/workbench/votes/").content.decode()
    assert "2 faster than anybody can read both sides" in page


def test_people_at_one_address_are_one_voter(suite):
    votes(people=4, each=3, address="the same")
    found = standings_of(suite=suite, question=Question.RESPONSE)
    assert found.voters == 1
    assert found.groups[0][0].share.ends is None


def submitted(*, owner, team=None) -> Planner:
    """A planner that is on a board."""
    planner = make_submission(user=owner, team=team).planner
    changes = {"kind": "hub", "bundled_name": "", "model_id": "org/m", "revision": "main", "commit": "a" * 40}
    for name, value in {**changes, "strategy": "arc-single"}.items():
        setattr(planner, name, value)
    planner.save()
    return planner


def test_votes_of_the_owner_and_of_their_team_do_not_count(suite):
    """A team that someone joined after they had voted counts, too."""
    owner, friend, other = make_user("owner"), make_user("friend"), make_user("other")
    planner = submitted(owner=owner, team=make_team(owner, friend, name="lab"))
    contestant = make_contestant(planner.name, owner=owner)
    for user in (owner, friend, other):
        make_vote(make_pair(user, a=contestant, b=bundled(BAD), request=user.username))
    found = standings_of(suite=suite, question=Question.RESPONSE)
    assert (len(found.comparisons), dict(found.excluded)) == (1, {"own": 2})


def test_a_planner_whose_owner_opted_out_is_not_named(suite):
    planner = submitted(owner=make_user("owner"))
    contestant = make_contestant(planner.name, owner=planner.owner)
    make_vote(make_pair(make_user("other"), a=contestant, b=bundled(BAD)))
    assert planner.name in str(standings_of(suite=suite, question=Question.RESPONSE).names)
    set_opted_out(planner=planner, opted_out=True)
    found = standings_of(suite=suite, question=Question.RESPONSE)
    assert (found.groups, dict(found.excluded)) == ([], {"opted_out": 1})
    assert list(exported("toolworld")) == []


def test_a_planner_that_is_on_no_board_any_more_is_not_named(suite):
    planner = submitted(owner=make_user("owner"))
    contestant = make_contestant(planner.name, owner=planner.owner)
    make_vote(make_pair(make_user("other"), a=contestant, b=bundled(BAD)))
    planner.submissions.update(visibility="private")
    assert planner.name not in Client().get("/workbench/votes/").content.decode()
    assert list(exported("toolworld")) == []


def test_planners_that_no_votes_connect_are_said_to_be_so(suite):
    votes(people=2)
    make_vote(make_pair(make_user("other"), a=bundled("x"), b=bundled("y")))
    assert "No chain of votes connects" in Client().get("/workbench/votes/").content.decode()
    groups = {row["planner"]: row["group"] for row in Client().get("/api/v1/votes/toolworld/").json()["rows"]}
    assert groups == {GOOD: 1, BAD: 1, "x": 2, "y": 2} or groups == {GOOD: 2, BAD: 2, "x": 1, "y": 1}


def test_the_agreement_with_the_board_is_that_of_votes_on_measured_planners(suite):
    votes(people=6, each=3)
    make_vote(make_pair(make_user("other"), a=bundled(GOOD), b=bundled("unmeasured"), request="u"), response="b")
    assert standings_of(suite=suite, question=Question.RESPONSE).agreement is None
    for name, score in ((GOOD, 0.9), (BAD, 0.2)):
        submission = make_submission(user=make_user(f"of {score}"), suite=suite)
        Planner.objects.filter(pk=submission.planner_id).update(bundled_name=name)
        evaluation = submission.evaluations.get()
        evaluation.state = "launching"
        evaluation.save()
        finish(evaluation, score=score)
    found = standings_of(suite=suite, question=Question.RESPONSE)
    assert (found.agreement.mean, found.agreement.count, found.agreement_votes) == (pytest.approx(2 / 3), 6, 18)
    assert found.agreement.low < 2 / 3 < found.agreement.high
    shown = Client().get("/api/v1/votes/toolworld/").json()["agreement"]
    assert (shown["votes"], shown["voters"]) == (18, 6)
    assert "won 67 % of 18 decided votes of 6 people" in Client().get("/workbench/votes/").content.decode()


def test_no_board_contains_votes(suite):
    votes()
    for path in ("/boards/toolworld/", "/api/v1/boards/toolworld/", "/"):
        assert b"vote" not in Client().get(path).content.lower().replace(b"/workbench/votes/", b"")


def test_the_export_names_no_voter_and_cannot_be_joined_with_another(suite):
    votes(people=3)
    lines = [json.loads(line) for line in exported("toolworld")]
    again = [json.loads(line) for line in exported("toolworld")]
    assert len(lines) == 9
    assert set(lines[0]) == {"suite", "day", "voter", "a", "b", "response", "plan", "excluded"}
    assert len({line["voter"] for line in lines}) == 3
    assert {line["voter"] for line in lines}.isdisjoint(line["voter"] for line in again)
    text = json.dumps(lines)
    assert "person" not in text
    assert not any(vote.address in text for vote in Vote.objects.all())
    assert sorted(line["response"] for line in lines) == sorted(vote.response for vote in Vote.objects.all())


def test_the_export_says_why_a_vote_does_not_count(suite):
    votes(name="fast", people=1, each=1, seconds=0.5)
    [line] = map(json.loads, exported("toolworld"))
    assert line["excluded"] == {"response": "too_fast"}
    download = Client().get("/workbench/votes/toolworld.jsonl")
    assert b"".join(download.streaming_content).count(b"\n") == 1
    assert Client().get("/workbench/votes/nowhere.jsonl").status_code == 404


def test_a_vote_of_yesterday_is_in_the_table_of_today(suite):
    votes(people=1, each=1)
    Vote.objects.update(changed=timezone.now() - timedelta(days=1))
    assert len(standings_of(suite=suite, question=Question.RESPONSE).comparisons) == 1
