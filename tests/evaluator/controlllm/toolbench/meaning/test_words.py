"""WordNet behind the lexicon: base forms, usual senses, kinds, words of one origin, and its exceptions."""

from evaluator.controlllm.toolbench.meaning.frames import concept_of_name, concepts_in
from evaluator.controlllm.toolbench.meaning.lexicon import concept_of, concepts, lemma, words_of_other_senses
from evaluator.controlllm.toolbench.meaning.questions import compare_questions
from evaluator.controlllm.toolbench.meaning.verdict import Verdict
from evaluator.controlllm.toolbench.meaning.wordnet import PartOfSpeech, wordnet
from evaluator.controlllm.toolbench.meaning.words import (
    are_apart,
    are_of_one_origin,
    base_of,
    is_kind_of,
    usual_sense,
)

SAME, DIFFERENT, UNDECIDED = Verdict.SAME, Verdict.DIFFERENT, Verdict.UNDECIDED

BASES = [
    ("matured", "mature"), ("secured", "secure"), ("geese", "goose"), ("ceilings", "ceiling"), ("boxes", "box"),
    ("firemen", "fireman"), ("running", "run"), ("species", "species"), ("faster", "faster"), ("glass", "glass"),
]  # fmt: skip


def test_wordnet_gives_base_forms_and_comparatives_keep_theirs(subtests):
    for word, base in BASES:
        with subtests.test(case=word):
            assert base_of(word) == base
            assert lemma(lemma(word)) == lemma(word)
    assert base_of("flooble") is None


def test_a_word_has_a_usual_sense_only_if_it_is_nearly_always_meant():
    assert usual_sense("workplace") is not None
    assert usual_sense("physician") is not None
    assert usual_sense("item") is None
    assert usual_sense("keep") is None
    assert usual_sense("flooble") is None
    assert usual_sense("wear", PartOfSpeech.NOUN) is None


def test_words_with_one_usual_sense_are_one_concept_with_those_of_the_lexicon():
    assert concept_of("physician") == concepts()["doctor",]
    assert concept_of("orca") == concepts_in(("killer", "whale"))[0]
    assert concepts_in(("carriage", "dog"))[0].name == "carriage dog"
    assert concept_of("sailor") != concept_of("cook")


def test_a_phrase_with_a_quality_keeps_it():
    """WordNet has "old man" as father, and "young woman" as girl."""
    assert [concept.name for concept in concepts_in(("old", "man"))] == ["old", "man"]
    assert [concept.name for concept in concepts_in(("young", "woman"))] == ["young", "woman"]


def test_each_exception_is_needed_and_excepts_one_meaning(subtests):
    for name, word in words_of_other_senses().items():
        with subtests.test(case=name):
            concept = concepts()[tuple(lemma(part) for part in name.split())]
            sense = usual_sense(word)
            assert sense is not None
            assert concept_of(word) != concept
            parts = {"thing": PartOfSpeech.NOUN, "doing": PartOfSpeech.VERB, "quality": PartOfSpeech.ADJECTIVE}
            listed = [key for key, each in concepts().items() if each == concept]
            senses = [usual_sense(" ".join(key), parts[concept.category]) for key in listed]
            assert sense.synset in {each.synset for each in senses if each is not None}


def test_kinds_are_found_in_the_senses_that_occur():
    assert is_kind_of("poodle", "dog")
    assert is_kind_of("dalmatian", "dog")
    assert not is_kind_of("dog", "poodle")
    assert not is_kind_of("hot dog", "dog")
    assert {lemma("animal")} <= {wordnet().name(synset) for synset in wordnet().distances(usual_sense("walrus").synset)}


def test_only_what_wordnet_surely_tells_apart_is_apart():
    assert are_apart("wombat", "possum") is not are_apart("wombat", "marsupial")
    assert are_apart("wombat", "saxophone")
    assert not are_apart("tote", "handbag")
    assert not are_apart("flooble", "wombat")
    assert not are_apart("chicken", "drumstick")


def test_words_of_one_origin_say_the_same_unless_somebody_or_something_is_meant():
    assert are_of_one_origin("celebrate", "celebration")
    assert are_of_one_origin("lonely", "loneliness")
    for word, other in [("swim", "swimmer"), ("teacher", "teach"), ("build", "building"), ("enter", "entrance")]:
        assert not are_of_one_origin(word, other)


QUESTIONS = [
    ("What could be the reason for the men to enter the barn?", "Why might the men be entering the barn?", SAME),
    ("Which item is the boy holding?", "What is the boy holding?", SAME),
    ("What different types of fruit are in the basket?", "What kinds of fruit are in the basket?", SAME),
    ("Why do people gather in the US?", "Why do people gather in the United States?", SAME),
    ("Why do people gather in the U.S.?", "Why do people gather in the USA?", SAME),
    ("Why do people gather in the US?", "Why do people gather in the UK?", UNDECIDED),
    ("What color is the lorry?", "What colour is the truck?", SAME),
    ("Where is the physician standing?", "Where is the doctor standing?", SAME),
    ("What is the woman carrying on her knapsack?", "What is the woman carrying on her backpack?", SAME),
    ("What can one see on the shelf?", "What can be seen on the shelf?", SAME),
    ("Which of the dogs is bigger?", "Which one of the dogs is larger?", SAME),
    ("What kind of vehicle is parked next to the curb?", "What type of vehicle is parked by the curb?", UNDECIDED),
    ("What is the celebration about?", "What are they celebrating?", UNDECIDED),
    ("How many swimmers are there?", "How many people are swimming?", UNDECIDED),
    ("What mood is the girl in?", "How does the young female seem to feel?", UNDECIDED),
    # Other questions.
    ("What kind of bird is in the cage?", "What kind of cage is the bird in?", UNDECIDED),
    ("What does the weather say about the clothes?", "What do the clothes say about the weather?", UNDECIDED),
    ("What is the blue ribbon on the white horse for?", "What is the white ribbon on the blue horse for?", UNDECIDED),
    ("Why does the movement of trains scare people?", "Why does the movement of people scare trains?", UNDECIDED),
    ("What are the man and woman doing with the dog?", "What are the man and dog doing with the woman?", UNDECIDED),
    ("What color is the teacher's bag?", "What color is the teaching bag?", UNDECIDED),
    ("What is the import of this scene?", "What is the importance of this scene?", UNDECIDED),
    ("Which university is this?", "Which universe is this?", UNDECIDED),
    ("What is unusual about the swimmer?", "What is unusual about the swim?", UNDECIDED),
    ("What is the fastest car?", "What is the fast car?", UNDECIDED),
    ("What is the employer doing?", "What is the employee doing?", UNDECIDED),
    ("What is the walrus doing?", "What is the wombat doing?", DIFFERENT),
    ("What is the walrus doing?", "What is the pinniped doing?", UNDECIDED),
]  # fmt: skip


def test_questions_with_words_of_wordnet(subtests):
    for wanted, given, verdict in QUESTIONS:
        with subtests.test(case=(wanted, given)):
            assert compare_questions(wanted, given)[0] == verdict


def test_a_word_of_the_lexicon_keeps_its_concept():
    assert concept_of_name("bat") == concepts()["baseball", "bat"]
    assert concept_of("chiropteran") != concepts()["baseball", "bat"]
