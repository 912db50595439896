"""Other words for generated requests: sentences of known patterns, each with patterns that say the same.

A pattern is a sentence with slots, such as `Count the {things} in {image}, please.`. What fills the slots is kept as it
is, so a request keeps its meaning if each pattern means the same as its alternatives. Suites' tests show that goals do.
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

_WORDS = r"(?:[^.?!\"\s]|\.(?=\w)|[ ](?=\S))+?"
"""Words of one sentence; names of files have dots."""
_SLOTS = {
    "text": r"[^\"]+",
    "sentence": r"[^.?!]+[.?!]",
    "question": r"[^.?!]+\?",
}
"""What slots of these names take; others take words of one sentence."""
_ENDS = frozenset('.?!"')
_SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence of a request: the pattern that it follows, and what fills its slots."""

    pattern: str
    slots: tuple[tuple[str, str], ...]
    start: int = field(compare=False)
    end: int = field(compare=False)


@dataclass(frozen=True)
class Rewording:
    """Patterns with their alternatives."""

    alternatives: Mapping[str, Sequence[str]]
    """By pattern; an alternative has the same slots, in any order."""

    def reworded(self, text: str, *, rng: random.Random) -> str | None:
        """The text with other words for each sentence of a known pattern; None if it has none."""
        parts, done = [], 0
        for said in self.read(text):
            parts += [text[done : said.start], rng.choice(self.alternatives[said.pattern]).format(**dict(said.slots))]
            done = said.end
        return "".join([*parts, text[done:]]) if parts else None

    def read(self, text: str) -> Sequence[Said]:
        """The sentences of known patterns, in order. Of several patterns that fit, the one of most letters counts."""
        found, place = [], 0
        while place < len(text):
            begins = place == 0 or text[:place].rstrip()[-1:] in _ENDS
            said = next(self._at(text, place=place), None) if begins else None
            if said is not None:
                found.append(said)
                place = said.end
            place = text.find(" ", place) + 1 or len(text)
        return found

    @cached_property
    def inverse(self) -> "Rewording":
        """From each alternative back to its pattern, to see that nothing was lost."""
        return Rewording({other: (pattern,) for pattern, others in self.alternatives.items() for other in others})

    def _at(self, text: str, *, place: int) -> Iterator[Said]:
        for pattern, expression in self._expressions:
            match = expression.match(text, place)
            if match is not None:
                yield Said(pattern, tuple(sorted(match.groupdict().items())), match.start(), match.end())

    @cached_property
    def _expressions(self) -> tuple[tuple[str, re.Pattern[str]], ...]:
        ordered = sorted(self.alternatives, key=lambda pattern: -len(_SLOT.sub("", pattern)))
        return tuple((pattern, _expression(pattern)) for pattern in ordered)


def _expression(pattern: str) -> re.Pattern[str]:
    parts, seen = [], set[str]()
    for number, part in enumerate(_SLOT.split(pattern)):
        if number % 2 == 0:
            parts.append(re.escape(part))
        else:
            parts.append(f"(?P={part})" if part in seen else f"(?P<{part}>{_SLOTS.get(part, _WORDS)})")
            seen.add(part)
    return re.compile("".join(parts) + r"(?=\s|$)")
