"""The second realiser of requests, for hidden splits: says wishes in words that no public request has.

A request is an opening, sentences about its wishes, and a closing. A sentence is a phrase of the wish within a frame.
Many frames also name, in the words of the public requests, something that is not wanted. Files may be introduced before
and then be spoken of as "the first one". A seed draws the part of all phrases, frames and words that its season uses.
"""

import math
import random
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

Item = TypeVar("Item")
KEPT = 0.7
"""Share of all phrases, frames and words that a season uses."""
IMAGES, VIDEOS = ("image", "other"), ("video",)
"""Slots of files of which a request may speak without their names."""
_DRAWING = ("generate", "follow", "similar", "made", "removed", "cut_from")
"""Beginnings of acts with a second picture, so that "the picture" would be two."""
IMPOSSIBLE = ("no_tool", "contradiction")
"""Beginnings of acts that no plan can meet. What is said not to be wanted beside them is about other things, so that it
withdraws nothing of what makes them impossible."""
_NUMBERS = {2: "two", 3: "three", 4: "four"}
_SLOT = re.compile(r"\{(\w+)\}")


def table(name: str) -> dict[str, Any]:
    """One of the files of this package."""
    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))


WISHES: Mapping[str, Mapping[str, Any]] = {name: facts for name, facts in table("wishes").items() if name != "maps"}
"""Phrases by act."""
MAPS: Mapping[str, Sequence[str]] = table("wishes")["maps"]
FRAMES = table("frames")
WORDS: Mapping[str, Sequence[Any]] = table("words")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """One thing that a request wants."""

    act: str
    """Its name in `wishes.toml`."""
    slots: Mapping[str, str]
    """Texts for the slots of the act's phrases."""

    @property
    def plain(self) -> str:
        """The wish in the words of the public requests, from which goals are derived."""
        plain: str = WISHES[self.act]["plain"]
        return plain.format(**self.slots)

    @property
    def files(self) -> tuple[str, ...]:
        """The slots of files that the act's phrases have."""
        return tuple(slot for slot in (*IMAGES, *VIDEOS) if slot in slots_of(self.act))


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaking:
    """What surrounds the wishes of one request."""

    rng: random.Random
    strangers: Sequence[Mapping[str, str]]
    """Slots of things that the request does not want, at least one: {thing}, {things}, {action} and {map}."""
    idle: str = ""
    """A file that the request names and does not need; empty: none."""
    in_order: bool = False
    """Whether the wishes are told in the order of their results."""
    by_name: bool = False
    """Whether files are always called by their names."""


@dataclass(frozen=True)
class Speech:
    """The grammar of one season."""

    seed: str
    paraphrases: Mapping[str, Sequence[str]] = field(default_factory=dict, compare=False, repr=False)
    """Further sentences by act: paraphrases of public ones that no public request has."""
    _lists: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def some(self, items: Sequence[Item], *, of: str) -> Sequence[Item]:
        """The part of a list that the season uses, at least two."""
        if of not in self._lists:
            # Not a secret: the seed is.
            rng = random.Random(f"{self.seed} {of}")  # noqa: S311
            size = min(len(items), max(2, math.ceil(KEPT * len(items))))
            self._lists[of] = tuple(rng.sample(items, size))
        kept: Sequence[Item] = self._lists[of]
        return kept

    @property
    def words(self) -> Mapping[str, Sequence[Any]]:
        """What the season's requests are about."""
        return {kind: self.some(words, of=kind) for kind, words in WORDS.items()}

    def request(self, wishes: Sequence[Wish], *, speaking: Speaking) -> str:
        """A request for one to four wishes.

        Its words name each wish, and every file that one of them takes.
        """
        rng = speaking.rng
        introduction, names = self._introduction(wishes, speaking=speaking)
        teller = _Teller(speech=self, speaking=speaking, names=names, acts=frozenset(wish.act for wish in wishes))
        sentences = [*introduction, *teller.told(wishes)]
        if speaking.idle:
            remark = rng.choice(self._frames("idle")).format(file=speaking.idle)
            sentences.insert(rng.choice((0, len(sentences))), remark)
        if rng.random() < 0.4:
            sentences.insert(0, rng.choice(self._frames("opening")))
        if rng.random() < 0.35:
            sentences.append(rng.choice(self._frames("closing")))
        return " ".join(sentences)

    def phrases(self, act: str, kind: str) -> Sequence[str]:
        """The season's phrases of an act: `do`, `get` or `say`; empty if it has none."""
        facts = WISHES[act]
        own = facts if "do" in facts else WISHES[facts["use"]]
        found = self.some(own[kind], of=f"{act} {kind}") if own.get(kind) else ()
        others = self.some(self.paraphrases.get(act, ()), of=f"{act} paraphrases") if kind == "say" else ()
        # One, since they have the verbs of the public sentences.
        return (*found, *others[:1])

    def _frames(self, kind: str) -> Sequence[str]:
        return self.some(FRAMES[kind], of=f"frames {kind}")

    def _introduction(self, wishes: Sequence[Wish], *, speaking: Speaking) -> tuple[list[str], dict[str, str]]:
        """Sentences that introduce files, and what the wishes then call them."""
        slots = [(slot, wish.slots[slot]) for wish in wishes for slot in wish.files]
        names = {name: name for _, name in slots}
        has_new = any(wish.act.startswith(_DRAWING) or "_then_" in wish.act for wish in wishes)
        if has_new or speaking.idle or speaking.by_name or not names or speaking.rng.random() < 0.5:
            return [], names
        sentences = []
        for kind, of_kind in (("image", IMAGES), ("video", VIDEOS)):
            files = list(dict.fromkeys(name for slot, name in slots if slot in of_kind))
            if len(files) not in (1, 2):
                continue
            sentence, called = speaking.rng.choice(self._introductions(kind if len(files) == 1 else f"{kind}s"))
            sentences.append(sentence.format("", *files))
            names |= zip(files, [speaking.rng.choice(called)] if len(files) == 1 else called, strict=True)
        has_both = len({kind in VIDEOS for kind, _ in slots}) == 2
        if has_both and len(names) > 2:
            # "The first one" could be a picture as well as a clip.
            return [], {name: name for name in names}
        return sentences, names

    def _introductions(self, kind: str) -> Sequence[Any]:
        return self.some(FRAMES["files"][kind], of=f"files {kind}")

    def frames(self, kind: str, *, ends: str = "") -> list[str]:
        """Frames of a kind; with `ends` only those in which that slot is the last thing said."""
        if not ends:
            return list(self._frames(kind))
        fitting = [frame for frame in FRAMES[kind] if frame.endswith(f"{{{ends}}}.")]
        return [frame for frame in self._frames(kind) if frame in fitting] or fitting


@dataclass(frozen=True, slots=True, kw_only=True)
class _Teller:
    """Tells the wishes of one request."""

    speech: Speech
    speaking: Speaking
    names: Mapping[str, str]
    """What each file is called."""
    acts: frozenset[str]
    """All that the request wants, so that nothing of it is said not to be wanted."""

    def told(self, wishes: Sequence[Wish]) -> list[str]:
        rng = self.speaking.rng
        if len(wishes) > 1 and rng.random() < 0.6:
            phrases = [self._phrase(wish, "do") for wish in wishes]
            if all(phrases) and not any(phrase.endswith((".", "?", '"')) for phrase in phrases if phrase):
                return [self._joined([phrase for phrase in phrases if phrase])]
        order = list(wishes)
        if not self.speaking.in_order:
            rng.shuffle(order)
        sentences = []
        for number, wish in enumerate(order):
            if number and rng.random() < 0.6:
                sentences.append(rng.choice(self.speech.frames("also")))
            sentences.append(self._single(wish))
        return sentences

    def _joined(self, phrases: Sequence[str]) -> str:
        kind = _NUMBERS[len(phrases)]
        frames = list(self.speech.frames(kind))
        if not self.speaking.in_order:
            frames += self.speech.frames(f"{kind}_turned")
        return _finished(self.speaking.rng.choice(frames).format("", *phrases))

    def _single(self, wish: Wish) -> str:
        """One or more sentences about a wish."""
        rng = self.speaking.rng
        kinds = [kind for kind in ("do", "do", "get", "say") if self.speech.phrases(wish.act, kind)]
        kind = rng.choice(kinds)
        phrase = self._phrase(wish, kind) or ""
        is_free = phrase.endswith((".", "?", '"'))
        unwanted = self._unwanted(wish) if rng.random() < 0.7 else None
        if kind == "say":
            asides = [rng.choice(self.speech.frames("aside")).format(**unwanted)] if unwanted else []
            return " ".join(map(_finished, rng.choice(([phrase, *asides], [*asides, phrase]))))
        slot, framed = kind, f"not_{kind}" if unwanted else kind
        frames = self.speech.frames(framed, ends=slot if is_free else "")
        text = rng.choice(frames).format(**{slot: phrase, slot.capitalize(): _capital(phrase), **(unwanted or {})})
        return _finished(text)

    def _phrase(self, wish: Wish, kind: str) -> str | None:
        choices = self.speech.phrases(wish.act, kind)
        return self._filled(self.speaking.rng.choice(choices), slots=wish.slots) if choices else None

    def _filled(self, phrase: str, *, slots: Mapping[str, str]) -> str:
        """A phrase with what files are called here."""
        rng, files = self.speaking.rng, (*IMAGES, *VIDEOS)
        called = {slot: self.names.get(text, text) if slot in files else text for slot, text in slots.items()}
        if kind := slots.get("map"):
            named = rng.choice(self.speech.some(MAPS[kind], of=f"map {kind}"))
            called |= {"map_of": named.format(image=called.get("image", "")), "map_of_it": named.format(image="it")}
        return phrase.format(**called)

    def _unwanted(self, wish: Wish) -> dict[str, str] | None:
        """Phrases for something that this request does not want, in the words of the public ones."""
        medium = _medium(wish)
        rng, table_of = self.speaking.rng, FRAMES["unwanted"].get(medium, {})
        acts = [act for act in table_of if not any(_are_akin(act, own) for own in self.acts)]
        if not acts:
            return None
        act, stranger = rng.choice(acts), dict(rng.choice(self.speaking.strangers))
        is_other = rng.random() < 0.5 or "thing" not in wish.slots or wish.act.startswith(IMPOSSIBLE)
        slots = {**wish.slots, **stranger} if is_other else {**stranger, **wish.slots}
        slots["map"] = stranger["map"]
        found: dict[str, str] = {}
        for kind in ("do", "get"):
            phrase = self._filled(rng.choice(table_of[act][kind]), slots=slots)
            found |= {f"not_{kind}": phrase, f"Not_{kind}": _capital(phrase)}
        return found


def _medium(wish: Wish) -> str:
    if "{text}" in WISHES[wish.act]["plain"]:
        return "text"
    if wish.act in {"contradiction_nothing", "no_tool_nothing"}:
        return "nothing"
    if wish.files:
        return "video" if "video" in wish.files else "image"
    return "nothing" if wish.act.startswith(("generate", "follow")) else ""


_AKIN: Mapping[str, Sequence[str]] = {
    "locate": ("boxes",),
    "highlight": ("made_then_highlighted",),
    "count": ("made_then_counted",),
    "remove": ("removed_then_described", "removed_then_mapped"),
    "cut_out": ("keep_masked", "cut_from_new"),
    "segment_all": ("segments", "follow_segments", "similar_then_segmented"),
    "describe": ("made_then_described", "removed_then_described", "title_of_caption", "tags_of_caption"),
    "recognise": ("classify",),
    "similar": ("generate", "generate_sentence", "follow_made", "follow_made_sentence", "follow_segments"),
    "make_map": ("follow_made", "follow_made_sentence", "made_then_mapped", "removed_then_mapped"),
    "action": ("actions", "motion", "motions"),
    "actions": ("action", "motion", "motions"),
    "motions": ("action", "actions", "motion"),
    "story": ("actions", "title_of_clip", "tags_of_clip"),
}
"""Acts of which another one is a part or a kind, so that to want them and not the other would be odd."""


def _are_akin(act: str, own: str) -> bool:
    """Whether who wants `own` cannot well say that `act` is not wanted."""
    return own == act or own.startswith(f"{act}_") or own in _AKIN.get(act, ())


def _capital(text: str) -> str:
    """The text with a capital letter, unless it begins with the name of a file."""
    return text if "." in text.split(" ", 1)[0] else text[:1].upper() + text[1:]


_DOUBLE = re.compile(r"([.?!])\.(?=\s|$)")
_AFTER_QUOTE = re.compile(r"([.?!]\")\.(?=\s|$)")
_BEGINNING = re.compile(r"(?<=[.?!] )[a-z][\w'-]*(?![\w.-]*\.\w)")
"""The first word of a later sentence, unless it is the name of a file."""


def _finished(text: str) -> str:
    """Sentences with capital letters and one full stop each."""
    text = _AFTER_QUOTE.sub(r"\1", _DOUBLE.sub(r"\1", text))
    return _capital(_BEGINNING.sub(lambda word: _capital(word[0]), text))


def by_act(pairs: Iterable[tuple[str, str]]) -> Mapping[str, Sequence[str]]:
    """Sentences of pairs of an act and a sentence, by act, each once."""
    found: dict[str, dict[str, None]] = {}
    for act, sentence in pairs:
        if act in WISHES:
            found.setdefault(act, {})[sentence] = None
    return {act: tuple(sentences) for act, sentences in found.items()}


def article(name: str) -> str:
    """A name with its indefinite article."""
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


@cache
def slots_of(act: str) -> frozenset[str]:
    """The slots of an act's plain sentence."""
    return frozenset(_SLOT.findall(WISHES[act]["plain"]))


def distinct(items: Iterable[Item]) -> bool:
    """Whether no item is there twice."""
    own = list(items)
    return len(own) == len(set(own))
