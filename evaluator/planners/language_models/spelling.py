"""The tokens that spell the names that a constraint allows: a prefix trie, rebuilt after every name. Imports no torch.

A tokenizer spells a name differently at the beginning of a text, after a separator, and before one. So names are not
tokenized by themselves: the trie holds the tokens of the whole text so far, `A, B`, minus those of `A, `. A completion
is then spelt exactly as in the model's training data.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from evaluator.core.language_model import Constraint, Following

Tokens = tuple[int, ...]
Encode = Callable[[str], tuple[Sequence[int], Sequence[tuple[int, int]]]]
"""A text's token ids without special tokens, and the span of characters of each token."""
_SPELLINGS = 200_000
"""Cached texts, of some hundred bytes each."""
_ANCHORS = 1000


class UnspellableError(ValueError):
    """The tokenizer's spelling of the allowed names does not form a trie; the message names the text."""


class Speller:
    """Tokenizes continuations of a text. Has a cache, so share one between calls."""

    def __init__(self, encode: Encode) -> None:
        self._encode = encode
        self.spell = lru_cache(maxsize=_SPELLINGS)(self._spell)
        self.shared = lru_cache(maxsize=_SPELLINGS)(self._shared)
        self._of_anchor = lru_cache(maxsize=_ANCHORS)(lambda anchor: tuple(encode(anchor)[0]) if anchor else ())

    def _spell(self, anchor: str, text: str) -> tuple[Tokens, tuple[int, ...]]:
        """Tokens of `text` after `anchor`, and the end of each token as a position in `text`.

        If the text changes the spelling of the anchor, the text is tokenized by itself.
        """
        before = self._of_anchor(anchor)
        ids, spans = self._encode(anchor + text)
        if tuple(ids[: len(before)]) != before:
            anchor, before = "", ()
            ids, spans = self._encode(text)
        ends = (end - len(anchor) for _, end in spans[len(before) :])
        return tuple(ids[len(before) :]), tuple(ends)

    def _shared(self, anchor: str, text: str, names: tuple[str, ...]) -> Tokens:
        """The tokens of `text` after `anchor` that do not depend on which of `names` follows, at least one."""
        shared: Tokens | None = None
        for name in names:
            tokens, ends = self.spell(anchor, text + name)
            # Tokens that end within the text; ends ascend.
            inside = bisect_right(ends, len(text))
            if shared is None:
                shared = tokens[:inside]
            elif inside < len(shared) or tokens[: len(shared)] != shared:
                shared = common_prefix(shared, tokens[:inside])
        return shared or ()


@dataclass(frozen=True, slots=True)
class _Path:
    """A continuation: its tokens, and the names that are complete after them."""

    tokens: Tokens
    names: tuple[str, ...]
    is_end: bool


@dataclass(frozen=True, slots=True)
class _Position:
    """A position in the trie: `at` tokens of a path are written."""

    path: _Path
    at: int

    @property
    def is_done(self) -> bool:
        return self.at >= len(self.path.tokens)


class Grammar:
    """The completions that a call's constraint allows, as tokens. Shared by the beams of the call."""

    def __init__(self, *, constraint: Constraint, speller: Speller, end: int, anchor: str = "", lead: str = "") -> None:
        """Args:
        constraint: queried once for each sequence of names.
        speller: speller of the model's tokenizer.
        end: the token that ends a completion.
        anchor: the last characters of the prompt, which may change the spelling of the first name.
        lead: the completion's text before its first name, a space for many models.
        """
        self._constraint = constraint
        self._speller = speller
        self._end = end
        self._anchor = anchor
        self._lead = lead
        self._following: dict[tuple[str, ...], Following] = {}
        self._committed: dict[tuple[str, ...], Tokens] = {(): ()}
        self._tries: dict[tuple[str, ...], tuple[_Position, ...]] = {}
        self._positions: dict[Tokens, tuple[_Position, ...]] = {}

    def allowed(self, written: Tokens) -> tuple[int, ...]:
        """The tokens that may follow these, in ascending order; none after the end or after a forbidden token."""
        return tuple(sorted({place.path.tokens[place.at] for place in self._at(written) if not place.is_done}))

    def ahead(self, written: Tokens) -> tuple[Tokens, ...]:
        """The remaining tokens of each path, up to the next name or the end. Their first tokens are `allowed`."""
        places = (place for place in self._at(written) if not place.is_done)
        return tuple(dict.fromkeys(place.path.tokens[place.at :] for place in places))

    def names(self, written: Tokens) -> tuple[tuple[str, ...], bool]:
        """The complete names in these tokens, and whether the completion has ended."""
        places = self._at(written)
        ended = next((place.path.names for place in places if place.path.is_end and place.is_done), None)
        if ended is not None:
            return ended, True
        started = min((place.path.names for place in places), key=len, default=())
        return started[:-1], False

    def spelling(self, names: Sequence[str]) -> Tokens:
        """The tokens of the completion with these names, including the end.

        Raises:
            ValueError: the constraint does not allow this completion.
        """
        goal = tuple(names)
        written: Tokens = ()
        while self.names(written) != (goal, True):
            for place in self._at(written):
                path, length = place.path.names, len(place.path.names)
                leads = path == goal if place.path.is_end else length < len(goal) and path == goal[:length]
                if leads and not place.is_done:
                    written = (*written, place.path.tokens[place.at])
                    break
            else:
                text = self._constraint.separator.join(goal)
                raise ValueError(f"the constraint does not allow the completion {text!r}")
        return written

    def _at(self, written: Tokens) -> tuple[_Position, ...]:
        if written not in self._positions:
            places: Sequence[_Position] = self._trie(())
            if written:
                places = [
                    _Position(path=place.path, at=place.at + 1)
                    for place in self._at(written[:-1])
                    if not place.is_done and place.path.tokens[place.at] == written[-1]
                ]
            self._positions[written] = tuple(self._closure(places))
        return self._positions[written]

    def _closure(self, places: Sequence[_Position]) -> Iterator[_Position]:
        """The places; for one at the end of a name, the roots of the trie of its followers."""
        for place in places:
            if place.path.is_end or not place.is_done:
                yield place
            else:
                yield from self._closure(self._trie(place.path.names))

    def _trie(self, names: tuple[str, ...]) -> tuple[_Position, ...]:
        if names not in self._tries:
            self._tries[names] = tuple(_Position(path=path, at=0) for path in self._paths(names))
        return self._tries[names]

    def _paths(self, names: tuple[str, ...]) -> Iterator[_Path]:
        if not names and self._ask(names).may_end:
            yield _Path(tokens=(self._end,), names=(), is_end=True)
        done = self._committed[names]
        for name in self._ask(names).names:
            longer = (*names, name)
            after = self._ask(longer)
            if after.may_end:
                tokens = (*self._less(self._spell(longer)[0], done=done, names=longer), self._end)
                yield _Path(tokens=tokens, names=longer, is_end=True)
            if after.names:
                self._committed[longer] = self._shared(longer, after=after)
                tokens = self._less(self._committed[longer], done=done, names=longer)
                if not tokens:
                    # Otherwise the trie would hold all completions at once, however many names they have.
                    raise self._unspellable(longer)
                yield _Path(tokens=tokens, names=longer, is_end=False)

    def _ask(self, names: tuple[str, ...]) -> Following:
        if names not in self._following:
            self._following[names] = self._constraint.following(names)
        return self._following[names]

    def _spell(self, names: Sequence[str]) -> tuple[Tokens, tuple[int, ...]]:
        return self._speller.spell(self._anchor, self._lead + self._constraint.separator.join(names))

    def _shared(self, names: tuple[str, ...], *, after: Following) -> Tokens:
        """The tokens of these names and the separator that do not depend on the next name."""
        separator = self._constraint.separator
        return self._speller.shared(self._anchor, self._lead + separator.join(names) + separator, after.names)

    def _less(self, tokens: Tokens, *, done: Tokens, names: Sequence[str]) -> Tokens:
        if tokens[: len(done)] != done:
            raise self._unspellable(names)
        return tokens[len(done) :]

    def _unspellable(self, names: Sequence[str]) -> UnspellableError:
        text = self._constraint.separator.join(names)
        return UnspellableError(
            f"how the tokenizer spells {text!r} depends on all that follows; it cannot be constrained"
        )


def common_prefix(left: Tokens, right: Tokens) -> Tokens:
    """The tokens that both begin with."""
    return left[: next((at for at, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1]),
                       min(len(left), len(right)))]  # fmt: skip
