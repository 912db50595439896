"""Reasoning before actions and a fence around them are left out and recorded."""

import pytest

from evaluator.plans.turns import read_actions
from evaluator.plans.turns.model import TurnSyntaxError

BARE = "R1 = Calculator(3 * 4); R2 = Calculator(R1 - 5)"


@pytest.mark.parametrize(
    "text",
    [f"```\n{BARE}\n```", f"```python\n{BARE}", f"<think>R1 = Other(1)?</think>\n{BARE}", f"no </think>\n{BARE}"],
)
def test_actions_in_an_envelope_are_the_bare_ones(text):
    found, bare = read_actions(text=text), read_actions(text=BARE)
    assert [one.raw for one in found.actions] == [one.raw for one in bare.actions]
    assert len(found.tolerated) > len(bare.tolerated)


@pytest.mark.parametrize("text", [f"<think>{BARE}", f"```\n{BARE}\n```\nor\n```\n{BARE}\n```"])
def test_reasoning_without_an_end_and_two_fences_are_refused(text):
    with pytest.raises(TurnSyntaxError):
        read_actions(text=text)
