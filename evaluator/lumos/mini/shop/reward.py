"""What a purchase is worth: the formula of WebShop (Yao et al., 2022, section 3.2) on a synthetic catalogue.

    r = r_type * (features met + options met + [price <= cap]) / (features wanted + options wanted + 1)

WebShop's `r_type` is 0 where the titles share no noun, and lies between 0 and 1 where some are shared. Titles here have
one noun each, so it is 1 for the wanted noun and 0 for any other. WebShop compares texts roughly; here words are equal
or not.
"""

import json
from dataclasses import asdict, dataclass

from evaluator.lumos.mini.shop.catalogue import Item


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
