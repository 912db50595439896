"""The shop with four tools: its solutions, what fits a request, and what is refused."""

import pytest

from evaluator.core.suites.registry import suite_of
from evaluator.core.transcripts import ActionProblem
from evaluator.episodes.base import Setting, episode_of
from evaluator.episodes.turns.environment import Call, Made, Refused
from evaluator.lumos.mini.draws import Source
from evaluator.lumos.mini.shop import shop
from evaluator.lumos.shopping.choosing import NONE, ChoiceError, best, fitting
from evaluator.lumos.shopping.environment import ShopEnvironment
from evaluator.lumos.shopping.suite import SLUG, TASKS
from evaluator.miniature.seeds import Split
from evaluator.planners.bundled import GoldPlanner
from evaluator.replies.turns.actions import read_actions

SOURCE = Source(split=Split.PUBLIC)
SHOP = shop(source=SOURCE, number=6)


def run(text, *, values=(), scope="shop 6"):
    (action,) = read_actions(text=text, tools=("Search", "Click", "FeatureRetrieve", "Pick")).actions
    call = Call(
        scope=scope, tool=action.tool, arguments=action.raw, references=action.references, values=dict(values),
        outputs=len(action.outputs), action=action,
    )  # fmt: skip
    return ShopEnvironment(SOURCE).run([call])[0]


def test_the_solution_of_every_request_buys_what_was_wanted():
    suite = suite_of(SLUG)
    environment = ShopEnvironment(SOURCE)
    for task in suite.tasks:
        values = {}
        for step in task.gold.steps:
            raw = next(iter(step.inputs.values()))
            names = ", ".join(step.outputs.values())
            (action,) = read_actions(text=f"{names} = {step.tool}({raw})", tools=tuple(suite.catalogue.tools)).actions
            call = Call(
                scope=task.scope, tool=action.tool, arguments=action.raw, references=action.references, values=values,
                outputs=1, action=action,
            )  # fmt: skip
            (made,) = environment.run([call])
            assert isinstance(made, Made), (task.key, made)
            values[names] = made.values[0]
        score = environment.score(task=task, answer=list(values.values())[-1], transcript=None)
        assert score.indicators == {"solved": 1.0, "reward": 1.0}
        assert {"Search", "FeatureRetrieve", "Pick", "Click"} == {step.tool for step in task.gold.steps}


def test_features_are_those_whose_words_the_query_has():
    item = SHOP.items[0]
    query = f"a {item.features[0]} {item.noun} in {item.colours[1]}, size {item.sizes[0]}"
    line = fitting(item=item, query=query)
    assert line.startswith(f"{item.key}: ")
    assert line.endswith(f", {item.coins} coins")
    assert {item.features[0], item.colours[1], item.sizes[0]} <= set(line.split(": ")[1].split(", "))
    assert not {*item.features[1:], item.colours[0]} & set(line.split(": ")[1].split(", "))
    assert fitting(item=item, query="something else") == f"{item.key}: {NONE}, {item.coins} coins"


def test_lines_of_several_items_may_follow_each_other_on_one_line():
    first, second = SHOP.items[:2]
    lines = f"{first.key}: {NONE}, 1 coins, {second.key}: {second.features[0]}, 1 coins"
    assert best(shop=SHOP, names=f"{first.key} {second.key}", features=lines, query=second.features[0]) == second


def test_pick_prefers_affordable_items_then_those_with_more_words():
    cheap, dear = sorted(SHOP.items[:2], key=lambda item: item.coins)
    lines = f"{cheap.key}: {NONE}, {cheap.coins} coins; {dear.key}: {dear.features[0]}, {dear.coins} coins"
    names = f"{cheap.key} {dear.key}"
    wanted = f"a {dear.features[0]} {dear.noun}"
    assert best(shop=SHOP, names=names, features=lines, query=wanted) == dear
    assert best(shop=SHOP, names=names, features=lines, query=f"{wanted} for at most {cheap.coins} coins") == cheap
    assert best(shop=SHOP, names=names, features=f"{cheap.key}: {NONE}", query=wanted) == cheap
    with pytest.raises(ChoiceError, match="No item is named"):
        best(shop=SHOP, names="W999", features="", query=wanted)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("R1 = FeatureRetrieve(W001, Query: a pan)", "A page is the result of Search or Click"),
        ("R1 = FeatureRetrieve(/search?q=pan&page=1, Query: a pan)", "FeatureRetrieve takes the page of an item"),
        ("R1 = FeatureRetrieve(/item/W999, Query: a pan)", "FeatureRetrieve takes the page of an item"),
        ("R1 = Pick(nothing, nothing, Query: a pan)", "No item is named"),
        ("R1 = Pick(W001)", "The arguments of Pick cannot be read"),
        ("R1, R2 = Pick(W001, W001, a pan)", "Pick has one result"),
    ],
)
def test_wrong_arguments_are_refused_in_a_sentence(text, says):
    refused = run(text)
    assert isinstance(refused, Refused)
    assert refused.problem is ActionProblem.BAD_ARGUMENTS
    assert refused.message.startswith(says)


def test_tools_take_the_names_of_the_papers_arguments():
    item = SHOP.items[3]
    page = run(f"R2 = Click(/search?q={item.noun}&page=1, 1)")
    assert isinstance(page, Made)
    line = run("R3 = FeatureRetrieve(Feature_list: R2, Query: a red one)", values={"R2": page.values[0]})
    assert isinstance(line, Made)
    picked = run(
        "R4 = Pick(Item_names: R1, Item_features: [R3], Query: a red one)",
        values={"R1": "W001 W002", "R3": line.values[0]},
    )
    assert picked == Made((line.values[0][:4],))


def test_a_planner_with_whole_plans_is_scored():
    suite = suite_of(SLUG)
    task = suite.tasks[0]
    evaluator = episode_of(SLUG).evaluator(suite=suite, setting=Setting())
    (record,) = evaluator.run(planner=GoldPlanner(suite), tasks=[task.key])
    assert (record.score, record.indicators["reward"]) == (1.0, 1.0)
    assert len(suite.tasks) == TASKS
