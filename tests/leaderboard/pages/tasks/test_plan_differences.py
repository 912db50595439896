"""A plan beside the gold plan, without a database."""

import pytest

from evaluator.plans import plan_to_json
from evaluator.suites.registry import suite_of
from leaderboard.pages.tasks.plan_differences import differences


def plan(*tools: str, answer: int = -1) -> dict:
    """A chain of tools on the request's image; the answer is the output of one of them."""
    steps = [
        {"id": f"s{place}", "tool": tool, "inputs": {"image": f"s{place - 1}.image" if place else "$image"},
         "outputs": {"image": f"s{place}.image"}}
        for place, tool in enumerate(tools)
    ]  # fmt: skip
    return {"steps": steps, "answers": [steps[answer]["outputs"]["image"]] if steps else ["$image"]}


def compare(mine: dict, gold: dict):
    return differences(plan=mine, gold=gold, resources={"image": "image"})


def test_steps_that_are_missing_and_steps_that_are_extra_are_marked_at_their_places():
    found = compare(plan("A", "X", "A"), plan("A", "B", "C"))
    assert found.extra == {1: "extra", 2: "extra"}
    assert found.missing == {1: "missing", 2: "missing"}
    assert found.sentences == ("Missing: B, C.", "Not in the gold plan: X, A.")


def test_a_tool_that_is_called_too_often_is_extra_from_there_on():
    found = compare(plan("A", "A", "A"), plan("A"))
    assert found.extra == {1: "extra", 2: "extra"}
    assert found.sentences == ("Not in the gold plan: A (2 times).",)


def test_the_same_steps_in_another_order_are_the_same_steps_connected_otherwise():
    found = compare(plan("A", "B"), plan("B", "A"))
    assert not found.extra
    assert not found.missing
    assert found.sentences == ("The same steps as the gold plan, connected in another way.",)
    assert compare(plan("A", "B", answer=0), plan("A", "B")).sentences == found.sentences


def test_ids_and_the_order_of_writing_do_not_matter():
    gold = plan("A", "B")
    renamed = {
        "steps": [
            {"id": "z", "tool": "B", "inputs": {"image": "y.image"}, "outputs": {"image": "z.image"}},
            {"id": "y", "tool": "A", "inputs": {"image": "$image"}, "outputs": {"image": "y.image"}},
        ],
        "answers": ["z.image"],
    }
    assert compare(renamed, gold).sentences == ("The same steps as the gold plan, connected in the same way.",)


def test_an_empty_plan_lacks_everything():
    found = compare(plan(), plan("A", "B"))
    assert found.missing == {0: "missing", 1: "missing"}
    assert found.sentences == ("Missing: A, B.",)


@pytest.mark.parametrize("slug", ["openagi", "toolmini"])
def test_every_gold_plan_is_like_itself(slug: str):
    for task in suite_of(slug).tasks:
        if task.gold is not None:
            gold = plan_to_json(task.gold)
            found = differences(plan=gold, gold=gold, resources=dict.fromkeys(task.resources, ""))
            assert found.sentences == ("The same steps as the gold plan, connected in the same way.",)
