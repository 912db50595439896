"""What the shipped experts make of pictures, texts, signs, maps and clips."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from evaluator.core.expert import InputError
from evaluator.core.values import Clip, Labels
from evaluator.execution.experts.profile import load_expert, load_profile
from evaluator.miniature.degradations import Degradation
from evaluator.miniature.pictures.skeleton import read_skeleton
from evaluator.miniature.seeds import Split
from evaluator.miniature.signs import draw_sign, paint_sign
from evaluator.miniature.tableaux.clips import Motion, draw_clip, frames_of
from evaluator.miniature.tableaux.drawing import Content, draw_tableau, paint
from tests.evaluator.miniature.factories import clean_images, degraded_images


class Experts(dict):
    """By tool, each loaded when it is first needed."""

    def __missing__(self, tool):
        self[tool] = loaded(tool)
        return self[tool]


def loaded(tool, **parameters):
    spec = load_profile("lilliput").experts[tool]
    return load_expert(spec=replace(spec, batch_size=4, parameters={**spec.parameters, **parameters}))


@pytest.fixture(scope="module")
def experts():
    return Experts()


def answers(expert, *items):
    return [next(iter(result.values())) for result in expert.run(list(items))]


def tableau(index, *, content=Content.FIGURE):
    return draw_tableau(split=Split.VALIDATION, index=index, content=content)


def image_of(drawn):
    return Image.fromarray(paint(drawn).pixels)


def sign_image(index, *, words=()):
    return Image.fromarray(paint_sign(draw_sign(split=Split.VALIDATION, index=index, words=words)))


def clip(index=0):
    return Clip(frames_of(draw_clip(split=Split.VALIDATION, index=index)))


def test_translations(experts):
    wanted = {
        "red star": "roter Stern",
        "two": "zwei",
        "yes": "ja",
        "negative": "negativ",
        "in the quiet library": "in der stillen Bibliothek",
        "A red star is above a green ring on a sandy background.": (
            "Ein roter Stern ist über einem grünen Ring auf sandfarbenem Hintergrund."
        ),
        "Emma lost a watch and Ben bought a fish.": "Emma verlor eine Uhr und Ben kaufte einen Fisch.",
    }
    results = answers(experts["Machine Translation"], *({"text": text} for text in wanted))
    assert dict(zip(wanted, results, strict=True)) == wanted


def test_masks_are_filled_however_they_are_spelt_and_nothing_else_changes(experts):
    text = "On Monday Anna bought a sweet {} in the quiet {}."
    plain = "Nothing  is masked\nhere - ganz gewiß."
    texts = [text.format("[MASK]", "[MASK]"), text.format("<mask>", "<mask>"), plain]
    filled = text.format("cake", "library")
    assert answers(experts["Fill Mask"], *({"text": one} for one in texts)) == [filled, filled, plain]


def test_a_continuation_begins_with_the_text_and_an_empty_document_answers_nothing(experts):
    (written,) = answers(experts["Text Generation"], {"text": "On Monday Anna bought a sweet"})
    assert written.startswith("On Monday Anna bought a sweet cake")
    assert answers(experts["Question Answering"], {"document": "", "query": "Who bought the cake?"}) == [""]


@pytest.mark.parametrize("tool", ["Machine Translation", "Text Summarization", "Text Generation", "Fill Mask"])
def test_tokenizers_lose_nothing(experts, tool):
    tokenizer = experts[tool]._tokenizer
    for text in ("Grüße, Größe & Übermut: 3,5 °C!", "A red star.", "das  Maß\tist voll"):
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert tokenizer.decode(ids).removeprefix(" ") == text


def test_the_captioner_sees_the_colours(experts):
    images = clean_images(count=8)
    result, gray = (
        answers(experts["Image Captioning"], *({"image": image} for image in some))
        for some in (images, [image.convert("L").convert("RGB") for image in images])
    )
    assert result != gray
    assert all(text.startswith(("A ", "An ")) and text.endswith(" background.") for text in result)


def test_the_colorizer_sees_only_lightness(experts):
    """Colours of the input make no difference beyond the rounding of its lightness."""
    gray = degraded_images(Degradation.GRAYSCALE, count=1)[0]
    (image,) = answers(experts["Colorization"], {"image": gray})
    before, after = (np.asarray(one.convert("L"), dtype=int) for one in (gray, image))
    assert np.abs(before - after).mean() < 10


def test_maps_of_depth_are_grey_and_the_background_is_far_away(experts):
    drawn = tableau(2)
    (result,) = answers(experts["image_to_depth"], {"image": image_of(drawn)})
    red, green, blue = np.moveaxis(np.asarray(result), -1, 0)
    assert np.array_equal(red, green)
    assert np.array_equal(red, blue)
    owner = paint(drawn).owner
    assert red[owner < 0].mean() < 20 < red[owner >= 0].mean()


def test_most_normals_point_to_the_viewer(experts):
    (result,) = answers(experts["image_to_normal"], {"image": image_of(tableau(2))})
    normals = np.asarray(result) / 127.5 - 1
    assert (normals[..., 2] > 0.9).mean() > 0.7
    assert (normals[..., 2] < 0.9).any()
    assert np.abs(np.linalg.norm(normals, axis=-1) - 1).max() < 0.05


def test_a_picture_without_a_figure_has_no_skeleton(experts):
    plain = replace(tableau(0, content=Content.THINGS), parts=())
    (result,) = answers(experts["image_to_pose"], {"image": image_of(plain)})
    assert read_skeleton(np.asarray(result)) is None


@pytest.mark.parametrize("tool", ["video_classification", "video_captioning"])
def test_clips_of_any_length_and_size_but_a_single_frame(experts, tool):
    frames = clip().frames
    larger, longer = Clip(frames.repeat(2, axis=1).repeat(2, axis=2)), Clip(frames.repeat(2, axis=0))
    assert len(answers(experts[tool], *({"video": one} for one in (larger, longer, Clip(frames[::3]))))) == 3
    with pytest.raises(InputError, match="a single frame, which shows no motion; it needs at least 2"):
        experts[tool].run([{"video": Clip(frames[:1])}])


def test_a_clip_is_resampled_evenly_from_its_first_to_its_last_frame():
    from evaluator.execution.experts.clips import resampled

    frames = np.zeros((22, 4, 6, 3), dtype=np.uint8) + np.arange(22, dtype=np.uint8)[:, None, None, None]
    chosen = resampled(Clip(frames), frames=8, size=4)
    assert chosen.shape == (8, 4, 4, 3)
    assert chosen[:, 0, 0, 0].tolist() == [0, 3, 6, 9, 12, 15, 18, 21]


def test_labels_are_motions_the_surest_first_and_one_at_least():
    (labels,) = answers(loaded("video_classification", threshold=0.0), {"video": clip()})
    assert isinstance(labels, Labels)
    assert {label.name for label in labels.items} == set(Motion)
    scores = [label.score for label in labels.items]
    assert scores == sorted(scores, reverse=True)
    assert sum(scores) == pytest.approx(1, abs=1e-4)
    noise = np.random.default_rng(0).integers(256, size=(8, 64, 64, 3), dtype=np.uint8)
    (surest,) = answers(loaded("video_classification", threshold=1), {"video": Clip(noise)})
    assert len(surest.items) == 1


def test_a_word_that_the_model_never_learnt_is_no_error(experts):
    (result,) = answers(experts["text_to_tags"], {"text": "Anna lost a [MASK] in the mill."})
    assert isinstance(result, Labels)


def test_a_list_has_each_item_once(monkeypatch, experts):
    tags = experts["text_to_tags"]
    monkeypatch.setattr(type(tags), "answer", lambda self, rows, length: ["mill, cake,, mill , "] * len(rows))
    (result,) = answers(tags, {"text": "anything"})
    assert [one.name for one in result.items] == ["mill", "cake"]


def test_letters_are_seen_whatever_their_colours():
    """Brightness alone counts, in deviations from its mean."""
    import torch

    from evaluator.execution.experts.recognition import CHANNELS, letter_values

    picture = torch.from_numpy(np.asarray(sign_image(0), dtype=np.float32).transpose(2, 0, 1)[None] / 255)
    values = letter_values(picture)
    assert values.shape == (1, CHANNELS, 64, 64)
    assert torch.allclose(values, letter_values(0.5 * picture + 0.2), atol=1e-3)
    # The fifth channel is the picture itself, the sixth shows what lies a patch to the right.
    assert torch.equal(values[0, 5, :, :-4], values[0, 4, :, 4:])
    assert torch.equal(values[0, 7, :-8], values[0, 4, 8:])


@pytest.mark.full
@pytest.mark.parametrize(
    ("kind", "folder", "count", "floors"),
    [
        ("maps", "depth", 24, {"pairs of parts whose order is right": 0.85}),
        ("maps", "soft-edges", 24, {"F1 of edges within one pixel": 0.8}),
        ("maps", "pose", 24, {"joints within 0.2 torsos (PCK)": 0.7, "figures seen or rightly not seen": 0.85}),
        ("maps", "video-classification", 24, {"motions that are right": 0.8}),
        ("maps", "video-captioning", 24, {"captions that are exactly right": 0.3}),
        ("reading", "character-recognition", 128, {"exact": 0.9, "right words that no training sign shows": 0.9}),
        ("reading", "text-annotation", 128,
         {"exact titles": 0.98, "F1 of tags": 0.98, "F1 of names": 0.98, "exact places": 0.98}),
        ("seeing", "tableau-detection", 24, {"F1 at IoU 0.5": 0.8}),
        ("seeing", "segment-anything", 12,
         {"IoU of instances": 0.63, "IoU by points": 0.7, "IoU by rough masks": 0.75, "IoU of segments": 0.7}),
        ("seeing", "visual-grounding", 24,
         {"hits at IoU 0.5, colour and shape": 0.7, "hits at IoU 0.5, shape": 0.65, "hits at IoU 0.5, colour": 0.7}),
    ],
)  # fmt: skip
def test_held_out_quality(experts, kind, folder, count, floors):
    from evaluator.studies.experts.quality import maps, seeing, texts

    for spec in load_profile("lilliput").experts.values():
        if spec.path.name == folder:
            assert experts[spec.tool]
    result = {"maps": maps, "reading": texts, "seeing": seeing}[kind].MEASURES[folder](experts, count)
    assert {figure: result[figure] for figure, floor in floors.items() if result[figure] < floor} == {}


@pytest.mark.full
def test_held_out_quality_of_texts(experts):
    from evaluator.studies.experts.quality.texts import TEXT_TOOLS, measure_texts

    tables = measure_texts(experts={tool: experts[tool] for tool in TEXT_TOOLS.values()}, count=64).tables
    results = {name: min(table.values()) for name, table in tables.items()}
    floors = {"machine-translation": 0.95, "fill-mask": 0.9, "summarization": 0.9, "sentiment": 0.97}
    assert {name: results[name] for name, floor in floors.items() if results[name] < floor} == {}
    assert tables["question-answering"]["exact"] >= 0.95
    assert tables["text-generation"]["right next word"] >= 0.9
