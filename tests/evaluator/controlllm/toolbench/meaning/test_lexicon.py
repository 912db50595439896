"""The lexicon contradicts itself nowhere."""

from collections import Counter

from evaluator.controlllm.toolbench.meaning.frames import alike, frame_of
from evaluator.controlllm.toolbench.meaning.lexicon import (
    Category,
    are_related,
    concepts,
    kinds_of,
    lemma,
    lists,
    may_be,
    readings,
    table,
    undefined_kinds,
    vague_doings,
    words_of,
)

ASKS = lists("asks", "asks")


def test_kinds_are_names_of_things_and_no_thing_is_a_kind_of_itself():
    assert undefined_kinds() == ()
    assert [name for name in table("things")["kinds"] if name in kinds_of(name)] == []
    assert kinds_of("rose") == {"potted plant", "flower"}
    puppy, animal, mug = (concepts()[name,] for name in ("puppy", "animal", "mug"))
    assert may_be(animal, puppy)
    assert not may_be(puppy, animal)
    assert are_related(puppy, animal)
    assert not are_related(mug, animal)


SEVERAL = [*lists("things").values(), lists("doings")["names"], *lists("qualities", "dimensions").values()]


def test_no_name_stands_on_two_lines_of_one_list(subtests):
    for several in SEVERAL:
        with subtests.test(case=several):
            names = Counter(name.strip() for line in several for name in line.split(","))
            assert [name for name, count in names.items() if count > 1] == []


def test_every_ask_that_is_named_exists():
    known = set(ASKS)
    assert set(alike()) <= known
    assert words_of("asks", "weak")["names"] <= known
    assert set(table("asks")["implied"]) <= known
    doings = {concept.name for concept in concepts().values() if concept.category is Category.DOING}
    assert vague_doings() <= doings


def test_every_phrase_that_asks_is_found_where_it_stands():
    """By its own ask, or by an earlier one that is part of it."""
    unfound = []
    for ask, phrases in ASKS.items():
        for phrase in phrases:
            words = [one.split("|")[0] for one in phrase.replace("^", "").replace("$", "").split()]
            text = " ".join("dog" if word == "*" else word for word in words)
            if not frame_of(text).asks:
                unfound.append((ask, phrase))
    assert unfound == []


LEMMAS = [
    ("dogs", "dog"), ("knives", "knife"), ("buses", "bus"), ("wearing", "wear"), ("running", "run"),
    ("children", "child"), ("cities", "city"), ("worn", "wear"), ("chased", "chase"), ("grass", "grass"),
    ("glasses", "glasses"), ("skis", "ski"),
]  # fmt: skip


def test_words_have_their_base_forms(subtests):
    for word, base in LEMMAS:
        with subtests.test(case=word):
            assert lemma(word) == base
            assert lemma(base) == base


def test_a_drink_is_a_thing_and_something_to_do():
    assert readings()["drink"] == {Category.THING, Category.DOING}
