"""Pairs of texts from a grammar: two wordings of one meaning, or of two meanings that differ in one point.

A meaning is a key of `questions.toml` or `texts.toml` with phrases in its slots. Each text picks its own synonyms from
`words.toml`. Different meanings differ in one of: key, head noun, quality or place of a phrase, verb, or the order of
two phrases.
"""

import random
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from evaluator.controlllm.toolbench.meaning.wordnet import PartOfSpeech, wordnet

FOLDER = Path(__file__).parent
_CHOICE = re.compile(r"\(([^()]*)\)")
_SLOT = re.compile(r"\{(\w)(?:\.(\w+))?\}")
_THINGS = ("object", "animal", "vehicle", "furniture")
_NO_PLURAL = frozenset({"people", "skis", "scissors", "luggage", "sheep", "deer", "fish", "cattle", "glasses"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPair:
    """Two labelled texts."""

    kind: str
    request: str
    wanted: str
    given: str
    same: bool


@cache
def _table(name: str) -> Mapping[str, Any]:
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def _groups(section: str, name: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(word.strip() for word in line.split(",")) for line in _table("words")[section][name])


@cache
def _verbs(name: str) -> tuple[tuple[tuple[str, ...], ...], ...]:
    return tuple(
        tuple(tuple(form.replace("_", " ") for form in words.split()) for words in line.split(";"))
        for line in _table("words")["verbs"][name]
    )


def worded(template: str, rng: random.Random) -> str:
    """A template with its choices made."""
    while match := _CHOICE.search(template):
        template = template[: match.start()] + rng.choice(match[1].split("|")) + template[match.end() :]
    return " ".join(template.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """A noun with qualities and a place, each by its group of synonyms."""

    head: tuple[str, ...]
    qualities: tuple[tuple[str, ...], ...] = ()
    places: tuple[tuple[str, ...], ...] = ()
    """Alternatives of one place."""

    def named(self, rng: random.Random) -> str:
        """Without an article."""
        qualities = " ".join(_synonym(group, rng) for group in self.qualities)
        return " ".join(f"{qualities} {_synonym(self.head, rng)} {self._place(rng)}".split())

    def _place(self, rng: random.Random) -> str:
        return " ".join(rng.choice(group) for group in self.places)

    def form(self, name: str | None, rng: random.Random) -> str:
        """The phrase in a grammatical form: `n` without an article, `p` plural, `a` indefinite, `poss` possessive."""
        if name == "n":
            return self.named(rng)
        if name == "p":
            qualities = " ".join(_synonym(group, rng) for group in self.qualities)
            return " ".join(f"{qualities} {plural(_synonym(self.head, rng))} {self._place(rng)}".split())
        if name == "a":
            text = self.named(rng)
            return f"{'an' if text[0] in 'aeiou' else 'a'} {text}"
        text = f"the {self.named(rng)}"
        return f"{text}'s" if name == "poss" else text


def _synonym(group: Sequence[str], rng: random.Random) -> str:
    return group[0] if rng.random() < 0.5 else rng.choice(group)


def plural(noun: str) -> str:
    """The plural of an English noun phrase."""
    first, *rest = noun.split(" of ")
    if first.endswith("man"):
        return " of ".join((f"{first[:-3]}men", *rest))
    if first.split()[-1] in _NO_PLURAL:
        return noun
    special = {"child": "children", "person": "people", "knife": "knives", "shelf": "shelves", "foot": "feet"}
    last = first.split()[-1]
    if last in special:
        many = first.removesuffix(last) + special[last]
    elif re.search(r"(?:s|x|z|ch|sh)$", first):
        many = f"{first}es"
    elif re.search(r"[^aeiou]y$", first):
        many = f"{first[:-1]}ies"
    else:
        many = f"{first}s"
    return " of ".join((many, *rest))


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """A key of a grammar's table with phrases and words in its slots."""

    table: str
    key: str
    phrases: Mapping[str, Phrase] = field(default_factory=dict)
    words: Mapping[str, Any] = field(default_factory=dict)
    """Verbs (`V`, `D`), relations (`R`), comparisons (`C`)."""

    def text(self, rng: random.Random) -> str:
        """A wording."""
        template = rng.choice(_table("questions")[self.table][self.key])
        return self.filled(worded(template, rng), rng)

    def filled(self, template: str, rng: random.Random) -> str:
        verb = {name: rng.choice(forms) for name, forms in self.words.items() if name in "VDC"}

        def fill(match: re.Match[str]) -> str:
            slot, form = match[1], match[2]
            if slot in self.phrases:
                return self.phrases[slot].form(form, rng)
            if slot == "R":
                return str(rng.choice(self.words["R"]))
            places = {"V": ("base", "s", "ing", "done"), "D": ("base", "ing"), "C": ("base", "more", "most")}[slot]
            return str(verb[slot][places.index(form)])

        return " ".join(_SLOT.sub(fill, template).split())


def _thing(rng: random.Random) -> Phrase:
    head = rng.choice(_groups("nouns", rng.choice(_THINGS)))
    kinds = rng.sample(("colour", "size", "material", "state"), k=rng.choice((0, 0, 1, 1, 2)))
    return Phrase(
        head=head, qualities=tuple(rng.choice(_groups("qualities", kind)) for kind in kinds), places=_place(rng)
    )


def _person(rng: random.Random) -> Phrase:
    head = rng.choice(_groups("nouns", "person" if rng.random() < 0.85 else "animal"))
    qualities = (rng.choice(_groups("qualities", "age")),) if rng.random() < 0.3 else ()
    places = _place(rng)
    if not places and rng.random() < 0.4:
        colour, clothes = rng.choice(_groups("qualities", "colour")), rng.choice(_groups("nouns", "clothing"))
        a = "an" if colour[0][0] in "aeiou" else "a"
        places = ((f"in the {colour[0]} {clothes[0]}", f"wearing {a} {colour[0]} {clothes[-1]}",
                   f"with the {colour[-1]} {clothes[0]} on", f"dressed in {a} {colour[0]} {clothes[0]}"),)  # fmt: skip
    return Phrase(head=head, qualities=qualities, places=places)


def _place(rng: random.Random) -> tuple[tuple[str, ...], ...]:
    draw = rng.random()
    if draw < 0.55:
        return ()
    if draw < 0.75:
        side = rng.choice(list(_table("words")["sides"]))
        return (tuple(_table("words")["sides"][side]),)
    relation, noun = (
        _relation(rng),
        rng.choice(_groups("nouns", rng.choice(("place", "furniture", "object", "vehicle")))),
    )
    return ((*relation[:4],), tuple(f"the {name}" for name in noun))


def _relation(rng: random.Random) -> tuple[str, ...]:
    names = _table("words")["relations"]
    return tuple(names[rng.choice([name for name in names if name != "between"])])


def _draw(rng: random.Random) -> Meaning:
    table = rng.choices(
        ("of_thing", "of_person", "of_act", "of_relation", "of_scene", "of_choice", "of_doing"),
        (24, 24, 24, 16, 10, 8, 10),
    )[0]
    key = rng.choice(list(_table("questions")[table]))
    phrases: dict[str, Phrase] = {}
    words: dict[str, Any] = {}
    match table:
        case "of_thing":
            phrases = {"E": _thing(rng)}
        case "of_person":
            phrases = {"P": _person(rng)}
        case "of_act":
            phrases = {"S": _person(rng), "O": _thing(rng) if rng.random() < 0.7 else _person(rng)}
            words = {"V": rng.choice(_verbs("acts"))}
        case "of_relation":
            phrases = {"A": _thing(rng), "B": _thing(rng)}
            words = {"R": _relation(rng)}
        case "of_choice":
            phrases = {"N": replace(_thing(rng) if rng.random() < 0.6 else _person(rng), places=())}
            words = {"C": rng.choice(_verbs("compared"))}
        case "of_doing":
            phrases = {"S": _person(rng)}
            words = {"D": rng.choice(_verbs("doings"))}
    return Meaning(table=table, key=key, phrases=phrases, words=words)


def _other_phrase(phrase: Phrase, rng: random.Random) -> Phrase:
    """A phrase that differs in one point, most often in a quality or place."""
    ways: list[Callable[[], Phrase]] = []

    def of_section(group: tuple[str, ...], section: str) -> tuple[str, ...]:
        for name in _table("words")[section]:
            groups = _groups(section, name)
            if group in groups:
                return rng.choice([other for other in groups if other != group])
        return rng.choice(_groups("nouns", "object"))

    ways.append(lambda: replace(phrase, head=of_section(phrase.head, "nouns")))
    if phrase.qualities:
        place = rng.randrange(len(phrase.qualities))
        rest = (*phrase.qualities[:place], *phrase.qualities[place + 1 :])
        ways += [
            lambda: replace(phrase, qualities=rest),
            lambda: replace(phrase, qualities=(*rest, of_section(phrase.qualities[place], "qualities"))),
        ]
    else:
        ways.append(
            lambda: replace(phrase, qualities=(rng.choice(_groups("qualities", rng.choice(("colour", "size")))),))
        )
    if phrase.places:
        ways += [
            lambda: replace(phrase, places=()),
            lambda: replace(phrase, places=_some_place(rng, but=phrase.places)),
        ]
    else:
        ways.append(lambda: replace(phrase, places=_some_place(rng, but=())))
    return rng.choice(ways)()


def _some_place(rng: random.Random, *, but: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    while not (place := _place(rng)) or place == but:
        continue
    return place


def _other(meaning: Meaning, rng: random.Random) -> Meaning:
    """A meaning that differs in one point."""
    ways = ["key"] * 4
    ways += ["phrase"] * 4 if meaning.phrases else []
    ways += ["words"] * 2 if meaning.words else []
    ways += ["swap"] * 4 if len(meaning.phrases) == 2 else []
    way = rng.choice(ways)
    if way == "swap":
        (first, one), (second, other) = meaning.phrases.items()
        if one.head != other.head and not _is_symmetric(meaning):
            return replace(meaning, phrases={first: other, second: one})
    if way == "words":
        name = next(iter(meaning.words))
        if name == "R":
            relation = meaning.words["R"]
            return replace(meaning, words={"R": _until(lambda: _relation(rng), lambda other: other != relation)})
        groups = _verbs({"V": "acts", "D": "doings", "C": "compared"}[name])
        return replace(meaning, words={name: rng.choice([group for group in groups if group != meaning.words[name]])})
    if way == "phrase":
        name = rng.choice(list(meaning.phrases))
        return replace(meaning, phrases={**meaning.phrases, name: _other_phrase(meaning.phrases[name], rng)})
    keys = [key for key in _table("questions")[meaning.table] if key != meaning.key]
    return replace(meaning, key=rng.choice(keys))


_SYMMETRIC = frozenset({"distance", "same_colour", "same_size", "common", "relation", "differ"})


def _is_symmetric(meaning: Meaning) -> bool:
    is_beside = "next to" in meaning.words.get("R", ())
    return meaning.table == "of_relation" and (meaning.key in _SYMMETRIC or is_beside)


_T = TypeVar("_T")


def _until(draw: Callable[[], _T], is_right: Callable[[_T], bool]) -> _T:
    while not is_right(value := draw()):
        continue
    return value


def _question(rng: random.Random) -> TextPair:
    meaning = _draw(rng)
    same = rng.random() < 0.45
    other = meaning if same else _other(meaning, rng)
    return TextPair(kind="question", request="", wanted=meaning.text(rng), given=other.text(rng), same=same)


def _fixed(phrase: Phrase, rng: random.Random) -> Phrase:
    """The phrase with one word for each group."""
    return Phrase(
        head=(_synonym(phrase.head, rng),),
        qualities=tuple((_synonym(group, rng),) for group in phrase.qualities),
        places=tuple((rng.choice(group),) for group in phrase.places),
    )


def _filled(template: str, phrase: Phrase, rng: random.Random) -> str:
    return Meaning(table="", key="", phrases={"E": phrase}).filled(worded(template, rng), rng)


_ASKS = {"count": "how many {E.p}", "presence": "is there a {E.n}", "find": "find {E.n}", "remove": "remove {E.n}"}


def _ask(rng: random.Random) -> TextPair:
    tables = _table("texts")
    if rng.random() < 0.2:
        wanted = rng.choice(("list", "describe"))
        asks: Mapping[str, Sequence[str]] = tables["plain_asks"]
        same = rng.random() < 0.5
        key = wanted if same else rng.choice([key for key in asks if key != wanted])
        name = {"list": "list what is in the picture", "describe": "describe the picture"}[wanted]
        return TextPair(kind="ask", request="", wanted=name, given=worded(rng.choice(asks[key]), rng), same=same)
    wanted, phrase = rng.choice(list(_ASKS)), _thing(rng) if rng.random() < 0.7 else _person(rng)
    own = _fixed(phrase, rng)
    same = rng.random() < 0.5
    key, other = wanted, phrase
    if not same and rng.random() < 0.5:
        key = rng.choice([key for key in tables["asks"] if key != wanted])
    elif not same:
        other = _other_phrase(phrase, rng)
    given = _filled(rng.choice(tables["asks"][key]), other, rng)
    name = Meaning(table="", key="", phrases={"E": own}).filled(_ASKS[wanted], rng)
    request = f"{rng.choice(('', 'please ', 'can you '))}{_filled(rng.choice(tables['asks'][wanted]), own, rng)}"
    return TextPair(kind="ask", request=request, wanted=name, given=given, same=same)


_REQUESTS = (
    "count {}", "how many {} are there", "segment {}", "cut out {}", "highlight {} in the image", "where is {}",
    "detect {}", "crop {}", "get the mask of {}", "remove {} from the picture",
)  # fmt: skip


def _object(rng: random.Random) -> TextPair:
    draw = rng.random()
    if draw < 0.2:
        return _action(rng)
    if draw < 0.45:
        return _named_object(rng)
    phrase = _thing(rng) if rng.random() < 0.7 else _person(rng)
    wanted, same = phrase.named(rng), rng.random() < 0.5
    name = f"the {wanted}" if rng.random() < 0.6 else wanted
    request = rng.choice(_REQUESTS).format(name)
    draw = rng.random()
    if same:
        given = phrase.form(rng.choice((None, "n", "n", "p", "a")), rng)
    elif draw < 0.08:
        given = request
    elif draw < 0.16:
        given = f"{wanted} {rng.choice(('and', 'or'))} {_thing(rng).head[0]}"
    elif draw < 0.22:
        given = rng.choice(
            ("object", "thing", "animal", "person", "everything", "vehicle", "part of the {}", "not {}")
        ).format(wanted)
        same = given == wanted
    elif draw < 0.28:
        given = (
            f"{rng.choice(('toy', 'picture of a', 'shadow of the', 'fake', 'handle of the', 'top of the'))} {wanted}"
        )
    else:
        given = _other_phrase(phrase, rng).form(rng.choice((None, "n", "n", "p")), rng)
    return TextPair(kind="object", request=request, wanted=wanted, given=given, same=same)


@dataclass(frozen=True, slots=True)
class _Names:
    """Names of things in WordNet by synset, each in its most frequent sense."""

    of: Mapping[int, tuple[str, ...]]
    siblings: Mapping[int, tuple[int, ...]]
    """For each synset with names those with a common hypernym."""
    above: Mapping[int, tuple[int, ...]]
    several: tuple[int, ...]
    """Synsets with two or more names, one of which occurs in tagged texts."""


_DOMAINS = frozenset({"noun.animal", "noun.artifact", "noun.person", "noun.food", "noun.plant", "noun.object"})


@cache
def _names() -> _Names:
    words = wordnet()
    names: dict[int, list[str]] = {}
    seen: set[int] = set()
    for lemma in words.lemmas:
        first = next((sense for sense in words.senses(lemma) if sense.part is PartOfSpeech.NOUN), None)
        if first is not None and first.domain in _DOMAINS and lemma.replace(" ", "").isalpha() and len(lemma) > 2:
            names.setdefault(first.synset, []).append(lemma)
            if first.frequency:
                seen.add(first.synset)
    above = {synset: tuple(upper for upper in words.hypernyms(synset) if upper in names) for synset in names}
    below: dict[int, list[int]] = {}
    for synset in names:
        for upper in words.hypernyms(synset):
            below.setdefault(upper, []).append(synset)
    siblings = {
        synset: tuple(other for upper in words.hypernyms(synset) for other in below[upper] if other != synset)
        for synset in names
    }
    several = tuple(synset for synset, own in names.items() if len(own) > 1 and synset in seen)
    return _Names({synset: tuple(own) for synset, own in names.items()}, siblings, above, several)


def _named_object(rng: random.Random) -> TextPair:
    """A thing of WordNet beside a synonym, a hypernym, or another thing of its kind."""
    names = _names()
    synset = rng.choice(names.several)
    wanted, *others = rng.sample(names.of[synset], k=len(names.of[synset]))
    same = rng.random() < 0.5
    given = rng.choice(others)
    if not same:
        near = names.above[synset] if rng.random() < 0.35 else names.siblings[synset]
        given = rng.choice(names.of[rng.choice(near or names.several)])
    quality = f"{rng.choice(_groups('qualities', 'colour'))[0]} " if rng.random() < 0.2 else ""
    request = rng.choice(_REQUESTS).format(f"the {quality}{wanted}")
    form = rng.choice(("{}", "{}", "the {}", "a {}"))
    return TextPair(
        kind="object", request=request, wanted=quality + wanted, given=form.format(quality + given), same=same
    )


def _action(rng: random.Random) -> TextPair:
    groups = [[word.strip() for word in line.split(",")] for line in _table("texts")["fillings"]["action"]]
    group = rng.choice(groups)
    same = rng.random() < 0.5
    other = group if same else rng.choice([other for other in groups if other is not group])
    given = rng.choice(other)
    given = rng.choice(
        (given, given, f"a person {given}", f"someone {given}", f"the action of {given}", f"{given} action")
    )
    wanted = rng.choice(group)
    request = f"is there {wanted} in the video"
    return TextPair(kind="action", request=request, wanted=wanted, given=given, same=same)


def _prompt(rng: random.Random) -> TextPair:
    forms = _table("texts")["prompts"]
    key = rng.choice(list(forms))
    words = _table("words")["styles"]
    weather = [tuple(part.strip() for part in line.split(",")) for line in words["weather"]]
    styles = [tuple(part.strip() for part in line.split(",")) for line in words["names"]]
    phrases: dict[str, Phrase] = {
        "scene": lambda: {"S": _person(rng), "O": _thing(rng)},
        "doing": lambda: {"S": _person(rng)},
        "still": lambda: {"A": _thing(rng), "B": _thing(rng)},
    }[key]()
    drawn: dict[str, dict[str, Any]] = {
        "scene": {"V": rng.choice(_verbs("acts"))},
        "doing": {"D": rng.choice(_verbs("doings"))},
        "still": {"R": _relation(rng)},
    }
    meaning = Meaning(table="prompts", key=key, phrases=phrases, words=drawn[key])
    place = rng.choice(weather) if rng.random() < 0.7 else ()
    style = rng.choice(styles) if rng.random() < 0.5 else ()
    same = rng.random() < 0.45

    def text(meaning: Meaning, place: Sequence[str], style: Sequence[str], *, quality: bool) -> str:
        template = worded(rng.choice(forms[key]), rng).replace("{place}", rng.choice(place) if place else "")
        scene = meaning.filled(template, rng).strip(" ,").replace(" ,", ",")
        if style:
            scene = worded(rng.choice(_table("texts")["styled"]["wordings"]), rng).format(
                style=rng.choice(style), scene=scene
            )
        return scene + (", " + ", ".join(rng.sample(words["quality"], k=rng.choice((1, 2)))) if quality else "")

    wanted = text(meaning, place, style, quality=False)
    if not same:
        ways = ["meaning", "meaning", "style", "place"]
        way = rng.choice(ways)
        if way == "style":
            style = rng.choice([other for other in [*styles, ()] if other != style])
        elif way == "place":
            place = rng.choice([other for other in [*weather, ()] if other != place])
        else:
            meaning = _prompt_other(meaning, rng)
    given = text(meaning, place, style, quality=rng.random() < 0.3)
    return TextPair(kind="prompt", request="", wanted=wanted, given=given, same=same)


def _prompt_other(meaning: Meaning, rng: random.Random) -> Meaning:
    other = _until(
        lambda: _other(replace(meaning, table="of_relation", key="what_is"), rng), lambda m: m.key == "what_is"
    )
    return replace(other, table=meaning.table, key=meaning.key)


def _text(rng: random.Random) -> TextPair:
    texts = _table("texts")
    key = rng.choice(list(texts["texts"]))
    slot = next(
        name
        for name in ("place_poss", "place", "term", "sentence")
        if "{" + name + "}" in " ".join(texts["texts"][key])
    )
    section = slot.removesuffix("_poss")
    groups = [
        [line] if section == "sentence" else [word.strip() for word in line.split(",")]
        for line in texts["fillings"][section]
    ]
    filling = rng.choice(groups)
    same = rng.random() < 0.5
    other_key, other_filling = key, filling
    if not same and rng.random() < 0.6:
        like = [name for name, lines in texts["texts"].items() if "{" + section in " ".join(lines) and name != key]
        other_key = rng.choice(like)
    elif not same:
        other_filling = rng.choice([group for group in groups if group is not filling])

    def text(key: str, group: Sequence[str]) -> str:
        word = rng.choice(group)
        return worded(rng.choice(texts["texts"][key]), rng).format(
            place=word, place_poss=f"{word}'s", term=word, sentence=word
        )

    wanted, given = text(key, filling), text(other_key, other_filling)
    return TextPair(kind="text", request="", wanted=wanted, given=given, same=same)


_BEFORE = (
    "please ", "can you tell me ", "could you please tell me ", "I want to know ", "based on the image, ",
    "looking at the picture, ",
    "in this photo, ", "question: ", "please answer: ", "I'd like to know: ", "tell me, ",
    "according to the photo, ", "hi, ",
)  # fmt: skip
_AFTER = (
    "", "", "", " in the image", " in the picture", " in this photo", " please",
    " answer briefly.", " Answer in one word.",
    " Be concise.", " shown here", " in the given image",
)  # fmt: skip


def noised(text: str, rng: random.Random, *, is_question: bool) -> str:
    """A text with another case, punctuation or politeness, and rarely a typing error."""
    text = text.strip()
    if is_question:
        if rng.random() < 0.15:
            text = rng.choice(_BEFORE) + text
        if rng.random() < 0.2:
            text = text.rstrip("?") + rng.choice(_AFTER)
        if rng.random() < 0.6:
            starts = text.lower().startswith(
                ("what", "who", "where", "which", "how", "is ", "are ", "does", "do ", "can", "why", "when")
            )
            text = text.rstrip(".") + ("?" if starts else ".")
    if rng.random() < 0.6:
        text = text[:1].upper() + text[1:]
    if rng.random() < 0.03 and len(text) > 12:
        place = rng.randrange(2, len(text) - 2)
        text = text[:place] + text[place + 1] + text[place] + text[place + 2 :]
    return text


_KINDS: tuple[tuple[Callable[[random.Random], TextPair], int], ...] = (
    (_question, 54), (_prompt, 14), (_object, 16), (_ask, 12), (_text, 4),
)  # fmt: skip


def generated_pairs(*, seed: int) -> Iterator[TextPair]:
    """An endless sequence of pairs. Pairs with two equal texts are left out.

    Args:
        seed: the same pairs for the same seed.
    """
    rng = random.Random(seed)  # noqa: S311 - not for secrets
    kinds, weights = zip(*_KINDS, strict=True)
    while True:
        pair = rng.choices(kinds, weights)[0](rng)
        is_question = pair.kind in {"question", "ask", "text"}
        wanted = noised(pair.wanted, rng, is_question=is_question) if pair.kind == "question" else pair.wanted
        given = noised(pair.given, rng, is_question=is_question)
        if wanted.lower() != given.lower():
            yield replace(pair, wanted=wanted, given=given)
