"""Finding articles and paragraphs, and comparing answers as HotpotQA does."""

import pytest

from evaluator.lumos.retrieval.answers import exact_match, f1, plain
from evaluator.lumos.retrieval.articles import Article, Corpus, Ranking, words_of

CORPUS = Corpus(
    [
        Article("Alder", ("Alder is a town on a river.", "Its mills were built in 1700.")),
        Article("The Old Mill", ("The mill of Alder grinds flour.",)),
        Article("Birch", ("A tree with white bark.",)),
    ]
)


@pytest.mark.parametrize(
    ("entity", "title"),
    [
        ("Alder", "Alder"), (" alder. ", "Alder"), ("the old mill", "The Old Mill"), ("old mill", "The Old Mill"),
        ("trees with bark", "Birch"), ("flour", "The Old Mill"),
    ],
)  # fmt: skip
def test_an_article_is_found_by_its_title_or_by_its_words(entity, title):
    assert CORPUS.find(entity).title == title


@pytest.mark.parametrize("entity", ["", "zebra", "the", "?!"])
def test_nothing_is_found_where_no_word_occurs(entity):
    assert CORPUS.find(entity) is None


def test_the_paragraph_with_the_words_of_the_query_comes_first():
    article = CORPUS.find("Alder")
    assert CORPUS.paragraphs(article=article, query="When was the mill built?", count=1) == (
        "Its mills were built in 1700.",
    )
    assert CORPUS.paragraphs(article=article, query="zebra", count=1) == ("Alder is a town on a river.",)


def test_equal_scores_keep_the_order_of_the_corpus():
    assert Ranking(["a red hat", "a blue hat", "a green hat"]).best("hat", count=2) == (0, 1)


def test_words_lose_endings_and_common_words():
    assert words_of("What did the mills do? Grinding, towns!") == ["mill", "grind", "town"]


def test_answers_are_compared_without_case_punctuation_and_articles():
    assert plain(" The  Old-Mill, an inn! ") == "oldmill inn"
    assert exact_match(answer="the Old Mill.", reference="old mill")
    assert not exact_match(answer="mill", reference="old mill")


@pytest.mark.parametrize(
    ("answer", "reference", "value"),
    [
        ("in the old mill", "in the old mill", 1.0), ("old mill", "in the old mill", 0.8), ("no", "yes", 0.0),
        ("yes it is", "yes", 0.0), ("yes", "yes", 1.0), ("", "mill", 0.0), ("mill mill", "mill", 2 / 3),
    ],
)  # fmt: skip
def test_f1_is_that_of_hotpotqas_script(answer, reference, value):
    assert f1(answer=answer, reference=reference) == pytest.approx(value)
