"""What all kinds of planners have in common, what PostgreSQL refuses of each, and when two planners are the same."""

from typing import get_args

import pytest
from django.db import IntegrityError, transaction
from django.forms.models import model_to_dict

from evaluator.client.shapes import PlannerEntry
from gpu_jobs.contract import Lease
from leaderboard.planners.kinds import KINDS, kind_of
from leaderboard.planners.models import NEEDED, Planner, PlannerKind
from leaderboard.planners.services import identity_of, normal_address
from tests.leaderboard.factories import make_user

FIELDS = {
    PlannerKind.BUNDLED: {"bundled_name": "gold"},
    PlannerKind.ENDPOINT: {"endpoint_url": "https://example.org/plan"},
    PlannerKind.A2A: {"endpoint_url": "https://example.org"},
    PlannerKind.CHAT: {"endpoint_url": "https://example.org/v1", "model_id": "m", "strategy": "hugginggpt"},
    PlannerKind.HUB: {"model_id": "a/b", "revision": "main", "commit": "c" * 40, "strategy": "hugginggpt"},
    PlannerKind.CHECKPOINT: {"checkpoint_digest": "d" * 64, "strategy": "hugginggpt"},
    PlannerKind.ROLES: {"strategy": "lumos/iterative"},
    PlannerKind.PLANS: {"plans_digest": "e" * 64},
    PlannerKind.AGENT: {},
}


def test_a_kind_is_known_everywhere():
    assert set(KINDS) == set(NEEDED) == set(PlannerKind.values)
    known_to_workers = {
        get_args(message.model_fields["kind"].annotation)[0]
        for message in get_args(Lease.model_fields["planner"].annotation)
    }
    # Stored answers are no kind: regrades of any planner have them.
    assert known_to_workers == {*KINDS, "recorded"}
    assert set(get_args(PlannerEntry.model_fields["kind"].annotation)) == set(KINDS)


@pytest.mark.django_db
@pytest.mark.parametrize("kind", FIELDS)
def test_the_database_takes_what_a_kind_needs_and_nothing_else(kind):
    owner = make_user()

    def enter(**fields):
        with transaction.atomic():
            return Planner.objects.create(owner=owner, name="x", kind=kind, **fields)

    for field in FIELDS[kind]:
        with pytest.raises(IntegrityError, match="a_planner_has_what_its_kind_needs"):
            enter(**{**FIELDS[kind], field: ""})
    for field, value in {name: value for fields in FIELDS.values() for name, value in fields.items()}.items():
        if field not in FIELDS[kind]:
            with pytest.raises(IntegrityError, match="a_planner_has_what_its_kind_needs"):
                enter(**{**FIELDS[kind], field: value})
    planner = enter(**FIELDS[kind])
    assert model_to_dict(planner, fields=list(FIELDS[kind])) == FIELDS[kind]
    assert kind_of(planner).lease(planner=planner, tasks=[]).kind == kind


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/plan", "http://example.org/plan", "HTTPS://Example.ORG/plan", "https://example.org:443/plan",
        "https://example.org/plan/", "https://example.org/plan?key=1", "https://example.org/plan#x",
        "https://example.org//a/../plan", "https://example.org/%70lan", "https://example.org./plan",
        "https://me:secret@example.org/plan",
    ],
)  # fmt: skip
def test_an_address_has_one_writing(url):
    assert normal_address(url) == "example.org/plan"


def test_other_places_are_others_and_names_of_other_alphabets_are_compared():
    for other in ("example.org/other", "example.com/plan", "example.org:8443/plan", "example.org"):
        assert normal_address(f"https://{other}") != "example.org/plan"
    assert normal_address("https://bücher.example/") == normal_address("https://xn--bcher-kva.example")
    assert normal_address("http://[2001:db8::1]:8000/plan") == "2001:db8::1:8000/plan"


def test_a_model_of_the_hub_is_its_commit_and_strategy_not_its_branch():
    hub = {"kind": "hub", "model_id": "Org/Name", "commit": "c" * 40, "strategy": "react"}
    first = identity_of(Planner(**hub, revision="main"))
    assert first == identity_of(Planner(**{**hub, "model_id": "org/name"}, revision="v1"))
    assert first != identity_of(Planner(**{**hub, "commit": "d" * 40}, revision="main"))
    assert first != identity_of(Planner(**{**hub, "strategy": "other"}, revision="main"))


@pytest.mark.parametrize(
    ("fields", "other"),
    [
        ({"kind": "bundled", "bundled_name": "controlllm/adaptive"}, {"bundled_name": "controlllm/greedy"}),
        ({"kind": "checkpoint", "checkpoint_digest": "a" * 64, "strategy": "react"}, {"checkpoint_digest": "b" * 64}),
        ({"kind": "plans", "plans_digest": "a" * 64}, {"plans_digest": "b" * 64}),
        (
            {"kind": "chat", "endpoint_url": "https://a.example/v1", "model_id": "m", "strategy": "react"},
            {"model_id": "n"},
        ),
    ],
)
def test_names_descriptions_and_prices_do_not_matter_and_what_it_is_does(fields, other):
    planner = Planner(name="one", description="first", prompt_price=1.0, timeout_seconds=30, **fields)
    renamed = Planner(name="two", description="second", prompt_price=2.0, timeout_seconds=60, **fields)
    assert identity_of(planner) == identity_of(renamed)
    assert identity_of(planner) != identity_of(Planner(name="one", **{**fields, **other}))
