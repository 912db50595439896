"""`FeatureRetrieve` and `Pick`: the features of an item that a request asks for, and the item that fits it best.

LUMOS uses a reader network for both (`dpr-reader-multiset-base`). Here they compare words, which is exact on every
machine.

Lines of `FeatureRetrieve` have the form `W085: stackable, green, small, 60 coins`.
"""

import re

from evaluator.lumos.mini.shop import Item, Shop
from evaluator.lumos.retrieval.articles import words_of

NONE = "nothing that fits"
_KEY = re.compile(r"\bW[0-9]{3}\b")
_LINE = re.compile(r"\b(W[0-9]{3}): ((?:(?!W[0-9]{3}: )[^\n;\]]){0,500})")
_COINS = re.compile(r"\b([0-9]{1,6}) coins?\b")


class ChoiceError(ValueError):
    """An argument names no item; the message is a sentence."""


def fitting(*, item: Item, query: str) -> str:
    """The features and options of an item all of whose words the query has, and its price, as a line."""
    wanted = frozenset(words_of(query))
    values = [*sorted(item.features), *(value for options in item.options().values() for value in options)]
    found = [value for value in dict.fromkeys(values) if (words := words_of(value)) and wanted.issuperset(words)]
    return f"{item.key}: {', '.join(found or [NONE])}, {item.coins} coins"


def best(*, shop: Shop, names: str, features: str, query: str) -> Item:
    """The item that fits a query best: within the price limit first, then by the number of the query's words that its
    title or its line of features has; the first of equals.

    Args:
        shop: the catalogue.
        names: a text with the numbers of items, such as a page of results.
        features: lines of `fitting`; where it has some, only their items count.
        query: the request. Its last number of coins is the limit.

    Raises:
        ChoiceError: no item of the shop is named.
    """
    lines = {key: text for key, text in _LINE.findall(features) if key in shop.by_key}
    keys = [key for key in dict.fromkeys(_KEY.findall(names)) if key in shop.by_key]
    both = [key for key in keys if key in lines] or list(lines) or keys
    if not both:
        raise ChoiceError("No item is named; items have numbers such as W017.")
    wanted = frozenset(words_of(query))
    limits = _COINS.findall(query)

    def rank(key: str) -> tuple[bool, int]:
        item = shop.by_key[key]
        words = wanted & frozenset(words_of(f"{item.title} {lines.get(key, '')}"))
        return not limits or item.coins <= int(limits[-1]), len(words)

    return max((shop.by_key[key] for key in both), key=lambda item: rank(item.key))
