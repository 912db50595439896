"""Which tokens spell the names that a constraint allows: a prefix trie, rebuilt after every name. No torch here.

A tokenizer spells a name differently at the beginning of a text, after a separator, and before one. So names are not
tokenised by themselves: the trie holds what the tokenizer makes of the whole text so far, `A, B`, less what it made of
`A, `. A completion is then spelt exactly as the model has read such texts in training.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from evaluator.core.language_model import Constraint, Following

Tokens = tuple[int, ...]
Encode = Callable[[str], tuple[Sequence[int], Sequence[tuple[int, int]]]]
"""A text's token ids without special tokens, and for each token which characters it stands for."""
_SPELLINGS = 200_000
"""Texts whose tokens are remembered; some hundred bytes each."""


class UnspellableError(ValueError):
    """The tokenizer spells the allowed names so that no trie can hold them; the message names the text."""


class Speller:
    """Spells completions that follow a given beginning. Remembers what it spelt, so one should serve many calls."""

    def __init__(self, encode: Encode) -> None:
        self._encode = encode
        self.spell = lru_cache(maxsize=_SPELLINGS)(self._spell)

    def _spell(self, anchor: str, text: str) -> tuple[Tokens, tuple[int, ...]]:
        """Tokens of `text` where it follows `anchor`, and the end of each token as a position in `text`.

        Where the tokenizer would spell the anchor itself otherwise, the text is spelt as if nothing were before it.
        """
        before = tuple(self._encode(anchor)[0]) if anchor else ()
        ids, spans = self._encode(anchor + text)
        if tuple(ids[: len(before)]) != before:
            anchor, before = "", ()
            ids, spans = self._encode(text)
        ends = (end - len(anchor) for _, end in spans[len(before) :])
        return tuple(ids[len(before) :]), tuple(ends)


@dataclass(frozen=True, slots=True)
class _Path:
    """How it may go on from a state: the tokens, and the names that are written when all of them are."""

    tokens: Tokens
    names: tuple[str, ...]
    is_end: bool


@dataclass(frozen=True, slots=True)
class _Position:
    """A place in a trie: `at` tokens of a path are written."""

    path: _Path
    at: int


class Grammar:
    """The completions of one call that its constraint allows, as tokens.

    Immutable but for what it remembers, so all beams of a call share one.
    """

    def __init__(self, *, constraint: Constraint, speller: Speller, end: int, anchor: str = "", lead: str = "") -> None:
        """Args:
        constraint: asked for what may follow after every name, once for each sequence of names.
        speller: of the model's tokenizer.
        end: the token that ends a completion.
        anchor: the last characters of the prompt, which may change how the first name is spelt.
        lead: stands before the first name and belongs to the completion, as a space does in many models.
        """
        self._constraint = constraint
        self._speller = speller
        self._end = end
        self._anchor = anchor
        self._lead = lead
        self._following: dict[tuple[str, ...], Following] = {}
        self._committed: dict[tuple[str, ...], Tokens] = {(): ()}
        self._tries: dict[tuple[str, ...], tuple[_Path, ...]] = {}
        self._positions: dict[Tokens, tuple[_Position, ...]] = {}

    def allowed(self, written: Tokens) -> tuple[int, ...]:
        """The tokens that may follow these, in ascending order; none after the end and after what is not allowed."""
        return tuple(sorted({place.path.tokens[place.at] for place in self._at(written) if not _is_done(place)}))

    def ahead(self, written: Tokens) -> tuple[Tokens, ...]:
        """The tokens with which each way goes on from here, up to where the next name begins or the completion ends.
        Every allowed token is the first one of some."""
        places = (place for place in self._at(written) if not _is_done(place))
        return tuple(dict.fromkeys(place.path.tokens[place.at :] for place in places))

    def names(self, written: Tokens) -> tuple[tuple[str, ...], bool]:
        """The names that these tokens have completed, and whether the completion has ended."""
        places = self._at(written)
        ended = next((place.path.names for place in places if place.path.is_end and _is_done(place)), None)
        if ended is not None:
            return ended, True
        started = min((place.path.names for place in places), key=len, default=())
        return started[:-1], False

    def spelling(self, names: Sequence[str]) -> Tokens:
        """The tokens of a completion that consists of these names, the end's included.

        Raises:
            ValueError: the constraint does not allow this completion.
        """
        goal = tuple(names)
        written: Tokens = ()
        while self.names(written) != (goal, True):
            places = [place for place in self._at(written) if not _is_done(place)]
            fitting = [place for place in places if _leads(place.path, goal)]
            if not fitting:
                text = self._constraint.separator.join(goal)
                raise ValueError(f"the constraint does not allow the completion {text!r}")
            written = (*written, fitting[0].path.tokens[fitting[0].at])
        return written

    def _at(self, written: Tokens) -> tuple[_Position, ...]:
        found = self._positions.get(written)
        if found is None:
            found = tuple(self._closed(self._moved(written) if written else self._trie(())))
            self._positions[written] = found
        return found

    def _moved(self, written: Tokens) -> Iterator[_Position]:
        for place in self._at(written[:-1]):
            if not _is_done(place) and place.path.tokens[place.at] == written[-1]:
                yield _Position(path=place.path, at=place.at + 1)

    def _closed(self, places: Iterator[_Position] | Sequence[_Position]) -> Iterator[_Position]:
        """The places themselves; where a name is whole, the roots of the trie of what may follow it."""
        for place in places:
            if place.path.is_end or not _is_done(place):
                yield place
            else:
                yield from self._closed(self._trie(place.path.names))

    def _trie(self, names: tuple[str, ...]) -> tuple[_Position, ...]:
        if names not in self._tries:
            self._tries[names] = tuple(self._paths(names))
        return tuple(_Position(path=path, at=0) for path in self._tries[names])

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
                    # Else the trie would hold all completions at once, however many names they have.
                    raise _unspellable(self._constraint.separator.join(longer))
                yield _Path(tokens=tokens, names=longer, is_end=False)

    def _ask(self, names: tuple[str, ...]) -> Following:
        if names not in self._following:
            self._following[names] = self._constraint.following(names)
        return self._following[names]

    def _spell(self, names: Sequence[str]) -> tuple[Tokens, tuple[int, ...]]:
        return self._speller.spell(self._anchor, self._lead + self._constraint.separator.join(names))

    def _shared(self, names: tuple[str, ...], *, after: Following) -> Tokens:
        """The tokens of these names and the separator as far as they are the same whichever name follows."""
        length = len(self._lead) + len(self._constraint.separator.join(names)) + len(self._constraint.separator)
        shared: Tokens | None = None
        for name in after.names:
            tokens, ends = self._spell((*names, name))
            inside = next((position for position, end in enumerate(ends) if end > length), len(tokens))
            shared = tokens[:inside] if shared is None else _common(shared, tokens[:inside])
        return shared or ()

    def _less(self, tokens: Tokens, *, done: Tokens, names: Sequence[str]) -> Tokens:
        if tokens[: len(done)] != done:
            raise _unspellable(self._constraint.separator.join(names))
        return tokens[len(done) :]


def _unspellable(text: str) -> UnspellableError:
    return UnspellableError(f"how the tokenizer spells {text!r} depends on all that follows; it cannot be constrained")


def _common(one: Tokens, other: Tokens) -> Tokens:
    length = next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None)
    return one[: min(len(one), len(other)) if length is None else length]


def _is_done(place: _Position) -> bool:
    return place.at >= len(place.path.tokens)


def _leads(path: _Path, goal: tuple[str, ...]) -> bool:
    return path.names == goal if path.is_end else path.names == goal[: len(path.names)] and len(path.names) < len(goal)
