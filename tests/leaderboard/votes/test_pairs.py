"""Pairs and votes: blind until the vote, one vote each, changeable until the names are shown, deletable always."""

import json
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from leaderboard.operations.leaving.closing import close_account, delete_account
from leaderboard.operations.leaving.export import export as account_export
from leaderboard.people.models import Scope, User
from leaderboard.people.services import create_token
from leaderboard.platform.problems import FieldErrors
from leaderboard.votes import services
from leaderboard.votes.blind import COVER, blind_side
from leaderboard.votes.models import Contestant, Pair, Vote
from leaderboard.votes.services import NewPair, TooManyVotesError, VoteRefusedError
from leaderboard.workbench import leasing
from leaderboard.workbench.asking import TooManyRunsError
from leaderboard.workbench.models import Run, RunEvent, RunState
from tests.leaderboard.factories import make_submission, make_suite, make_team, make_user
from tests.leaderboard.votes.factories import NAMES, bundled, make_contestant, make_pair, make_vote
from tests.routes import named_routes

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def suite(own_store):
    return make_suite(slug="toolworld")


@pytest.fixture
def ada() -> User:
    user = make_user("ada")
    User.objects.filter(pk=user.pk).update(date_joined=timezone.now() - timedelta(days=30))
    return User.objects.get(pk=user.pk)


@pytest.fixture
def pair(ada) -> Pair:
    maker = make_user("quicksilversmith")
    return make_pair(ada, a=make_contestant(NAMES[0], owner=maker), b=make_contestant(NAMES[1], owner=maker))


def cast(pair: Pair, *, response: str = "a", plan: str = "", user: User | None = None, address: str = "192.0.2.1"):
    return services.cast(pair_id=pair.pk, user=user or pair.owner, response=response, plan=plan, address=address)


def session(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def token_of(user: User) -> dict[str, str]:
    return {"Authorization": f"Bearer {create_token(user=user, scopes=Scope.values).token}"}


def body_of(response) -> bytes:
    return b"".join(response.streaming_content) if response.streaming else response.content


def answers_about(pair: Pair, *, user: User | None) -> dict[str, bytes]:
    """What every route of the site that can be read answers, for routes without parameters and those that take the
    pair, its runs or its suite."""
    client = session(user) if user is not None else Client()
    headers = token_of(user) if user is not None else {}
    known = {
        "pair_id": [pair.pk], "run_id": [pair.run_a_id, pair.run_b_id], "suite": [pair.suite], "slug": [pair.suite],
        "username": [pair.owner.username],
    }  # fmt: skip
    answers = {}
    for name, parameters in named_routes():
        if name.startswith("admin:") or not set(parameters) <= known.keys():
            continue
        for number in range(max([1, *(len(known[each]) for each in parameters)])):
            values = {each: known[each][number % len(known[each])] for each in parameters}
            path = reverse(name, kwargs=values)
            response = client.get(path, headers=headers if name.startswith("api:") else {})
            assert not response.headers.get("Content-Type", "").startswith("text/event-stream"), path
            answers[path] = body_of(response)
    return answers


def test_no_answer_of_the_site_names_the_planners_before_the_vote(ada, pair):
    cast(pair)
    for reader in (ada, None):
        answers = answers_about(pair, user=reader)
        assert f"/workbench/pairs/{pair.pk}/" in answers
        assert f"/api/v1/pairs/{pair.pk}/" in answers
        assert f"/workbench/{pair.run_a_id}/run.zip" in answers
        for path, body in answers.items():
            for name in (*NAMES, "quicksilversmith"):
                assert name.lower().encode() not in body.lower(), path
    mine = "".join(account_export(ada))
    assert not any(name.lower() in mine.lower() for name in NAMES)


def test_after_the_vote_the_names_and_the_runs_are_shown(ada, pair):
    client = session(ada)
    assert client.post(f"/workbench/pairs/{pair.pk}/vote/", {"response": "b", "plan": "a"}).status_code == 302
    assert client.post(f"/workbench/pairs/{pair.pk}/names/").status_code == 302
    page = Client().get(f"/workbench/pairs/{pair.pk}/").content.decode()
    assert all(name in page for name in NAMES)
    assert f"/workbench/{pair.run_a_id}/" in page
    assert Client().get(f"/workbench/{pair.run_a_id}/").status_code == 200
    shown = Client().get(f"/api/v1/pairs/{pair.pk}/").json()
    assert [side["planner"].partition(" of ")[0] for side in shown["sides"]] == list(NAMES)
    assert (shown["vote"]["response"], shown["vote"]["plan"]) == ("b", "a")


@pytest.mark.parametrize("name", ["run", "events", "bundle"])
def test_the_runs_of_a_pair_are_no_pages_before_the_vote(ada, pair, name):
    path = reverse(f"workbench:{name}", kwargs={"run_id": pair.run_a_id})
    assert session(ada).get(path).status_code == 404
    assert session(ada).get(f"/api/v1/runs/{pair.run_b_id}/").status_code == 404


def test_a_blind_run_is_nothing_to_go_on_from(ada, pair):
    client = session(ada)
    assert client.post(f"/workbench/{pair.run_a_id}/next/", {"text": "more"}).status_code == 404
    assert client.post(f"/workbench/{pair.run_a_id}/again/", {"plan": "{}"}).status_code == 404
    body = json.dumps({"text": "more", "planner": "controlllm/adaptive", "after": str(pair.run_a_id)})
    answer = client.post("/api/v1/runs/", body, content_type="application/json", headers=token_of(ada))
    assert (answer.status_code, "after" in answer.json()["errors"]) == (400, True)


def test_a_planner_that_signs_its_work_is_covered(pair):
    side, _ = services.sides_of(pair)
    assert side.text == f"{COVER} did it."
    assert side.plan["steps"][-1]["id"] == COVER
    assert side.plan["steps"][-1]["inputs"] == {"image": f"{COVER} was here"}


@pytest.mark.parametrize("name", ["steps", "image", "tool", "Image Denoising"])
def test_a_planner_with_the_name_of_a_key_or_a_tool_leaves_plans_readable(name):
    step = {"id": "s1", "tool": "Image Denoising", "inputs": {"image": "$image"}, "outputs": {"image": "s1.image"}}
    other = {**step, "id": "s2", "tool": f"{name} of mine", "inputs": {name: "$image"}}
    plan = {"steps": [step, other], "answers": ["s1.image"]}
    given = {"kind": "given", "files": {"a.png": {"type": "image"}, f"{name}.png": {"type": "image"}}}
    side = blind_side([given, {"kind": "plan", "plan": plan}], names=[name], tools={"Image Denoising"})
    assert side.inputs == {"a.png": "image", f"{COVER}.png": "image"}
    first, second = side.plan["steps"]
    assert first.keys() == step.keys()
    assert first["tool"] == "Image Denoising"
    assert list(first["inputs"]) == ["image"]
    assert (second["tool"], list(second["inputs"])) == (f"{COVER} of mine", [COVER])
    assert side.plan["answers"] == [first["outputs"]["image"]]


def test_names_are_covered_until_they_are_shown(ada, pair):
    cast(pair)
    services.show_names(pair_id=pair.pk, user=ada)
    pair.refresh_from_db()
    assert not any(COVER in side.text for side in services.sides_of(pair))


def test_names_of_two_letters_cover_nothing():
    side = blind_side(
        [{"kind": "ended", "ending": "made", "text": "It is a cat.", "answers": []}], names=["a", "is", ""]
    )
    assert side.text == "It is a cat."


def test_both_runs_are_asked_blind_in_random_order_or_neither(ada, settings):
    settings.RUNS_AT_ONCE = 3
    started = services.start(NewPair(text="Draw it"), user=ada)
    runs = [started.run_a, started.run_b]
    assert [(run.is_blind, run.state, run.text, run.owner) for run in runs] == [(True, "waiting", "Draw it", ada)] * 2
    assert started.a != started.b
    assert {run.bundled_name for run in runs} == {started.a.bundled_name, started.b.bundled_name}
    with pytest.raises(TooManyRunsError):
        services.start(NewPair(text="Draw it"), user=ada)
    assert (Run.objects.count(), Pair.objects.count()) == (2, 1)


def test_one_s_own_planners_and_those_of_one_s_team_are_no_candidates(ada):
    friend, other = make_user("friend"), make_user("other")
    team = make_team(friend, ada, name="lab")
    for owner, lab in ((ada, None), (friend, team), (friend, None), (other, None)):
        planner = make_submission(user=owner, team=lab).planner
        changes = {"kind": "hub", "bundled_name": "", "model_id": "org/m", "revision": "main", "commit": "a" * 40}
        for name, value in {**changes, "strategy": "arc-single"}.items():
            setattr(planner, name, value)
        planner.save()
    found = {row.planner.owner.username for row in services.candidates(suite="toolworld", user=ada) if row.planner_id}
    assert found == {"friend", "other"}
    planners = {row.planner_id for row in services.candidates(suite="toolworld", user=ada) if row.planner_id}
    assert planners == {
        row.planner_id for row in services.candidates(suite="toolworld", user=other) if row.planner_id
        and row.planner.owner == friend and row.planner.submissions.get().team is None
    } | {row.planner_id for row in services.candidates(suite="toolworld", user=friend) if row.planner_id
         and row.planner.owner == other}  # fmt: skip


def test_a_planner_whose_owner_opted_out_is_no_candidate(ada):
    planner = make_submission(user=make_user("maker")).planner
    changes = {"kind": "hub", "bundled_name": "", "model_id": "org/m", "revision": "main", "commit": "a" * 40}
    for name, value in {**changes, "strategy": "arc-single"}.items():
        setattr(planner, name, value)
    planner.save()
    assert planner.pk in {row.planner_id for row in services.candidates(suite="toolworld", user=ada)}
    client = session(planner.owner)
    assert client.post(f"/workbench/votes/planners/{planner.pk}/", {"takes_part": "no"}).status_code == 302
    assert planner.pk not in {row.planner_id for row in services.candidates(suite="toolworld", user=ada)}
    body = json.dumps({"takes_part": True})
    answer = client.put(
        f"/api/v1/planners/{planner.pk}/votes/", body, content_type="application/json", headers=token_of(planner.owner)
    )
    assert answer.json() == {"planner": planner.pk, "takes_part": True}
    assert planner.pk in {row.planner_id for row in services.candidates(suite="toolworld", user=ada)}
    assert session(ada).post(f"/workbench/votes/planners/{planner.pk}/").status_code == 404


def test_a_vote_can_be_changed_until_the_names_are_shown_and_never_after(ada, pair):
    cast(pair, response="a")
    cast(pair, response="b", plan="equal")
    assert [(vote.response, vote.plan) for vote in Vote.objects.all()] == [("b", "equal")]
    services.show_names(pair_id=pair.pk, user=ada)
    with pytest.raises(VoteRefusedError, match="no longer be changed"):
        cast(pair, response="a")
    assert Vote.objects.get().response == "b"


def test_names_are_not_shown_without_a_vote(ada, pair):
    with pytest.raises(VoteRefusedError, match="Vote before"):
        services.show_names(pair_id=pair.pk, user=ada)
    cast(pair)
    services.withdraw(pair_id=pair.pk, user=ada)
    assert session(ada).post(f"/workbench/pairs/{pair.pk}/names/").status_code == 409
    assert Run.objects.filter(is_blind=False).count() == 0


def test_a_vote_can_be_deleted_also_after_the_names_and_not_cast_again(ada, pair):
    cast(pair)
    services.show_names(pair_id=pair.pk, user=ada)
    assert session(ada).post(f"/workbench/pairs/{pair.pk}/withdraw/").status_code == 302
    assert Vote.objects.count() == 0
    with pytest.raises(VoteRefusedError):
        cast(pair)


def test_who_knows_the_names_deletes_all_votes_on_the_two_planners_or_none(ada, pair):
    again = make_pair(ada, a=pair.b, b=pair.a, suite=pair.suite)
    other = make_pair(ada, a=bundled("c"), b=bundled("d"), suite=pair.suite)
    for one in (pair, again, other):
        make_vote(one)
        Pair.objects.filter(pk=one.pk).update(shown_at=one.created, named_at=one.created)
    assert services.withdraw(pair_id=pair.pk, user=ada)
    assert [vote.pair_id for vote in Vote.objects.all()] == [other.pk]


def test_one_vote_per_person_and_pair_is_a_constraint(pair):
    make_vote(pair)
    with pytest.raises(IntegrityError), transaction.atomic():
        make_vote(pair)


def test_only_whoever_asked_can_vote(pair):
    eve = make_user("eve")
    for name in ("vote", "names", "withdraw"):
        assert session(eve).post(f"/workbench/pairs/{pair.pk}/{name}/", {"response": "a"}).status_code == 404
        assert Client().post(f"/workbench/pairs/{pair.pk}/{name}/", {"response": "a"}).status_code == 302
    with pytest.raises(Pair.DoesNotExist):
        cast(pair, user=eve)
    assert Vote.objects.count() == 0


def test_strangers_cannot_compare_even_on_an_open_site(settings):
    settings.WORKBENCH_IS_OPEN = True
    assert Client().post("/workbench/pairs/", {"text": "Draw it"}).url.startswith("/accounts/login/")
    assert Pair.objects.count() == 0


@pytest.mark.parametrize(
    ("choices", "field"), [({}, "response"), ({"response": "c"}, "response"), ({"plan": "A"}, "plan")]
)
def test_a_vote_needs_a_known_choice(pair, choices, field):
    with pytest.raises(FieldErrors) as raised:
        cast(pair, **{"response": "", **choices})
    assert field in raised.value.errors


def test_both_results_must_be_seen_before_the_vote(ada):
    unseen = make_pair(ada, a=bundled("a"), b=bundled("b"), seen=False)
    with pytest.raises(VoteRefusedError, match="Look at both"):
        cast(unseen)
    Client().get(f"/workbench/pairs/{unseen.pk}/")
    with pytest.raises(VoteRefusedError, match="Look at both"):
        cast(unseen)
    session(ada).get(f"/workbench/pairs/{unseen.pk}/")
    assert cast(unseen).seconds < 5


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"state": RunState.CANCELLED}, "cancelled"),
        ({"state": RunState.WAITING, "ended_at": None}, "must end first"),
        ({"ending": "failed"}, "unfair"),
        (None, "deleted"),
    ],
)
def test_there_is_no_vote_on_what_cannot_be_compared(ada, pair, change, why):
    if change is None:
        pair.run_b.delete()
    elif "ending" in change:
        event = RunEvent.objects.filter(run=pair.run_b).last()
        event.body = {**event.body, **change}
        event.save()
    else:
        Run.objects.filter(pk=pair.run_b_id).update(**change)
    with pytest.raises(VoteRefusedError, match=why):
        cast(pair)
    assert why in session(ada).get(f"/workbench/pairs/{pair.pk}/").content.decode()


def test_votes_are_limited_by_person_and_by_address(ada, monkeypatch):
    monkeypatch.setattr(services, "MOST_VOTES_PER_HOUR", 2)
    a, b = bundled("a"), bundled("b")
    for number in range(2):
        cast(make_pair(ada, a=a, b=b, request=str(number)))
    third = make_pair(ada, a=a, b=b, request="3")
    with pytest.raises(TooManyVotesError):
        cast(third, address="192.0.2.99")
    eve = make_user("eve")
    with pytest.raises(TooManyVotesError):
        cast(make_pair(eve, a=a, b=b), address="192.0.2.1")
    cast(make_pair(eve, a=a, b=b), address="192.0.2.2")
    Vote.objects.filter(voter=ada).update(created=timezone.now() - timedelta(hours=2))
    cast(third)
    answer = session(ada).post(f"/workbench/pairs/{third.pk}/vote/", {"response": "b"})
    assert answer.status_code == 302, "changing a vote is no further one"


def test_votes_keep_no_address(pair):
    vote = cast(pair, address="192.0.2.1")
    assert "192" not in vote.address
    assert len(vote.address) == 32
    assert vote.address == services.address_digest("192.0.2.1") != services.address_digest("192.0.2.2")


def test_a_vote_that_nobody_changed_for_an_hour_counts(ada, pair):
    cast(pair)
    assert services.close_pairs() == 0
    Vote.objects.update(changed=timezone.now() - timedelta(minutes=61))
    assert services.close_pairs() == 1
    pair.refresh_from_db()
    assert pair.named_at is not None
    assert Run.objects.filter(is_blind=True).count() == 0


def test_pairs_without_a_vote_end_with_their_runs(ada, pair):
    voted = make_pair(ada, a=pair.a, b=pair.b)
    make_vote(voted)
    Run.objects.all().delete()
    services.close_pairs()
    assert list(Pair.objects.all()) == [voted]
    assert session(ada).get(f"/workbench/pairs/{voted.pk}/").status_code == 200


@pytest.mark.parametrize("leave", [close_account, delete_account])
def test_votes_end_with_the_account(ada, pair, leave):
    cast(pair)
    leave(user=ada, by=ada)
    assert (Vote.objects.count(), Pair.objects.count(), Run.objects.filter(is_blind=True).count()) == (0, 0, 0)


def test_the_account_s_export_has_the_votes(ada, pair):
    cast(pair, plan="b")
    [vote] = json.loads("".join(account_export(ada)))["votes"]
    assert (vote["pair_id"], vote["response"], vote["plan"]) == (str(pair.pk), "a", "b")


def test_by_api_a_pair_is_asked_read_voted_on_and_named(ada):
    headers, client = token_of(ada), Client()

    def call(method: str, path: str, body=None):
        return getattr(client, method)(
            path, None if body is None else json.dumps(body), content_type="application/json", headers=headers
        )

    started = call("post", "/api/v1/pairs/", {"text": "Draw it"})
    assert started.status_code == 202
    path = started.headers["Location"]
    assert call("put", f"{path}vote/", {"response": "a"}).json()["code"] == "vote_refused"
    for number in range(2):
        token = f"{number}" * 43
        run = leasing.lease(worker="w", token=token).run
        ended = {"kind": "ended", "ending": "made", "text": "Done.", "answers": [], "problems": [], "received": ""}
        leasing.take_events(run_id=run.pk, token=token, first=0, events=[ended])
    shown = client.get(path, headers=headers).json()
    assert ([side["state"] for side in shown["sides"]], shown["why_not"]) == (["ended", "ended"], "")
    assert [side["planner"] for side in shown["sides"]] == [None, None]
    assert call("put", f"{path}vote/", {"response": "both_bad"}).json()["vote"]["response"] == "both_bad"
    named = call("post", f"{path}names/").json()
    assert all(side["planner"] for side in named["sides"])
    assert call("put", f"{path}vote/", {"response": "a"}).status_code == 409
    assert client.delete(f"{path}vote/", headers=headers).status_code == 204
    assert client.delete(f"{path}vote/", headers=headers).status_code == 404


def test_a_contestant_is_a_row_once(ada):
    for _ in range(2):
        Run.objects.all().delete()
        services.start(NewPair(text="Draw it"), user=ada)
    names = list(Contestant.objects.values_list("bundled_name", flat=True))
    assert len(names) == len(set(names))
