"""No sentence of a hidden season is one of the open splits, and who learnt from these does not solve it."""

import re

import pytest

from evaluator.core.suites.hidden import HiddenSeed
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.base import Setting, episode_of
from evaluator.execution.engine.store import MemoryStore
from evaluator.lumos.mini.draws import EACH, Source
from evaluator.lumos.mini.groups import GROUPS, draw_group
from evaluator.lumos.mini.paraphrases import PARAPHRASES
from evaluator.lumos.mini.suite import SLUG
from evaluator.miniature.grammar.words import BELONGINGS, PEOPLE
from evaluator.miniature.seeds import Split
from tests.evaluator.lumos.mini.shortcuts import NearestNeighbour, Shortcut, TemplateMemoriser, rules_of_problems

SEED = "a season"
TRAINING = 300
"""Tasks of each group that shortcuts learn from, besides the public ones."""


def hidden(group, *, seed=SEED):
    return draw_group(group=group, source=Source(split=Split.HIDDEN, hidden_seed=seed))


@pytest.fixture(scope="module")
def known():
    return {
        group: [
            *draw_group(group=group, source=Source(split=Split.PUBLIC)),
            *draw_group(group=group, source=Source(split=Split.TRAIN), count=TRAINING),
        ]
        for group in GROUPS
    }  # fmt: skip


def sentences(tasks):
    return {sentence for task in tasks for sentence in re.split(r"(?<=[.?!;:])\s+", task.text)}


@pytest.mark.parametrize("group", GROUPS)
def test_no_sentence_is_one_of_the_open_splits(group, known):
    assert sentences(hidden(group)).isdisjoint(sentences(known[group]))


@pytest.mark.parametrize("group", GROUPS)
def test_no_known_pattern_reads_a_sentence(group):
    for task in hidden(group):
        read = [*PARAPHRASES.read(task.text), *PARAPHRASES.inverse.read(task.text)]
        # "{who} has {count} {things}." takes words for a number: "that has soft filling".
        assert [said for said in read if dict(said.slots).get("count", "0").isdigit()] == [], task.text


def test_problems_are_about_other_people_and_things():
    words = {word for task in hidden("maths") for word in re.findall(r"[A-Za-z]+", task.text)}
    assert words.isdisjoint(person.name for person in PEOPLE)
    assert words.isdisjoint(f"{thing.noun.english}s" for thing in BELONGINGS)


@pytest.mark.parametrize("group", ["maths", "sql", "qa"])
def test_seasons_have_other_parts_of_the_grammar(group):
    """Without numbers and names, half of a season's sentences at most are those of another one."""
    one, other = (
        {re.sub(r"\d+|(?<=.)\b[A-Z]\w+", "_", sentence) for sentence in sentences(hidden(group, seed=seed))}
        for seed in ("one", "other")
    )
    assert len(one & other) < len(one) / 2


@pytest.fixture(scope="module")
def store():
    return MemoryStore()


def shares_solved(planner, *, store, split):
    suite = suite_of(SLUG)
    seed = HiddenSeed(SEED) if split == "hidden" else None
    setting = Setting(profile="lilliput", open_store=lambda: store, split=split, hidden=seed)
    solved = dict.fromkeys(GROUPS, 0.0)
    for record in (
        episode_of(SLUG)
        .evaluator(suite=suite, setting=setting)
        .run(planner=planner, tasks=[task.key for task in suite.tasks])
    ):
        solved[record.metric] += (record.score or 0.0) / EACH
    return solved


def test_a_memoriser_of_templates_only_solves_open_splits(known, store):
    memoriser = Shortcut("memoriser", TemplateMemoriser(known))
    validation = shares_solved(memoriser, store=store, split="validation")
    assert sum(validation.values()) / len(GROUPS) > 0.4
    assert max(shares_solved(memoriser, store=store, split="hidden").values()) < 0.1


def test_nearest_neighbours_only_help_on_open_splits(known, store):
    neighbour = Shortcut("neighbour", NearestNeighbour({group: tasks[: 2 * EACH] for group, tasks in known.items()}))
    validation = shares_solved(neighbour, store=store, split="validation")
    assert sum(validation.values()) / len(GROUPS) > 0.3
    assert max(shares_solved(neighbour, store=store, split="hidden").values()) < 0.4


def test_patterns_of_sentences_only_solve_open_problems(store):
    rules = Shortcut("rules", rules_of_problems)
    assert shares_solved(rules, store=store, split="public")["maths"] == pytest.approx(1)
    assert shares_solved(rules, store=store, split="hidden")["maths"] < 0.2
