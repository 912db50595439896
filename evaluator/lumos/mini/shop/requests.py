"""Requests for something to buy."""

from typing import TYPE_CHECKING

from evaluator.lumos.gold_turns import GoldTurn
from evaluator.lumos.mini.draws import Drawn, Source
from evaluator.lumos.mini.shop.catalogue import SHOPS, Item, Shop, shop
from evaluator.lumos.mini.shop.pages import BUY, NEXT, ON_A_PAGE
from evaluator.lumos.mini.shop.reward import Goal, reward
from evaluator.miniature.draws import one_of, some_of

if TYPE_CHECKING:
    import numpy as np

KINDS = ("one feature", "two features", "three features")
_FORMS = (
    "I want a {features} {noun} in {colour}, size {size}, for at most {most} coins.",
    "Buy a {features} {noun}. It must be {colour} and {size}, and cost no more than {most} coins.",
    "I need a {noun} that is {features}, {colour} and {size}; the price must not exceed {most} coins.",
)


def draw_request(*, source: Source, index: int, attempt: int = 0) -> Drawn:
    """The request with this number; each attempt is another one of the same kind.

    A search for its features and noun finds an item that meets it within three pages.
    """
    rng = source.stream("request", index, attempt)
    number = index % SHOPS + SHOPS * (index // 600)
    sold = shop(source=source, number=number)
    wanted = index % len(KINDS) + 1
    while True:
        item = one_of(rng, sold.items)
        goal = _goal(item=item, count=wanted, rng=rng)
        query = f"{' '.join(goal.features)} {goal.noun}"
        way = _way(sold=sold, goal=goal, query=query)
        if way is not None:
            break
    features = " and ".join(filter(None, (", ".join(goal.features[:-1]), goal.features[-1])))
    text = one_of(rng, _FORMS).format(
        features=features, noun=goal.noun, colour=goal.colour, size=goal.size, most=goal.most
    )
    return Drawn(text=text, answer=goal.to_text(), gold=way, kind=KINDS[wanted - 1], scope=f"shop {number}")


def _goal(*, item: Item, count: int, rng: "np.random.Generator") -> Goal:
    features = tuple(some_of(rng, item.features, count=count))
    return Goal(
        noun=item.noun, features=features, colour=one_of(rng, item.colours),
        size=one_of(rng, item.sizes), most=(item.coins // 10 + 1) * 10,
    )  # fmt: skip


def _way(*, sold: Shop, goal: Goal, query: str) -> tuple[GoldTurn, ...] | None:
    """The way to the first item that meets the goal; None if it is not on the first three pages."""
    found = sold.search(query)[: 3 * ON_A_PAGE]
    chosen = {"colour": goal.colour, "size": goal.size}
    fits = [
        place
        for place, item in enumerate(found)
        if reward(goal=goal, item=item, chosen=chosen) == 1.0
        and goal.colour in item.colours
        and goal.size in item.sizes
    ]
    if not fits:
        return None
    page, number = divmod(fits[0], ON_A_PAGE)
    last = 1
    turns = [GoldTurn(f"Search for a {query}.", f"R1 = Search({query})")]
    for _ in range(page):
        last += 1
        turns.append(GoldTurn("Look at the next page of results.", f"R{last} = Click(R{last - 1}, {NEXT})"))
    turns.append(GoldTurn("Open the item that fits.", f"R{last + 1} = Click(R{last}, {number + 1})"))
    options = f"R{last + 2} = Click(R{last + 1}, {goal.colour}); R{last + 3} = Click(R{last + 2}, {goal.size})"
    turns.append(GoldTurn(f"Choose {goal.colour} and {goal.size}.", options))
    turns.append(GoldTurn("Buy it.", f"R{last + 4} = Click(R{last + 3}, {BUY})"))
    return tuple(turns)
