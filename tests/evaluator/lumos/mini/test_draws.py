"""The generators of lumos-mini: the same from the same seed, other tasks on other splits, and right answers."""

from collections import Counter

import pytest

from evaluator.lumos.mini.databases import DATABASES, database
from evaluator.lumos.mini.draws import EACH, Source
from evaluator.lumos.mini.encyclopedia import TOWNS, chronicle
from evaluator.lumos.mini.groups import GROUPS, draw_group
from evaluator.lumos.mini.suite import mini_suite, tasks_of
from evaluator.lumos.retrieval.articles import Corpus
from evaluator.miniature.seeds import Split
from tests.rings import usual

PUBLIC = Source(split=Split.PUBLIC)
HIDDEN = Source(split=Split.HIDDEN, hidden_seed="a secret")


@pytest.mark.parametrize("group", GROUPS)
def test_tasks_are_the_same_each_time_and_others_on_other_splits(group):
    drawn = draw_group(group=group, source=PUBLIC)
    assert drawn == draw_group(group=group, source=Source(split=Split.PUBLIC))
    assert len({(one.text, one.scope) for one in drawn}) == EACH
    hidden = draw_group(group=group, source=HIDDEN)
    assert [one.kind for one in hidden] == [one.kind for one in drawn]
    assert not {one.text for one in drawn} & {one.text for one in hidden}
    assert len({(one.text, one.scope) for one in hidden}) == EACH
    other = draw_group(group=group, source=Source(split=Split.HIDDEN, hidden_seed="another secret"))
    assert [one.answer for one in other] != [one.answer for one in hidden]


def test_there_are_sixty_of_each_group_with_the_same_facts_on_the_hidden_split():
    suite = mini_suite()
    assert Counter(task.metric for task in suite.tasks) == dict.fromkeys(GROUPS, EACH)
    hidden = tasks_of(HIDDEN)
    assert [task.key for task in hidden] == [task.key for task in suite.tasks]
    assert [task.facts for task in hidden] == [task.facts for task in suite.tasks]


@pytest.mark.parametrize("number", usual(range(len(TOWNS)), of=[0]))
def test_the_paragraph_about_an_event_is_found_by_its_verb(number):
    told = chronicle(source=PUBLIC, number=number)
    corpus = Corpus(told.articles)
    for event in told.events:
        for title in (event.person.name, event.thing.name.english):
            article = corpus.find(title)
            (found,) = corpus.paragraphs(article=article, query=event.verb.past.english, count=1)
            assert event.sentence.english in found


def test_databases_of_splits_have_other_rows():
    for number in range(DATABASES):
        public, hidden = (database(source=source, number=number) for source in (PUBLIC, HIDDEN))
        assert public.schema == hidden.schema
        assert all(public.rows[name] != hidden.rows[name] for name in public.rows)


def test_chronicles_of_splits_tell_other_events():
    public, hidden = (chronicle(source=source, number=0) for source in (PUBLIC, HIDDEN))
    assert sum(one == other for one, other in zip(public.events, hidden.events, strict=True)) < len(public.events) / 10
