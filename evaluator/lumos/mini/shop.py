"""A WebShop-style shop with a synthetic catalogue: requests, search, pages, purchases and their reward.

A page is text that begins with its address, which determines the page: there is no hidden state.

address = "/search?q=" query "&page=" number | "/item/" key [ "?" option "=" value { "&" ... } ] | "/bought/" key [...]
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
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
"""Shops of a split."""
_MOST_RESULTS = 50
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
    """Four; the first two are part of the title."""
    colours: tuple[str, ...]
    sizes: tuple[str, ...]
    coins: int

    def options(self) -> Mapping[str, tuple[str, ...]]:
        """Values of each option."""
        return {"colour": self.colours, "size": self.sizes}


class Shop:
    """A catalogue with search."""

    def __init__(self, items: tuple[Item, ...]) -> None:
        self.items = items
        self.by_key = {item.key: item for item in items}

    def search(self, query: str) -> tuple[Item, ...]:
        """At most 50 items whose title or category shares words with the query, sorted by their number."""
        terms = frozenset(words_of(query))
        shared = [len(terms & words) for words in self._words]
        best = sorted((place for place, count in enumerate(shared) if count), key=lambda place: -shared[place])
        return tuple(self.items[place] for place in best[:_MOST_RESULTS])

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
    """Unknown page or element; the message lists the existing ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Address of a page."""

    kind: str
    """`search`, `item` or `bought`."""
    query: str = ""
    page: int = 1
    item: str = ""
    chosen: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        if self.kind == "search":
            return f"/search?q={quote_plus(self.query)}&page={self.page}"
        fields = [("q", self.query), ("page", str(self.page)), *self.chosen] if self.kind == "item" else self.chosen
        return f"/{self.kind}/{self.item}" + (f"?{urlencode(fields)}" if fields else "")


def address_of(text: str) -> Address:
    """Parse the address of a page, from the page or its first line.

    Raises:
        PageError: there is no address.
    """
    match = _ADDRESS.match(text[:_MAX_ADDRESS])
    if match is None:
        raise PageError("a page is the result of Search or Click, such as R1")
    path, _, fields_text = match[1].partition("?")
    _, kind, *item = path.split("/")
    fields = dict(parse_qsl(fields_text))
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
    results = shop.search(query)
    pages = max(1, -(-len(results) // ON_A_PAGE))
    if not 1 <= page <= pages:
        raise PageError(f"there is no page {page}; there are {pages}")
    start = (page - 1) * ON_A_PAGE
    items = results[start : start + ON_A_PAGE]
    lines = [f"Address: {Address(kind='search', query=query, page=page)}"]
    lines.append(f"Results {start + 1} to {start + len(items)} of {len(results)}." if results else "No results.")
    lines += [f"[{number}] {item.key} {item.title}, {item.coins} coins" for number, item in enumerate(items, start=1)]
    lines += [f"[{NEXT}]"] * (page < pages) + [f"[{PREVIOUS}]"] * (page > 1)
    return "\n".join(lines)


def click(*, shop: Shop, address: Address, element: str) -> str:
    """The page after clicking an element of a page.

    Raises:
        PageError: the page has no such element; the message lists the elements.
    """
    label = " ".join(element.strip().strip("[]\"'").lower().split())
    if address.kind == "search":
        return _from_results(shop=shop, address=address, label=label)
    if address.kind == "bought":
        raise PageError("the order is complete, and its page has nothing to click")
    item = shop.by_key.get(address.item)
    if item is None:
        raise PageError(f"there is no item {address.item!r}")
    bad = [name for name, value in address.chosen if value not in item.options().get(name, ())]
    if bad:
        raise PageError(f"the item has no such {bad[0]}")
    if label == BACK:
        return search_page(shop=shop, query=address.query, page=address.page)
    if label == BUY:
        return _bought_page(item=item, address=address)
    for name, values in item.options().items():
        if label in {value.lower() for value in values}:
            chosen = {**dict(address.chosen), name: label}
            return item_page(item=item, address=replace(address, chosen=tuple(sorted(chosen.items()))))
    elements = [*(value for values in item.options().values() for value in values), BUY, BACK]
    raise PageError(f"the page has no element {element.strip()!r}; it has: {', '.join(elements)}")


def item_page(*, item: Item, address: Address) -> str:
    """The page of an item, with the chosen options."""
    chosen = dict(address.chosen)
    lines = [f"Address: {address}", f"{item.key} {item.title}", f"Price: {item.coins} coins"]
    lines.append(f"Category: {item.category}")
    lines.append(f"Features: {', '.join(sorted(item.features))}")
    for name, values in item.options().items():
        marked = [f"[{value}]" + (" (chosen)" if chosen.get(name) == value else "") for value in values]
        lines.append(f"{name.capitalize()}: {' '.join(marked)}")
    return "\n".join([*lines, f"[{BUY}]", f"[{BACK}]"])


def _from_results(*, shop: Shop, address: Address, label: str) -> str:
    if label in {NEXT, PREVIOUS}:
        step = 1 if label == NEXT else -1
        return search_page(shop=shop, query=address.query, page=address.page + step)
    start = (address.page - 1) * ON_A_PAGE
    items = shop.search(address.query)[start : start + ON_A_PAGE]
    for number, item in enumerate(items, start=1):
        if label in {str(number), item.key.lower(), f"{item.key} {item.title}".lower()}:
            target = Address(kind="item", query=address.query, page=address.page, item=item.key)
            return item_page(item=item, address=target)
    elements = ", ".join([*(f"{number} ({item.key})" for number, item in enumerate(items, start=1)), NEXT])
    raise PageError(f"the page has no element {label!r}; it has: {elements}")


def _bought_page(*, item: Item, address: Address) -> str:
    chosen = dict(address.chosen)
    lacking = [name for name in item.options() if name not in chosen]
    if lacking:
        raise PageError(f"the {lacking[0]} is not chosen yet; there are: {', '.join(item.options()[lacking[0]])}")
    target = Address(kind="bought", item=item.key, chosen=tuple(chosen.items()))
    options = ", ".join(f"{name} {value}" for name, value in chosen.items())
    return f"Address: {target}\nBought {item.key} {item.title} for {item.coins} coins: {options}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """Goal of a request."""

    noun: str
    features: tuple[str, ...]
    colour: str
    size: str
    most: int
    """Maximum price in coins."""

    def to_text(self) -> str:
        """As JSON, the inverse of `goal_of`."""
        return json.dumps(asdict(self))


def goal_of(text: str) -> Goal:
    """The inverse of `Goal.to_text`."""
    value = json.loads(text)
    return Goal(**{**value, "features": tuple(value["features"])})


def reward(*, goal: Goal, item: Item, chosen: dict[str, str]) -> float:
    """Reward of buying an item with these options, in [0, 1]."""
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
    """Draw the request with this number. Attempts give requests of the same kind.

    A search for its features and noun lists a suitable item on the first three pages.
    """
    rng = source.stream("request", index, attempt)
    goal, turns = draw_goal(source=source, index=index, rng=rng)
    features = " and ".join(filter(None, (", ".join(goal.features[:-1]), goal.features[-1])))
    text = one_of(rng, _FORMS).format(
        features=features, noun=goal.noun, colour=goal.colour, size=goal.size, most=goal.most
    )
    return Drawn(text=text, answer=goal.to_text(), gold=turns, kind=kind_of(index), scope=f"shop {number_for(index)}")


def number_for(index: int) -> int:
    """Number of a task's shop."""
    return index % SHOPS + SHOPS * (index // 600)


def kind_of(index: int) -> str:
    """Kind of a task's request."""
    return KINDS[index % len(KINDS)]


def draw_goal(*, source: Source, index: int, rng: "np.random.Generator") -> tuple[Goal, tuple[GoldTurn, ...]]:
    """Draw the goal of the request with this number, and the turns that meet it."""
    catalogue = shop(source=source, number=number_for(index))
    count = index % len(KINDS) + 1
    turns = None
    while turns is None:
        item = one_of(rng, catalogue.items)
        goal = Goal(
            features=tuple(some_of(rng, item.features, count=count)), noun=item.noun, colour=one_of(rng, item.colours),
            size=one_of(rng, item.sizes), most=(item.coins // 10 + 1) * 10,
        )  # fmt: skip
        turns = _solution(shop=catalogue, goal=goal, query=f"{' '.join(goal.features)} {goal.noun}")
    return goal, turns


def _solution(*, shop: Shop, goal: Goal, query: str) -> tuple[GoldTurn, ...] | None:
    """The turns that buy the first item that meets the goal; None if it is not on the first three pages."""
    chosen = {"colour": goal.colour, "size": goal.size}
    fits = [
        place
        for place, item in enumerate(shop.search(query)[: 3 * ON_A_PAGE])
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
    """Run `Search`: the first page of results."""
    catalogue = _shop(call.scope, source=source)
    if catalogue is None:
        return _no_shop(call)
    try:
        query = bound(call, parameters=(Parameter("query"),))["query"]
        return Made((search_page(shop=catalogue, query=query[:_LONGEST_QUERY]),))
    except UnboundError as error:
        return Refused(ActionProblem.BAD_ARGUMENTS, str(error))


def run_click(call: Call, *, source: Source) -> Outcome:
    """Run `Click`: the page after clicking an element."""
    catalogue = _shop(call.scope, source=source)
    if catalogue is None:
        return _no_shop(call)
    try:
        arguments = bound(call, parameters=(Parameter("page"), Parameter("element")))
        address = address_of(arguments["page"])
        return Made((click(shop=catalogue, address=address, element=arguments["element"]),))
    except UnboundError as error:
        return Refused(ActionProblem.BAD_ARGUMENTS, str(error))
    except PageError as error:
        return Refused(ActionProblem.TOOL_ERROR, f"{str(error)[:1].upper()}{str(error)[1:]}.")


def score_purchase(*, task: TurnTask, answer: str | None, source: Source) -> TurnScore:
    """Solved if the reward is 1. An answer is the page after `buy now`; other answers have the reward 0."""
    catalogue = _shop(task.scope, source=source)
    assert catalogue is not None
    goal = goal_of(task.answer)
    value = 0.0
    try:
        address = address_of(answer or "")
        item = catalogue.by_key.get(address.item)
        if address.kind == "bought" and item is not None:
            chosen = dict(address.chosen)
            legal = all(value in item.options().get(name, ()) for name, value in chosen.items())
            value = reward(goal=goal, item=item, chosen=chosen) if legal else 0.0
    except PageError:
        pass
    expected = f"{', '.join(goal.features)} {goal.noun}, {goal.colour}, {goal.size}, at most {goal.most} coins"
    return TurnScore(
        score=float(value == 1), indicators={"solved": float(value == 1), "reward": value}, expected=expected
    )


def _shop(scope: str, *, source: Source) -> Shop | None:
    kind, _, number = scope.partition(" ")
    return shop(source=source, number=int(number)) if kind == "shop" else None


def _no_shop(call: Call) -> Refused:
    return Refused(ActionProblem.UNKNOWN_TOOL, f"{call.tool} is not offered for this task.")
