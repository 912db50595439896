"""Addresses of planners as options take them."""

import pytest

from evaluator.client.options import called_planner, chosen_planner


@pytest.mark.parametrize(
    ("address", "fields"),
    [
        ("https://h/plan", {"kind": "endpoint", "endpoint_url": "https://h/plan"}),
        ("a2a:https://h/agent", {"kind": "a2a", "endpoint_url": "https://h/agent"}),
    ],
)
def test_the_address_says_which_protocol_it_speaks(address, fields):
    none = {"model": "", "checkpoint": None, "chat": "", "chat_model": "", "strategy": "", "plans": None}
    assert chosen_planner(planner=address, **none) == fields
    assert called_planner(url=address, chat_model="", strategy="") == fields
