"""What a shop sells."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from evaluator.lumos.mini.draws import Source
from evaluator.lumos.retrieval.articles import words_of
from evaluator.miniature.draws import one_of, some_of

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
