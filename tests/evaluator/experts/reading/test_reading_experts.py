"""Reading of signs, and titles, tags, names and places of texts, on the shipped weights."""

import numpy as np
import pytest
from PIL import Image

from evaluator.experts.annotation import TagsExpert
from evaluator.training.experts.quality.reading import MEASURES
from evaluator.world.seeds import Split
from evaluator.world.signs import draw_sign, paint_sign
from tests.evaluator.experts.shipped import shipped_expert

READER = "optical_character_recognition"
ANNOTATION = {
    "title_generation": ("t5", "title"),
    "text_to_tags": ("t5-tags", "tags"),
    "named_entity_recognition": ("t5-tags", "tags"),
    "extract_location": ("t5", "location"),
}
PREFIXES = {
    "title_generation": "title: ",
    "text_to_tags": "tags: ",
    "named_entity_recognition": "names: ",
    "extract_location": "place: ",
}

each_tool = pytest.mark.parametrize("tool", ANNOTATION)


@pytest.fixture(scope="module")
def experts():
    made = {READER: shipped_expert(folder="character-recognition", implementation="trocr", max_new_tokens=27)}
    for tool, (implementation, output) in ANNOTATION.items():
        made[tool] = shipped_expert(
            folder="text-annotation", implementation=implementation, output=output, prefix=PREFIXES[tool]
        )
    return made


def sign_image(index, *, words=()):
    return Image.fromarray(paint_sign(draw_sign(split=Split.VALIDATION, index=index, words=words)))


@pytest.mark.full
def test_signs_are_read_and_words_that_no_training_sign_shows_too(experts):
    quality = MEASURES["character-recognition"](experts, 128)
    assert quality["exact"] >= 0.9
    assert quality["characters in error"] <= 0.02
    assert quality["right words of training"] >= 0.94
    assert quality["right words that no training sign shows"] >= 0.9


@pytest.mark.full
def test_texts_get_the_right_titles_tags_names_and_places(experts):
    quality = MEASURES["text-annotation"](experts, 128)
    assert quality["exact titles"] >= 0.98
    assert quality["F1 of tags"] >= 0.98
    assert quality["F1 of names"] >= 0.98
    assert quality["exact places"] >= 0.98


def test_a_larger_picture_of_a_sign_is_read_the_same(experts):
    enlarged = sign_image(0, words=("cake",)).resize((128, 128), Image.Resampling.NEAREST)
    (output,) = experts[READER].run([{"image": enlarged}])
    assert output == {"text": "cake"}


def test_a_list_has_each_item_once(monkeypatch, experts):
    tags = experts["text_to_tags"]
    monkeypatch.setattr(TagsExpert, "answer", lambda self, rows: ["mill, cake,, mill , "] * len(rows))
    (output,) = tags.run([{"text": "anything"}])
    assert [one.name for one in output["tags"].items] == ["mill", "cake"]


def test_letters_are_seen_whatever_their_colours():
    """Brightness alone counts, in deviations from its mean."""
    import torch

    from evaluator.experts.character_recognition import CHANNELS, letter_values

    picture = torch.from_numpy(np.asarray(sign_image(0), dtype=np.float32).transpose(2, 0, 1)[None] / 255)
    values = letter_values(picture)
    assert values.shape == (1, CHANNELS, 64, 64)
    assert torch.allclose(values, letter_values(0.5 * picture + 0.2), atol=1e-3)
    # The fifth channel is the picture itself, the sixth shows what lies a patch to the right.
    assert torch.equal(values[0, 5, :, :-4], values[0, 4, :, 4:])
    assert torch.equal(values[0, 7, :-8], values[0, 4, 8:])
