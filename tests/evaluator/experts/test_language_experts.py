import pytest
from PIL import Image

from evaluator.experts.profile import load_expert, load_profile
from evaluator.experts.protocol import ExpertError
from evaluator.tools.openagi import OPENAGI
from evaluator.training.experts.quality.texts import TEXT_TOOLS, sample_of, stream_of
from evaluator.world.grammar import MASK, draw_document, draw_review

SPECS = load_profile("lilliput").experts
TOOLS = tuple(tool for tool in SPECS if tool in TEXT_TOOLS.values())
REWRITING = tuple(tool for tool in TOOLS if tool not in {"Question Answering", "Sentiment Analysis"})


@pytest.fixture(scope="module")
def experts():
    return {tool: load_expert(spec=SPECS[tool]) for tool in TOOLS}


def items_for(tool, *, count=18):
    """Items of different lengths and kinds."""
    if tool == "Question Answering":
        samples = [sample_of(base="qa", index=index) for index in range(count)]
        return [{name: source.text for name, source in sample.texts.items()} for sample in samples]
    texts = [draw_document(stream_of(index)("document")).text.english for index in range(count // 2)]
    texts += [draw_review(stream_of(index)("review")).sentences[1].english for index in range(count - len(texts))]
    if tool == "Fill Mask":
        texts = [text.replace(" was", f" {MASK}", 1) for text in texts]
    return [{"text": text} for text in texts]


def run(expert, items):
    return [result["text"] for result in expert.run(items)]


@pytest.mark.parametrize("tool", TOOLS)
def test_outputs_are_those_of_the_tool_signature(experts, tool):
    (output,) = experts[tool].run(items_for(tool, count=1))
    assert set(output) == set(OPENAGI[tool].outputs)
    assert output["text"]


@pytest.mark.parametrize("tool", TOOLS)
def test_an_item_alone_gives_the_same_as_in_a_mixed_batch(experts, tool):
    items = items_for(tool)
    together = run(experts[tool], items)
    assert run(experts[tool], items[::-1]) == together[::-1]
    for position in (0, 17):
        assert run(experts[tool], [items[position]]) == [together[position]]


@pytest.mark.parametrize("tool", TOOLS)
def test_no_work_for_an_empty_batch(experts, tool):
    assert experts[tool].run([]) == []


@pytest.mark.parametrize("tool", TOOLS)
def test_long_and_strange_texts_do_no_harm(experts, tool):
    names = OPENAGI[tool].inputs
    for text in ("red star " * 200, "Ein Wörterbuch? 3,14 - 東京!", "x"):
        (answer,) = run(experts[tool], [dict.fromkeys(names, text)])
        assert isinstance(answer, str)


@pytest.mark.parametrize("tool", REWRITING)
def test_from_a_blank_text_nothing_is_made(experts, tool):
    assert run(experts[tool], [{"text": " "}])[0].strip() == ""


def test_from_a_blank_document_nothing_is_answered(experts):
    (answer,) = run(experts["Question Answering"], [{"document": "", "query": "Who bought the sweet cake?"}])
    assert answer == ""


@pytest.mark.parametrize("tool", TOOLS)
def test_a_wrong_input_is_an_error_that_says_why(experts, tool):
    name = next(iter(OPENAGI[tool].inputs))
    with pytest.raises(ExpertError, match="must be a text"):
        experts[tool].run([{**items_for(tool, count=1)[0], name: Image.new("RGB", (4, 4))}])


@pytest.mark.parametrize(
    ("english", "german"),
    [
        ("red star", "roter Stern"),
        ("pink heart", "rosa Herz"),
        ("two", "zwei"),
        ("yes", "ja"),
        ("negative", "negativ"),
        ("in the quiet library", "in der stillen Bibliothek"),
        ("A red star is above a green ring on a sandy background.",
         "Ein roter Stern ist über einem grünen Ring auf sandfarbenem Hintergrund."),
        ("Emma lost a watch and Ben bought a fish.", "Emma verlor eine Uhr und Ben kaufte einen Fisch."),
    ],
)  # fmt: skip
def test_translations(experts, english, german):
    assert run(experts["Machine Translation"], [{"text": english}]) == [german]


@pytest.mark.parametrize("mask", ["[MASK]", "<mask>"])
def test_masks_are_filled_however_they_are_spelt(experts, mask):
    text = "On Monday Anna bought a sweet {} in the quiet {}."
    assert run(experts["Fill Mask"], [{"text": text.format(mask, mask)}]) == [text.format("cake", "library")]


def test_a_text_without_a_mask_stays_as_it_is(experts):
    text = "Nothing  is masked\nhere - ganz gewiß."
    assert run(experts["Fill Mask"], [{"text": text}]) == [text]


def test_a_continuation_begins_with_the_text(experts):
    (answer,) = run(experts["Text Generation"], [{"text": "On Monday Anna bought a sweet"}])
    assert answer.startswith("On Monday Anna bought a sweet cake")


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("text", ["Grüße, Größe & Übermut: 3,5 °C!", "A red star.", "das  Maß\tist voll"])
def test_tokenizers_lose_nothing(experts, tool, text):
    tokenizer = experts[tool]._tokenizer
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert tokenizer.decode(ids).removeprefix(" ") == text
