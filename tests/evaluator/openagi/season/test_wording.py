"""Wording of generated requests: complete, and without traces of templates."""

import random
import re
from collections import Counter
from dataclasses import replace

import pytest

from evaluator.core.planner import request_for
from evaluator.core.suites.registry import suite_of
from evaluator.openagi.grammar import Degradation
from evaluator.openagi.season.english import English, predicative
from evaluator.openagi.season.german import German
from evaluator.openagi.season.requests import Composition, Language, Trick, drawn, stratum_of
from evaluator.openagi.season.suite import season, worded
from evaluator.planners.strategies.registry import strategies
from evaluator.replies.canonical import parse_canonical

SUITE, RELEASED = suite_of("openagi-season"), suite_of("openagi")
WORDS = {Language.ENGLISH: English.words, Language.GERMAN: German.words}

FLAWS = {
    "a leftover slot": r"[{}|]",
    "a double space": r"\s\s",
    "a space before punctuation": r"\s[.,;:!?]",
    "two marks": r"[.,;:!?]{2}",
    "no capital at the beginning of a sentence": r"^[a-zäöü]|[.!?] [a-zäöü]",
    "no punctuation at the end": r"[^.!?]$",
    "a word twice": r"\b(?!(?:die|das|der) )(\w+) \1\b",
}


@pytest.fixture(scope="module")
def tasks(full):
    """Those of a season, of another seed, and paraphrases, which must say what the wish says too."""
    count = 1000 if full else 300
    return [
        *(SUITE.tasks if full else SUITE.tasks[:600]),
        *season(seed="words", count=count),
        *(
            replace(task, text=text)
            for task in SUITE.tasks[: count // 2]
            if (text := SUITE.reworded(task, random.Random(f"paraphrase {task.key}"))) is not None
        ),
    ]


def test_no_request_has_a_flaw(tasks):
    found = {flaw: [task.text for task in tasks if re.search(pattern, task.text)] for flaw, pattern in FLAWS.items()}
    assert {flaw: texts for flaw, texts in found.items() if texts} == {}


def test_english_articles_agree_with_their_nouns(tasks):
    english = [task.text for task in tasks if task.spec.stratum.spoken is Language.ENGLISH]
    assert len(english) > 500
    wrong = r"\b[Aa] [aeio]|\b[Aa] u(?!ni|se)|\b[Aa]n [^aeiou]"
    assert not [text for text in english if re.search(wrong, text.replace("a one-", ""))]


def test_german_adjectives_and_articles_agree_with_their_nouns(tasks):
    german = [task.text for task in tasks if task.spec.stratum.spoken is Language.GERMAN]
    assert len(german) > 100
    wrong = (
        r"\b(?:ein|das|dieses) (?:\w+e[sn]?, )*\w*(?:e|en|er) (?:Text|Absatz|Textabschnitt|Artikel|Bericht)\b"
        r"|\beine? (?:[\w-]+, )*[\w-]*(?:es|en) (?:Aufnahme|Frage)\b|\beine (?:[\w-]+ )?(?:Foto|Bild|Text|Absatz)\b"
        r"|\b(?:einen|den|diesen) (?:[\w-]+ )?(?:Foto|Bild|Dokument|Aufnahme)\b"
    )
    assert not [text for text in german if re.search(wrong, text)]


def test_at_least_forty_english_and_twenty_german_patterns_are_all_used():
    used = Counter()
    for number in range(1500):
        rng = random.Random(f"patterns {number}")
        stratum = stratum_of(number)
        used[(stratum.spoken, worded(spec=drawn(stratum=stratum, rng=rng), rng=rng).pattern)] += 1
    assert {pattern for spoken, pattern in used if spoken is Language.ENGLISH} == set(English.patterns)
    assert {pattern for spoken, pattern in used if spoken is Language.GERMAN} == set(German.patterns)
    assert len(set(English.patterns)) >= 40
    assert len(set(German.patterns)) >= 20


def names(task, kind):
    """Whether a request names a degradation, by a term or by the look."""
    words = WORDS[task.spec.stratum.spoken]
    found = {form for word in (*words.terms[kind], *words.looks[kind]) for form in (word, predicative(word))}
    return any(form in task.text for form in found)


def test_every_degradation_of_a_needed_image_is_named_and_no_other(tasks):
    for task in tasks:
        images = [given for given in task.spec.needed if given.noun == "image"]
        present = {kind for given in images for kind in given.degradations}
        named = {kind for kind in Degradation if names(task, kind)}
        if task.spec.stratum.composition is Composition.NO_TOOL or task.spec.stratum.trick is Trick.DETAIL:
            # "a noisy train", and requests such as "darken it a little", name none of them.
            assert named >= present, task.text
        else:
            assert named == present | set(task.spec.denied), task.text


GAP = r"missing|blanked out|a gap|lacks a word|fehl\w* ein Wort|fehlenden Wort|Lücke|geschwärzt"


def test_every_missing_word_is_mentioned_once_for_each_input(tasks):
    for task in tasks:
        if task.spec.stratum.trick is not Trick.NEGATION:
            gaps = sum(given.is_clozed for given in task.spec.needed)
            assert len(re.findall(GAP, task.text)) == gaps, task.text


def test_the_language_of_the_answer_is_said_unless_it_is_that_of_an_english_request(tasks):
    for task in tasks:
        stratum = task.spec.stratum
        if stratum.composition is Composition.NO_TOOL:
            continue
        wanted = [one for one in stratum.wanted if one.language is Language.GERMAN]
        german = len(re.findall(r"[Ii]n German|into German|German (?:version|translation)|auf Deutsch|ins Deutsche|"
                                r"deutsche Übersetzung", task.text))  # fmt: skip
        assert german == len(wanted), task.text


def test_every_unneeded_input_is_said_to_be_unneeded(tasks):
    said = (r"no role|ignore|no importance|by mistake|only the (?:first|second) one matters|for comparison|keine Rolle|"
            r"darum geht es nicht|nicht gebraucht|nur um d|zum Vergleich|aus Versehen")  # fmt: skip
    for task in tasks:
        assert bool(re.search(said, task.text)) == (len(task.spec.given) > len(task.spec.needed)), task.text


def rules_plan(*, suite, task):
    context = suite.context(task=task, offered=frozenset(suite.catalogue.tools))
    conversation = (
        strategies()["rules"].strategy(with_model=False).converse(request_for(suite=suite, task=task, context=context))
    )
    with pytest.raises(StopIteration) as ended:
        next(conversation)
    return parse_canonical(value=ended.value.value.plan, context=context).plan


def test_keyword_rules_know_the_released_list_and_not_a_season(full):
    released = [rules_plan(suite=RELEASED, task=task) for task in RELEASED.tasks]
    assert released == [task.gold for task in RELEASED.tasks]
    same = [rules_plan(suite=SUITE, task=task) == task.gold for task in SUITE.tasks[: 2000 if full else 300]]
    assert sum(same) / len(same) < 0.15
