import pytest

from evaluator.experts.profile import load_expert, load_profile
from evaluator.training.experts.quality.texts import TEXT_TOOLS

SPECS = load_profile("lilliput").experts
TOOLS = tuple(tool for tool in SPECS if tool in TEXT_TOOLS.values())


@pytest.fixture(scope="module")
def experts():
    return {tool: load_expert(spec=SPECS[tool]) for tool in TOOLS}


def run(expert, items):
    return [result["text"] for result in expert.run(items)]


def test_from_a_blank_document_nothing_is_answered(experts):
    (answer,) = run(experts["Question Answering"], [{"document": "", "query": "Who bought the sweet cake?"}])
    assert answer == ""


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
