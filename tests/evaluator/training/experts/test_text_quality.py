"""The language experts on held-out texts. Bounds are those of the design, or a little below what was measured."""

import pytest
from transformers import AutoTokenizer

from evaluator.experts.profile import load_expert, load_profile
from evaluator.training.experts.quality.texts import TEXT_TOOLS, measure_texts, rouge_l, sample_of
from evaluator.world.lilliput_samples import LilliputSamples
from evaluator.world.text_samples import TEXT_SAMPLES
from tests.evaluator.world.factories import Task

COUNT = 64


@pytest.fixture(scope="module")
def experts():
    specs = load_profile("lilliput").experts
    return {tool: load_expert(spec=specs[tool]) for tool in TEXT_TOOLS.values() if tool in specs}


@pytest.fixture(scope="module")
def quality(experts):
    return measure_texts(experts=experts, count=COUNT).tables


def test_translations_are_exact(quality):
    table = quality["machine-translation"]
    assert sum(table.values()) / len(table) >= 0.95, table
    assert min(table.values()) >= 0.95, table


def test_masked_words_are_restored(quality):
    table = quality["fill-mask"]
    assert min(table.values()) >= 0.9, table


def test_answers_are_exact(quality):
    assert quality["question-answering"]["exact"] >= 0.95


def test_summaries_say_who_did_what(quality):
    assert quality["summarization"]["ROUGE-L"] >= 0.9


def test_sentiments_are_right(quality):
    assert quality["sentiment"]["accuracy"] >= 0.97


def test_continuations_take_the_word_that_must_follow(quality):
    assert quality["text-generation"]["right next word"] >= 0.9


def answers(experts, *, task, tools):
    """Exact answers among the samples, after the tools one by one; each repairs or answers the text."""
    samples = LilliputSamples("validation")
    values = [samples.inputs(task=task, index=index) for index in range(COUNT)]
    for tool in tools:
        values = experts[tool].run(values)
    wanted = [samples.reference(task=task, index=index) for index in range(COUNT)]
    return sum(value["text"] == right for value, right in zip(values, wanted, strict=True)) / COUNT


@pytest.mark.parametrize(
    ("base", "tools"),
    [("summarization", ("Text Summarization",)), ("sentiment", ("Sentiment Analysis",)), ("translation", ())],
)
def test_the_gold_plan_beats_leaving_out_a_step(experts, base, tools):
    task = Task(base=base, language="de", resources=("text",), clozed=("text",))
    gold = ("Fill Mask", *tools, "Machine Translation")
    best = answers(experts, task=task, tools=gold)
    for left_out in gold:
        assert best > answers(experts, task=task, tools=[tool for tool in gold if tool != left_out]), left_out


def test_rouge_l_is_the_share_of_the_longest_common_subsequence():
    assert rouge_l(output="a b c", reference="a b c") == 1.0
    assert rouge_l(output="a c", reference="a b c") == pytest.approx(0.8)
    assert rouge_l(output="", reference="a") == 0.0
    assert rouge_l(output="x", reference="a") == 0.0


def test_the_bert_score_knows_every_word_of_both_languages():
    tokenizer = AutoTokenizer.from_pretrained(load_profile("lilliput").scorers["BERT"].path, local_files_only=True)
    for index in range(COUNT):
        samples = [sample_of(base=base, index=index) for base in TEXT_SAMPLES]
        texts = [text for s in samples for text in (s.reference.english, s.reference.german)]
        texts += [source.text for sample in samples for source in sample.texts.values()]
        for text in texts:
            pieces = tokenizer.tokenize(text)
            assert not [piece for piece in pieces if piece == "[UNK]" or piece.startswith("##")], text
