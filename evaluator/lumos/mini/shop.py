"""A shop with a synthetic catalogue: requests, search, pages, buying, and what a purchase is worth. WebShop-style.

A page is a text that begins with its address, which determines it: no page has hidden state.

address = "/search?q=" query "&page=" number | "/item/" key [ "?" option "=" value { "&" ... } ] | "/bought/" key [...]
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote_plus, urlencode

from evaluator.core.transcripts import ActionProblem
from evaluator.episodes.turns.environment import Call, Made, Outcome, Refused, TurnScore
from evaluator.lumos.mini.draws import Drawn, Source
from evaluator.lumos.retrieval.articles import words_of
from evaluator.lumos.retrieval.environment import UnboundError, bound
from evaluator.lumos.tasks import GoldTurn, TurnTask
from evaluator.miniature.seeds import one_of, some_of
from evaluator.replies.turns.binding import Parameter

if TYPE_CHECKING:
    import numpy as np


SIZE = 240
"""Items of a shop."""
SHOPS = 6
"""Of a split."""
_MOST_FOUND = 50
_NOUNS: Mapping[str, tuple[str, ...]] = {
    "kitchen": ("kettle", "pan", "bowl", "jug", "knife", "cup"),
    "clothes": ("coat", "shirt", "scarf", "hat", "jacket", "dress"),
    "furniture": ("table", "chair", "lamp", "shelf", "desk", "stool"),
    "travel": ("bag", "suitcase", "tent", "bottle", "umbrella", "map"),
}
_FEATURES: Mapping[str, tuple[str, ...]] = {
    "kitchen": ("stainless", "non-stick", "dishwasher-safe", "lightweight", "hand-painted", "stackable", "insulated"),
    "clothes": ("waterproof", "woollen", "lined", "lightweight", "machine-washable", "hand-sewn", "windproof"),
    "furniture": ("foldable", "wooden", "scratch-proof", "lightweight", "hand-made", "adjustable", "stackable"),
    "travel": ("waterproof", "foldable", "lightweight", "padded", "windproof", "insulated", "hand-sewn"),
}
COLOURS = ("red", "blue", "green", "black", "white", "yellow")
SIZES = ("small", "medium", "large")
_MAKERS = ("Alder", "Birch", "Cedar", "Dunmoor", "Elm", "Farnley")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Something for sale."""

    key: str
    """`W` and a number, such as `W017`."""
    title: str
    noun: str
    category: str
    features: tuple[str, ...]
    """Four; the first two stand in the title."""
    colours: tuple[str, ...]
    sizes: tuple[str, ...]
    coins: int

    def options(self) -> Mapping[str, tuple[str, ...]]:
        """What can be chosen, by name."""
        return {"colour": self.colours, "size": self.sizes}


class Shop:
    """Items with their search."""

    def __init__(self, items: tuple[Item, ...]) -> None:
        self.items = items
        self.by_key = {item.key: item for item in items}

    def search(self, query: str) -> tuple[Item, ...]:
        """The items whose title or category has most words of the query first, at most 50; those with none are left
        out."""
        wanted = frozenset(words_of(query))
        shared = [len(wanted & words) for words in self._words]
        best = sorted((place for place, count in enumerate(shared) if count), key=lambda place: -shared[place])
        return tuple(self.items[place] for place in best[:_MOST_FOUND])

    @cached_property
    def _words(self) -> tuple[frozenset[str], ...]:
        return tuple(frozenset(words_of(f"{item.title} {item.category}")) for item in self.items)


@lru_cache(maxsize=64)
def shop(*, source: Source, number: int) -> Shop:
    """A shop of a split."""
    rng = source.stream("shop", number)
    items = []
    for index in range(SIZE):
        category = one_of(rng, tuple(_NOUNS))
        noun = one_of(rng, _NOUNS[category])
        features = tuple(some_of(rng, _FEATURES[category], count=4))
        colours = tuple(some_of(rng, COLOURS, count=3))
        sizes = tuple(size for size in SIZES if rng.random() < 0.8) or SIZES
        items.append(
            Item(
                key=f"W{index:03d}", title=f"{one_of(rng, _MAKERS)} {features[0]} {features[1]} {noun}", noun=noun,
                category=category, features=features, colours=colours, sizes=sizes, coins=int(rng.integers(5, 100)),
            )
        )  # fmt: skip
    return Shop(tuple(items))


ON_A_PAGE = 5
BUY, NEXT, PREVIOUS, BACK = "buy now", "next page", "previous page", "back to results"
_MAX_ADDRESS = 2_000
_ADDRESS = re.compile(r"(?:Address: )?(/[a-z]+(?:/W\d{3})?(?:\?[^\s]*)?)\s*(?:\n|$)")


class PageError(ValueError):
    """There is no such page or element; the message says what there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a page is."""

    kind: str
    """`search`, `item` or `bought`."""
    query: str = ""
    page: int = 1
    item: str = ""
    chosen: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        if self.kind == "search":
            return f"/search?q={quote_plus(self.query)}&page={self.page}"
        behind = [("q", self.query), ("page", str(self.page)), *self.chosen] if self.kind == "item" else self.chosen
        return f"/{self.kind}/{self.item}" + (f"?{urlencode(behind)}" if behind else "")


def address_of(text: str) -> Address:
    """The address that a page or its first line is.

    Raises:
        PageError: there is none.
    """
    match = _ADDRESS.match(text[:_MAX_ADDRESS])
    if match is None:
        raise PageError("a page is the result of Search or Click, such as R1")
    path, _, behind = match[1].partition("?")
    _, kind, *item = path.split("/")
    fields = dict(parse_qsl(behind))
    number = fields.pop("page", "1")
    query = fields.pop("q", "")
    if (
        kind not in {"search", "item", "bought"}
        or len(item) != (kind != "search")
        or not re.fullmatch(r"\d{1,3}", number)
    ):
        raise PageError(f"there is no page {match[1]!r}")
    return Address(kind=kind, query=query, page=int(number), item="".join(item), chosen=tuple(fields.items()))


def search_page(*, shop: Shop, query: str, page: int = 1) -> str:
    """A page of results.

    Raises:
        PageError: there is no such page.
    """
    found = shop.search(query)
    pages = max(1, -(-len(found) // ON_A_PAGE))
    if not 1 <= page <= pages:
        raise PageError(f"there is no page {page}; there are {pages}")
    start = (page - 1) * ON_A_PAGE
    shown = found[start : start + ON_A_PAGE]
    lines = [f"Address: {Address(kind='search', query=query, page=page)}"]
    lines.append(f"Results {start + 1} to {start + len(shown)} of {len(found)}." if found else "No results.")
    lines += [f"[{number}] {item.key} {item.title}, {item.coins} coins" for number, item in enumerate(shown, start=1)]
    lines += [f"[{NEXT}]"] * (page < pages) + [f"[{PREVIOUS}]"] * (page > 1)
    return "\n".join(lines)


def click(*, shop: Shop, address: Address, element: str) -> str:
    """The page behind an element of a page.

    Raises:
        PageError: the page has no such element; the message says which it has.
    """
    wanted = " ".join(element.strip().strip("[]\"'").lower().split())
    if address.kind == "search":
        return _from_results(shop=shop, address=address, wanted=wanted)
    if address.kind == "bought":
        raise PageError("the order is complete, and its page has nothing to click")
    item = _item(shop, address)
    if wanted == BACK:
        return search_page(shop=shop, query=address.query, page=address.page)
    if wanted == BUY:
        return _bought_page(item=item, address=address)
    for name, values in item.options().items():
        if wanted in {value.lower() for value in values}:
            chosen = {**dict(address.chosen), name: wanted}
            return item_page(item=item, address=_with(address, chosen))
    there = [*(value for values in item.options().values() for value in values), BUY, BACK]
    raise PageError(f"the page has no element {element.strip()!r}; it has: {', '.join(there)}")


def item_page(*, item: Item, address: Address) -> str:
    """The page of an item, with what is chosen."""
    chosen = dict(address.chosen)
    lines = [f"Address: {address}", f"{item.key} {item.title}", f"Price: {item.coins} coins"]
    lines.append(f"Category: {item.category}")
    lines.append(f"Features: {', '.join(sorted(item.features))}")
    for name, values in item.options().items():
        marked = [f"[{value}]" + (" (chosen)" if chosen.get(name) == value else "") for value in values]
        lines.append(f"{name.capitalize()}: {' '.join(marked)}")
    return "\n".join([*lines, f"[{BUY}]", f"[{BACK}]"])


def _from_results(*, shop: Shop, address: Address, wanted: str) -> str:
    if wanted in {NEXT, PREVIOUS}:
        step = 1 if wanted == NEXT else -1
        return search_page(shop=shop, query=address.query, page=address.page + step)
    found = shop.search(address.query)
    start = (address.page - 1) * ON_A_PAGE
    shown = found[start : start + ON_A_PAGE]
    for number, item in enumerate(shown, start=1):
        if wanted in {str(number), item.key.lower(), f"{item.key} {item.title}".lower()}:
            behind = Address(kind="item", query=address.query, page=address.page, item=item.key)
            return item_page(item=item, address=behind)
    there = ", ".join([*(f"{number} ({item.key})" for number, item in enumerate(shown, start=1)), NEXT])
    raise PageError(f"the page has no element {wanted!r}; it has: {there}")


def _bought_page(*, item: Item, address: Address) -> str:
    chosen = dict(address.chosen)
    lacking = [name for name in item.options() if name not in chosen]
    if lacking:
        raise PageError(f"the {lacking[0]} is not chosen yet; there are: {', '.join(item.options()[lacking[0]])}")
    behind = Address(kind="bought", item=item.key, chosen=tuple(chosen.items()))
    options = ", ".join(f"{name} {value}" for name, value in chosen.items())
    return f"Address: {behind}\nBought {item.key} {item.title} for {item.coins} coins: {options}."


def _with(address: Address, chosen: Mapping[str, str]) -> Address:
    return Address(
        kind="item", query=address.query, page=address.page, item=address.item, chosen=tuple(sorted(chosen.items()))
    )


def _item(shop: Shop, address: Address) -> Item:
    item = shop.by_key.get(address.item)
    if item is None:
        raise PageError(f"there is no item {address.item!r}")
    bad = [name for name, value in address.chosen if value not in item.options().get(name, ())]
    if bad:
        raise PageError(f"the item has no such {bad[0]}")
    return item


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What a request wants."""

    noun: str
    features: tuple[str, ...]
    colour: str
    size: str
    most: int
    """Coins; the price is at most that."""

    def to_text(self) -> str:
        """As `goal_of` reads it."""
        return json.dumps(asdict(self))


def goal_of(text: str) -> Goal:
    """The inverse of `Goal.to_text`."""
    value = json.loads(text)
    return Goal(**{**value, "features": tuple(value["features"])})


def reward(*, goal: Goal, item: Item, chosen: dict[str, str]) -> float:
    """What buying an item with these options is worth; in [0, 1]."""
    features = sum(feature in item.features for feature in goal.features)
    options = (chosen.get("colour") == goal.colour) + (chosen.get("size") == goal.size)
    met = features + options + (item.coins <= goal.most)
    return met / (len(goal.features) + 3) if item.noun == goal.noun else 0.0


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


_LONGEST_QUERY = 200


def run_search(call: Call, *, source: Source) -> Outcome:
    """The first page of results."""
    sold = _shop(call.scope, source=source)
    if sold is None:
        return _no_shop(call)
    try:
        query = bound(call, parameters=(Parameter("query"),))["query"]
        return Made((search_page(shop=sold, query=query[:_LONGEST_QUERY]),))
    except UnboundError as error:
        return Refused(ActionProblem.BAD_ARGUMENTS, str(error))


def run_click(call: Call, *, source: Source) -> Outcome:
    """The page behind an element of a page."""
    sold = _shop(call.scope, source=source)
    if sold is None:
        return _no_shop(call)
    try:
        given = bound(call, parameters=(Parameter("page"), Parameter("element")))
        return Made((click(shop=sold, address=address_of(given["page"]), element=given["element"]),))
    except UnboundError as error:
        return Refused(ActionProblem.BAD_ARGUMENTS, str(error))
    except PageError as error:
        return Refused(ActionProblem.TOOL_ERROR, f"{str(error)[:1].upper()}{str(error)[1:]}.")


def score_purchase(*, task: TurnTask, answer: str | None, source: Source) -> TurnScore:
    """Solved where the reward is 1. An answer is the page after `buy now`; anything else is worth nothing."""
    sold = _shop(task.scope, source=source)
    assert sold is not None
    goal = goal_of(task.answer)
    worth = 0.0
    try:
        address = address_of(answer or "")
        item = sold.by_key.get(address.item)
        if address.kind == "bought" and item is not None:
            chosen = dict(address.chosen)
            legal = all(value in item.options().get(name, ()) for name, value in chosen.items())
            worth = reward(goal=goal, item=item, chosen=chosen) if legal else 0.0
    except PageError:
        pass
    expected = f"{', '.join(goal.features)} {goal.noun}, {goal.colour}, {goal.size}, at most {goal.most} coins"
    return TurnScore(
        score=float(worth == 1), indicators={"solved": float(worth == 1), "reward": worth}, expected=expected
    )


def _shop(scope: str, *, source: Source) -> Shop | None:
    kind, _, number = scope.partition(" ")
    return shop(source=source, number=int(number)) if kind == "shop" else None


def _no_shop(call: Call) -> Refused:
    return Refused(ActionProblem.UNKNOWN_TOOL, f"{call.tool} is not offered for this task.")
