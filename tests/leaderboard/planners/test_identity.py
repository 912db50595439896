"""What a planner is: equal however it is written, and different where another system answers."""

import pytest

from leaderboard.planners.identity import identity_of, normal_address
from leaderboard.planners.models import Planner


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


@pytest.mark.parametrize(
    "url",
    ["https://example.org/other", "https://example.com/plan", "https://example.org:8443/plan", "https://example.org"],
)
def test_other_places_are_others(url):
    assert normal_address(url) != "example.org/plan"


def test_names_of_other_alphabets_and_addresses_are_compared():
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
