"""Requests to buy something on the hidden split: features, colours, sizes and limits are described, not named."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from evaluator.lumos.mini.draws import Drawn, Source
from evaluator.lumos.mini.hidden.grammar import Grammar, number_text, sentence
from evaluator.lumos.mini.shop import COLOURS, SIZES, Goal, draw_goal, kind_of, number_for
from evaluator.miniature.grammar.german import with_article
from evaluator.miniature.seeds import one_of

if TYPE_CHECKING:
    import numpy as np

_FEATURES: Mapping[str, tuple[str, ...]] = {
    "stainless": ("does not rust", "never gets rust"),
    "non-stick": ("lets no food cling to it", "has a surface that food does not cling to"),
    "dishwasher-safe": ("can be cleaned in a dishwasher", "survives a dishwasher"),
    "lightweight": ("weighs little", "is not heavy at all"),
    "hand-painted": ("somebody decorated with a brush", "got its pattern from a brush, not a printer"),
    "stackable": ("can be piled up with others like it", "can be put on top of others like it to save room"),
    "insulated": ("keeps warmth and cold where they are", "lets neither warmth nor cold through"),
    "waterproof": ("no rain gets through", "keeps water out"),
    "woollen": ("was spun from sheep's hair", "is made of what sheep are shorn for"),
    "lined": ("has a second layer of cloth inside", "is covered with cloth on the inside"),
    "machine-washable": ("may go into a washing machine", "can be cleaned in a washing machine"),
    "hand-sewn": ("was stitched without a machine", "somebody stitched with needle and thread"),
    "windproof": ("no gust gets through", "keeps gusts out"),
    "foldable": ("collapses to a flat shape", "can be collapsed when not in use"),
    "wooden": ("was cut from a tree", "consists of oak, beech or the like"),
    "scratch-proof": ("takes no scratches", "stays free of scratches"),
    "hand-made": ("no factory produced", "came from a craftsman and not from a factory"),
    "adjustable": ("can be set higher or lower", "can be set to one's own measure"),
    "padded": ("has soft filling", "is cushioned with a soft filling"),
}
"""What an item with a feature does, after `that`. They fit the features of each category without overlap."""
_COLOURS: Mapping[str, tuple[str, ...]] = {
    "red": ("ripe strawberries", "fresh blood"),
    "blue": ("cornflowers", "a cloudless sky at noon"),
    "green": ("spinach", "young grass"),
    "black": ("soot", "coal"),
    "white": ("fresh snow", "milk"),
    "yellow": ("canaries", "ripe lemons"),
}
_SIZES: Mapping[str, tuple[str, ...]] = {
    "small": ("least", "tiniest"),
    "medium": ("middle", "second"),
    "large": ("greatest", "biggest"),
}
_LIMITS = (
    "{purse} coins are in my purse, and {kept} of them must stay there.",
    "My purse holds {purse} coins, but I will not part with the last {kept}.",
    "{notes} notes of ten coins each are all that I will spend.",
    "I spend {notes} ten-coin notes, and not a coin beyond these.",
)
_FORMS = (
    "{limit} {thing} {features} is what I am after. Its colour: that of {colour}. As to size, the {size} of "
    "the three sizes small, "
    "medium and large.",
    "Of the sizes small, medium and large, order the {size}. {limit} The order is for {thing} {features}, "
    "coloured like {colour}.",
    "Coloured like {colour}: so should it be. I am looking for {thing} {features}. Its size is to be the "
    "{size} of small, "
    "medium and large. {limit}",
    "{past} Now I am after {thing} {features}. This one should have the colour of {colour}, and the {size} of "
    "the sizes small, "
    "medium and large. {limit}",
    "{limit} {past} As a replacement, order {thing} {features}, its colour that of {colour}, its size the "
    "{size} of small, "
    "medium and large.",
)  # fmt: skip
_PASTS = (
    "My last {noun} was {colour} and {size} and cost {coins} coins.",
    "{coins} coins bought my last {noun}, {size} and {colour}.",
)


def draw_request(*, source: Source, index: int, attempt: int = 0) -> Drawn:
    """Draw the request with this number. Attempts give requests of the same kind."""
    grammar = Grammar(source)
    rng = grammar.stream("request", index, attempt)
    goal, turns = draw_goal(source=source, index=index, rng=rng)
    return Drawn(
        text=_text(goal, grammar=grammar, rng=rng), answer=goal.to_text(), gold=turns, kind=kind_of(index),
        scope=f"shop {number_for(index)}",
    )  # fmt: skip


def _text(goal: Goal, *, grammar: Grammar, rng: "np.random.Generator") -> str:
    features = [f"that {grammar.wording(feature, _FEATURES[feature])}" for feature in goal.features]
    notes, kept = goal.most // 10, int(rng.integers(4, 60))
    limits = [limit for limit in grammar.part("limits", _LIMITS) if notes > 1 or "{notes}" not in limit]
    limit = one_of(rng, limits).format(
        purse=goal.most + kept, kept=kept, notes=number_text(notes, in_words=bool(rng.random() < 0.5))
    )
    past = one_of(rng, grammar.part("pasts", _PASTS)).format(
        noun=goal.noun, colour=one_of(rng, [colour for colour in COLOURS if colour != goal.colour]),
        size=one_of(rng, [size for size in SIZES if size != goal.size]), coins=int(rng.integers(5, 100)),
    )  # fmt: skip
    text = one_of(rng, grammar.part("requests", _FORMS)).format(
        limit=sentence(limit), past=past, features=" and ".join(features), thing=with_article(goal.noun),
        colour=grammar.wording(goal.colour, _COLOURS[goal.colour]), size=grammar.wording(goal.size, _SIZES[goal.size]),
    )  # fmt: skip
    return ". ".join(sentence(part) for part in text.split(". "))
