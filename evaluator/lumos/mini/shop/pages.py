"""The pages of a shop as texts. Each begins with its address, which says everything about it: no page has hidden state.

address = "/search?q=" query "&page=" number | "/item/" key [ "?" option "=" value { "&" ... } ] | "/bought/" key [...]
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote_plus, urlencode

from evaluator.lumos.mini.shop.catalogue import Item, Shop

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
