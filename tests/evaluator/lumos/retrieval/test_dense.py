"""Paragraphs by embeddings, with a checkpoint in the hub's layout that is made here."""

import pytest

from evaluator.episodes.base import Setting, SettingError, episode_of
from evaluator.episodes.turns.environment import Call, Made, ToolFault
from evaluator.lumos.retrieval.articles import Article, Corpus, Ranking
from evaluator.lumos.retrieval.dense import VARIABLE, configured_retriever
from evaluator.lumos.retrieval.environment import find_paragraphs
from evaluator.replies.turns.actions import read_actions
from tests.fakes.sentence_checkpoint import save_checkpoint

WORDS = ("alder", "is", "a", "town", "its", "mills", "grind", "flour", "automobile", "car", "works", "sells")
ALDER = Article("Alder", ("Alder is a town.", "Its mills grind flour.", "Its works sells a automobile."))


@pytest.fixture
def encoder(tmp_path, monkeypatch):
    folder = save_checkpoint(tmp_path / "tiny", words=WORDS, layers=0, synonyms={"car": "automobile"})
    monkeypatch.setenv(VARIABLE, str(folder))
    return folder


def best(query, *, count=1):
    return Corpus([ALDER], ranked=configured_retriever().ranked).paragraphs(article=ALDER, query=query, count=count)


def call(action):
    (read,) = read_actions(text=action, tools=("ParagraphRetrieve",)).actions
    return Call(
        scope="", tool=read.tool, arguments=read.raw, references=read.references, values={}, outputs=len(read.outputs)
    )


def test_a_synonym_finds_its_paragraph_where_bm25_finds_none(encoder):
    assert Ranking(ALDER.paragraphs).best("car", count=1) == ()
    assert best("car") == ("Its works sells a automobile.",)
    assert len(best("car", count=5)) == 3


def test_an_empty_query_and_ties_keep_the_order_of_the_article(encoder):
    assert best(" ", count=2) == ALDER.paragraphs[:2]
    assert best("unknown words", count=3) == ALDER.paragraphs


def test_paragraph_retrieve_uses_the_model(encoder):
    corpus = Corpus([ALDER], ranked=configured_retriever().ranked)
    made = find_paragraphs(call("R2 = ParagraphRetrieve(Alder, Query: car)"), corpus=corpus, count=1)
    assert made == Made(("Its works sells a automobile.",))


def test_boards_of_either_retriever_are_their_own(encoder, monkeypatch, tmp_path):
    episode = episode_of("lumos-mini")
    dense = episode.rules_digest("lilliput")
    facts = episode.environment(Setting(profile="lilliput")).facts()["paragraph_encoder"]
    assert facts["name"] == "tiny"
    other = save_checkpoint(tmp_path / "other", words=WORDS, layers=1)
    monkeypatch.setenv(VARIABLE, str(other))
    assert episode.rules_digest("lilliput") != dense
    monkeypatch.delenv(VARIABLE)
    assert episode.rules_digest("lilliput") != dense
    assert "paragraph_encoder" not in episode.environment(Setting(profile="lilliput")).facts()


@pytest.mark.parametrize(
    ("layout", "message"),
    [({"modules": ("Transformer", "Dense")}, "consists of Transformer, Dense"), ({"prompt": "query"}, "puts a prompt")],
)
def test_an_unsupported_model_is_refused_before_any_planner_is_asked(tmp_path, monkeypatch, layout, message):
    monkeypatch.setenv(VARIABLE, str(save_checkpoint(tmp_path / "odd", words=WORDS, layers=0, **layout)))
    with pytest.raises(SettingError, match=f"{VARIABLE}: .*{message}"):
        episode_of("lumos-mini").rules_digest("lilliput")


def test_a_folder_without_a_model_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(SettingError, match=f"{VARIABLE}: .*there are no weights"):
        episode_of("lumos-mini").rules_digest("lilliput")


def test_damaged_weights_are_a_fault_of_the_site(encoder):
    (encoder / "model.safetensors").write_bytes(b"damaged")
    corpus = Corpus([ALDER], ranked=configured_retriever().ranked)
    fault = find_paragraphs(call("R2 = ParagraphRetrieve(Alder, Query: car)"), corpus=corpus, count=1)
    assert isinstance(fault, ToolFault)
    assert "cannot be loaded" in fault.message
    assert str(encoder) not in fault.message


def test_a_model_that_changes_while_it_is_in_use_is_refused(encoder):
    retriever = configured_retriever()
    save_checkpoint(encoder, words=WORDS, layers=1)
    fault = find_paragraphs(
        call("R2 = ParagraphRetrieve(Alder, Query: car)"), corpus=Corpus([ALDER], ranked=retriever.ranked), count=1
    )
    assert isinstance(fault, ToolFault)
    assert "has changed" in fault.message
