"""The template memoriser: answers with the plan of the public request whose wording is most similar.

A template is a request in which the words that its plan repeats are slots. The nearest templates by the rarity of
common words are aligned with the request: words between the aligned ones fill the slots.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property
from typing import TYPE_CHECKING

from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.model import Plan
from evaluator.planners.shortcuts.examples import Example
from evaluator.planners.shortcuts.skeletons import (
    Skeleton,
    Span,
    Token,
    abstracted,
    filled,
    skeleton_from,
    tokens_of,
    word_of,
    words_given,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NEAREST = 24
"""Templates that are aligned with a request."""
_ALL_SLOT = 0.35
"""Similarity of a template that is one slot, which any request fills."""
_EMPTY_SLOT = 0.8
"""Factor of the similarity where a slot gets no word."""


@dataclass(frozen=True, slots=True)
class Template:
    """The wording of public requests with one plan."""

    words: tuple[str, ...]
    """As `word_of` gives them; for what is given by value, those of `words_given`."""
    spans: tuple[Span, ...]
    """Of each slot."""
    wanted: tuple[str, ...]
    """Types of the answers."""
    skeleton: int
    """Index in the list of skeletons."""
    count: int
    """Requests that have it."""


class Memoriser:
    """Templates, and an index of their words."""

    def __init__(self, *, templates: Sequence[Template], skeletons: Sequence[Skeleton]) -> None:
        self.templates, self.skeletons = templates, skeletons
        places: dict[str, list[int]] = {}
        for number, template in enumerate(templates):
            for word in frozenset(template.words):
                places.setdefault(word, []).append(number)
        import numpy as np

        self._places = {word: np.asarray(found, dtype=np.int32) for word, found in places.items()}
        self._weights = {word: math.log(1 + len(templates) / len(found)) for word, found in places.items()}
        norms = (sum(self._weights[word] for word in frozenset(template.words)) for template in templates)
        types = [template.wanted for template in templates]
        self._of_type = {kind: np.asarray([kind == other for other in types], dtype=np.float64) for kind in set(types)}
        self._norms: NDArray[np.float64] = np.asarray(list(norms), dtype=np.float64)

    @classmethod
    def of(cls, examples: Iterable[Example]) -> "Memoriser":
        """Induce the templates of examples."""
        skeletons: dict[str, int] = {}
        kept: list[Skeleton] = []
        templates: dict[tuple[tuple[str, ...], tuple[str, ...], int], Template] = {}
        counts: Counter[tuple[tuple[str, ...], tuple[str, ...], int]] = Counter()
        for example in examples:
            tokens = tokens_of(example.text)
            skeleton, spans = abstracted(
                plan=example.plan, tokens=tokens, resources=example.resources, has_slots=not example.given
            )
            number = skeletons.setdefault(skeleton.key, len(kept))
            if number == len(kept):
                kept.append(skeleton)
            words = _words(tokens, resources=example.resources, given=example.given)
            template = Template(words=words, spans=tuple(spans), wanted=example.wanted, skeleton=number, count=1)
            key = _open(template), example.wanted, number
            templates.setdefault(key, template)
            counts[key] += 1
        return cls(
            templates=[replace(template, count=counts[key]) for key, template in templates.items()], skeletons=kept
        )

    def plan(
        self, *, text: str, resources: Mapping[str, str], given: Mapping[str, JsonValue], wanted: tuple[str, ...]
    ) -> tuple[Plan, float] | None:
        """The plan of the most similar template that the request's resources fill, and the similarity from 0 to 1;
        None: there is none. Templates with the wanted types of answers come before all others.

        Args:
            text: of the request.
            resources: types by name.
            given: what is given by value.
            wanted: types of the answers, as far as they are told.
        """
        tokens = tokens_of(text)
        words = _words(tokens, resources=resources, given=given)
        best: tuple[tuple[bool, float, int], Template, list[str]] | None = None
        for number in self._nearest(words, wanted=wanted):
            template = self.templates[number]
            if self.skeletons[template.skeleton].fits(resources):
                similarity, slots = _aligned(template, words=words, tokens=tokens, text=text)
                order = template.wanted == wanted, similarity, template.count
                if best is None or order > best[0]:
                    best = order, template, slots
        if best is None:
            return None
        (_, similarity, _), template, slots = best
        return filled(self.skeletons[template.skeleton], words=slots, resources=resources), similarity

    def _nearest(self, words: Sequence[str], *, wanted: tuple[str, ...]) -> list[int]:
        """Templates by the weighted share of common words, the nearest first; at the end those that are one slot."""
        import numpy as np

        if not self.templates:
            return []
        common = np.zeros(len(self.templates))
        own = 0.0
        for word in sorted(frozenset(words)):
            if word in self._places:
                common[self._places[word]] += self._weights[word]
                own += self._weights[word]
            else:
                own += math.log(1 + len(self.templates))
        shares = 2 * common / (self._norms + own + 1e-9) + self._of_type.get(wanted, np.zeros(1))
        nearest = np.lexsort((np.arange(len(shares)), -shares))[:_NEAREST].tolist()
        return [*nearest, *(number for number in self._of_one_slot if number not in nearest)]

    @cached_property
    def _of_one_slot(self) -> list[int]:
        found: dict[int, int] = {}
        for number, template in enumerate(self.templates):
            if len(template.spans) == 1 and template.spans[0] == (0, len(template.words)):
                found.setdefault(template.skeleton, number)
        return list(found.values())[:_NEAREST]

    def to_json(self) -> JsonValue:
        """As JSON values."""
        return {
            "skeletons": [skeleton.to_json() for skeleton in self.skeletons],
            "templates": [
                [list(one.words), [list(span) for span in one.spans], list(one.wanted), one.skeleton, one.count]
                for one in self.templates
            ],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> "Memoriser":
        """The inverse of `to_json`."""
        skeletons, templates = value["skeletons"], value["templates"]
        assert isinstance(skeletons, list)
        assert isinstance(templates, list)
        return cls(
            templates=[
                Template(
                    words=tuple(words),
                    spans=tuple((start, end) for start, end in spans),
                    wanted=tuple(wanted),
                    skeleton=skeleton,
                    count=count,
                )
                for words, spans, wanted, skeleton, count in templates
            ],
            skeletons=list(map(skeleton_from, skeletons)),
        )


def _words(tokens: Sequence[Token], *, resources: Mapping[str, str], given: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """The words by which requests are compared."""
    if given:
        counts = Counter(words_given(given))
        return tuple(f"{word} x{count}" for word, count in sorted(counts.items()))
    return tuple(word_of(token, resources=resources) for token in tokens)


def _slots_at(template: Template) -> dict[int, int]:
    return {place: number for number, (start, end) in enumerate(template.spans) for place in range(start, end)}


def _open(template: Template) -> tuple[str, ...]:
    """The words with one word for each slot."""
    at = _slots_at(template)
    words: list[str] = []
    for place, word in enumerate(template.words):
        open_word = f"\0{at[place]}" if place in at else word
        if not (words and place in at and words[-1] == open_word):
            words.append(open_word)
    return tuple(words)


def _aligned(
    template: Template, *, words: Sequence[str], tokens: Sequence[Token], text: str
) -> tuple[float, list[str]]:
    """Similarity from 0 to 1, and the words of each slot."""
    at = _slots_at(template)
    anchors = [f"\0{at[place]}" if place in at else word for place, word in enumerate(template.words)]
    blocks = SequenceMatcher(None, anchors, words, autojunk=False).get_matching_blocks()
    # The place in the request of each word of the template that is there, too; before and behind all of them its ends.
    there = {-1: -1, len(anchors): len(words)}
    there |= {block.a + offset: block.b + offset for block in blocks for offset in range(block.size)}
    matched = len(there) - 2
    known = sorted(there)
    factor, spent, slots = 1.0, 0, list[str]()
    ends: dict[int, int] = {}
    for start, end in template.spans:
        before = max(place for place in known if place < start)
        after = min(place for place in known if place >= end)
        first = max(there[before] + 1, ends.get(after, 0))
        gap = list(range(first, there[after]))
        later = sum(1 for other, _ in template.spans if end <= other < after)
        if later:  # several slots in one gap: as many words as the template has, the last gets the rest
            gap = gap[: end - start]
        if end - start == 1 and template.words[start].startswith("<"):
            gap = [place for place in gap if words[place] == template.words[start]][:1] or gap
        if not gap:
            factor *= _EMPTY_SLOT
            slots.append("")
            continue
        ends[after] = gap[-1] + 1
        spent += len(gap)
        slots.append(text[tokens[gap[0]].start : tokens[gap[-1]].end])
    fixed = len(anchors) - len(at)
    total = fixed + len(words) - spent
    return (factor * 2 * matched / total if total else _ALL_SLOT), slots
