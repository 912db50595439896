"""Hidden requests: another grammar than the public one, decidable, and silent about everything that they do not say."""

import json
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping

import pytest

from evaluator.core import canonical_json
from evaluator.core.planner import request_for
from evaluator.core.plans.model import plan_to_json
from evaluator.core.suites.base import Suite
from evaluator.core.suites.hidden import suite_on_split
from evaluator.core.suites.registry import entry_of, suite_of, suite_with_digest
from evaluator.openagi.season.hidden.lexicon import LEAST, season_lexicon, whole_lexicon
from evaluator.openagi.season.requests import Composition, Language
from evaluator.openagi.season.speaker import vocabulary
from evaluator.scoring.metrics.plan_equality import is_same_plan
from tests.evaluator.openagi.season.grammar_reader import GrammarReader

SUITE = suite_of("openagi-season")
SEED = "5eed" * 16
PUBLIC = {Language.ENGLISH: vocabulary("english"), Language.GERMAN: vocabulary("german")}
DIGEST = "af5a56e7d32fda6ad171e1c136ace80e82816e19026f0d1aa11c62a3fefd4fc6"
FIRST_VERSION = "117b6c50d182082bae508a7fb86c6cd5d9e88f8393127a7621124d57e2428882"
REQUESTS_OF_FIRST_VERSION = "14e7f383b1748e8ad142311cb2dd0b568da14d9bcd8a347158327ef780a65382"


def hidden(seed=SEED, suite: Suite = SUITE) -> Suite:
    return suite_on_split(suite=suite, split="hidden", hidden_seed=seed)


@pytest.fixture(scope="module")
def tasks():
    return hidden().tasks


def texts(value) -> Iterator[str]:
    """All texts of a table."""
    if isinstance(value, str):
        yield value
    else:
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from texts(inner)


def words(value) -> list[list[str]]:
    """The words of each text of a table, without slots."""
    return [re.findall(r"[^\W\d_]+", re.sub(r"\{[^}]*\}", " ", text).lower()) for text in texts(value)]


def sentences(text: str) -> set[str]:
    return {part.strip() for part in re.split(r"(?<=[.!?])\s|\n| STOP", text) if len(part.split()) > 2}


def derived_plan(task):
    return GrammarReader(text=task.text, resources=task.resources).plan()


def test_every_hidden_request_says_one_thing_which_is_its_gold_plan(tasks, full):
    chosen = [*tasks, *hidden("a" * 64).tasks] if full else tasks[:150]
    wrong = [task.text for task in chosen if not is_same_plan(plan=derived_plan(task), other=task.gold)]
    assert wrong == []


def test_the_reader_fails_where_a_request_says_something_else(tasks):
    one = next(task for task in tasks if task.spec.stratum.composition is Composition.RESTORATION)
    other = next(task for task in tasks if task.spec.stratum.composition is Composition.IMAGE_CHAIN)
    read = GrammarReader(text=other.text, resources=other.resources).plan()
    assert not is_same_plan(plan=read, other=one.gold)
    with pytest.raises(LookupError, match="nothing is wanted"):
        GrammarReader(text="Good day, here is a still.", resources=one.resources).plan()


def test_paraphrases_of_hidden_requests_have_the_hidden_grammar_and_the_same_goal(tasks, full):
    for task in tasks if full else tasks[:60]:
        text = SUITE.reworded(task, random.Random(f"paraphrase {task.key}"))
        if text is not None:
            assert text != task.text
            read = GrammarReader(text=text, resources=task.resources).plan()
            assert is_same_plan(plan=read, other=task.gold), text


def concepts(language: Language) -> Iterator[tuple[str, list[list[str]], list[list[str]]]]:
    """The name of each concept with its words in the public and in the hidden table."""
    public, own = PUBLIC[language], whole_lexicon(language)
    for kind in public["terms"]:
        yield kind, words([public["terms"][kind], public["looks"][kind]]), words(own["flaws"][kind])
    gaps = [public[name] for name in ("clozed", "clozed_states", "not_clozed")]
    yield "word", words(gaps), words(own["flaws"]["word"])
    for base in public["verbs"]:
        yield base, words([public["verbs"][base], public["results"][base]]), words(own["wanted"][base])
    yield "nouns", words(public["nouns"]), words(own["nouns"])


NO_CUES = {"word", "wort", "line", "every", "them", "alle", "jedes", "oder", "einem", "sagen", "machen"}
"""Shared without being cues: function words, and those that have no substitute, since a masked word is a word."""


@pytest.mark.parametrize("language", Language)
def test_no_cue_of_the_public_tables_means_the_same_in_the_hidden_ones(language):
    """A cue is a word of a concept that neither the patterns nor many concepts use."""
    found = list(concepts(language))
    uses = Counter(word for _, public, _ in found for word in {word for text in public for word in text})
    usual = {word for text in words(PUBLIC[language]["patterns"]) for word in text} | NO_CUES
    shared = {}
    for concept, public, own in found:
        cues = {word for text in public for word in text if len(word) > 3 and uses[word] < 4} - usual
        shared[concept] = cues & {word for text in own for word in text}
    assert {concept: cues for concept, cues in shared.items() if cues} == {}


@pytest.mark.parametrize("language", Language)
def test_public_and_hidden_tables_share_no_four_words_in_a_row(language):
    def runs(table) -> set[tuple[str, ...]]:
        return {tuple(text[start : start + 4]) for text in words(table) for start in range(len(text) - 3)}

    assert len(runs(PUBLIC[language])) > 250
    own = {name: part for name, part in whole_lexicon(language).items() if name != "lures"}
    assert not runs(PUBLIC[language]) & runs(own)


def test_no_sentence_of_a_hidden_season_is_in_the_public_one(tasks):
    public = {sentence for task in SUITE.tasks for sentence in sentences(task.text)}
    own = [sentence for task in tasks for sentence in sentences(task.text)]
    assert len(own) > 5000
    assert not public & set(own)


def test_a_hidden_request_tells_nothing_beside_its_words(tasks):
    for task in tasks[:200]:
        context = SUITE.context(task=task, offered=frozenset(SUITE.catalogue.tools))
        asked = json.loads(request_for(suite=SUITE, task=task, context=context).model_dump_json())
        assert asked["expects"] == {"type": None, "types": []}
        assert set(asked["task"]) == {"id", "request", "resources"}
        assert re.fullmatch(r"[0-9a-f]{16}", asked["task"]["id"])
        assert all(re.fullmatch(r"[a-z]+_\d", name) for name in asked["task"]["resources"])
    several = [task for task in tasks if task.expects is None]
    context = SUITE.context(task=several[0], offered=frozenset(SUITE.catalogue.tools))
    assert len(context.several) == len(several[0].answers)


def test_names_and_order_of_the_inputs_are_independent_of_their_roles(tasks):
    pairs = [task for task in tasks if len(task.spec.given) == 2]
    first_is_needed = [task.spec.given[0].is_needed for task in pairs if not all(g.is_needed for g in task.spec.given)]
    assert 0.4 < sum(first_is_needed) / len(first_is_needed) < 0.6
    first_is_query = [task.spec.given[0].noun == "query" for task in pairs if "query" in task.spec.stratum.nouns]
    assert 0.4 < sum(first_is_query) / len(first_is_query) < 0.6
    lone = Counter(next(iter(task.resources))[-1] for task in tasks if len(task.resources) == 1)
    assert set(lone) == set("123456789")


def test_a_season_draws_a_part_of_the_lexicon_and_another_season_another():
    for language in Language:
        whole, one, other = whole_lexicon(language), *(season_lexicon(language=language, seed=seed) for seed in "ab")
        for base, phrases in whole["wanted"].items():
            mine = one["wanted"][base]["do"]
            assert LEAST <= len(mine) < len(phrases["do"])
            assert set(mine) <= set(phrases["do"])
        drawn = [set(texts(part["flaws"])) for part in (one, other)]
        assert len(drawn[0] & drawn[1]) < 0.75 * len(drawn[0])


TRAINING = """
import sys
from evaluator.core.suites.registry import suite_of
import evaluator.rewards.function, evaluator.openagi.training.rltf, evaluator.openagi.training.corpus
import evaluator.openagi.training.pretraining, evaluator.openagi.training.episodes
suite = suite_of("openagi-season")
assert suite.training_splits == ("validation",)
import random
[suite.reworded(task, random.Random(0)) for task in suite.tasks[:20]]
from evaluator.openagi.season.hidden import lexicon
print(lexicon.whole_lexicon.cache_info().currsize)
"""


def test_training_code_and_open_splits_never_read_the_hidden_tables():
    read = subprocess.run([sys.executable, "-c", TRAINING], check=True, capture_output=True, text=True)
    assert read.stdout.strip() == "0"


def requests_digest(suite: Suite) -> str:
    return canonical_json.digest(
        [[task.key, task.text, task.asked_as, dict(task.resources), plan_to_json(task.gold)] for task in suite.tasks]
    )


def test_hidden_requests_of_a_seed_have_not_changed():
    """A change makes closed seasons of this version impossible to verify: keep its tables, and raise the version."""
    assert requests_digest(hidden()) == DIGEST


def test_requests_of_seasons_of_the_first_version_can_still_be_computed():
    first = suite_with_digest("openagi-season", FIRST_VERSION)
    assert first.version == "1"
    assert requests_digest(hidden(suite=first)) == REQUESTS_OF_FIRST_VERSION
    assert suite_with_digest("openagi-season", SUITE.digest).digest == SUITE.digest
    assert first.tasks == SUITE.tasks
    assert len(entry_of("openagi-season").earlier) == 1
    with pytest.raises(LookupError, match="this PlanArena has another version of openagi-season"):
        suite_with_digest("openagi-season", "0" * 64)
