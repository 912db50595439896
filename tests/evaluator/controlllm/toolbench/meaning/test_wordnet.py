"""The table of WordNet has what WordNet's files have."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from evaluator.controlllm.toolbench.meaning.wordnet import FOLDER, PartOfSpeech, wordnet

SOURCE = Path("/usr/share/wordnet")
"""Where Debian's package `wordnet-base` puts the files."""
NOUN, VERB = PartOfSpeech.NOUN, PartOfSpeech.VERB


def first(lemma, part=NOUN):
    return next(sense for sense in wordnet().senses(lemma) if sense.part is part)


def test_the_card_names_the_table_and_the_licence_is_beside_it():
    card = (FOLDER / "card.md").read_text(encoding="utf-8")
    assert hashlib.sha256((FOLDER / "wordnet.bin").read_bytes()).hexdigest() in card
    assert "the same appear on ALL copies" in " ".join((FOLDER / "LICENSE").read_text(encoding="utf-8").split())


def test_synonyms_share_a_synset_and_kinds_are_below_it():
    assert first("couch").synset == first("sofa").synset
    assert first("united states").synset == first("us").synset
    above = wordnet().distances(first("poodle").synset)
    assert (above[first("dog").synset], first("cat").synset in above) == (1, False)
    assert above[first("animal").synset] > above[first("dog").synset] > above[first("poodle").synset] == 0


def test_senses_come_by_part_of_speech_and_frequency():
    senses = wordnet().senses("hound")
    assert [(sense.part, sense.domain, sense.frequency) for sense in senses] == [
        (NOUN, "noun.animal", 2),
        (NOUN, "noun.person", 1),
        (VERB, "verb.motion", 0),
    ]
    assert wordnet().senses("flooble") == ()


def test_words_of_one_origin_and_opposites_are_found():
    swimmers = {sense.lemma for sense in wordnet().derivations(first("swimmer"))}
    assert swimmers == {"swim"}
    entrances = {sense.lemma for sense in wordnet().derivations(first("enter", VERB))}
    assert "entrance" in entrances
    big = first("big", PartOfSpeech.ADJECTIVE)
    assert first("little", PartOfSpeech.ADJECTIVE).synset in wordnet().antonyms(big)


def test_irregular_forms_lead_to_their_lemmas():
    assert wordnet().irregular()["geese"] == (("goose", NOUN),)
    assert ("leave", VERB) in wordnet().irregular()["left"]


@pytest.mark.full
def test_the_table_is_made_of_these_files_alone():
    assert SOURCE.is_dir(), "apt-get install wordnet-base puts WordNet's files there"
    program = (
        "import sys; from pathlib import Path; from evaluator.controlllm.toolbench.meaning.wordnet.build import build;"
        "sys.stdout.buffer.write(build(Path(sys.argv[1])))"
    )
    built = subprocess.run([sys.executable, "-c", program, str(SOURCE)], capture_output=True, check=True).stdout
    assert built == (FOLDER / "wordnet.bin").read_bytes()
