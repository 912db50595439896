import numpy as np
import pytest
from PIL import Image

from evaluator.experts.profile import load_expert, load_profile
from evaluator.experts.protocol import ExpertError
from evaluator.tools.openagi import OPENAGI
from evaluator.values import encode
from evaluator.world.degradations import Degradation
from evaluator.world.vocabulary import CLASS_LABELS
from tests.evaluator.world.factories import clean_images, degraded_images

TOOLS = tuple(
    tool for tool in load_profile("lilliput").experts if tool in OPENAGI and set(OPENAGI[tool].inputs) == {"image"}
)
RESTORING = tuple(tool for tool in TOOLS if set(OPENAGI[tool].outputs) == {"image"})

FURTHER_OUTPUTS = {"Object Detection": ("boxes",)}
"""What is shown to people beside the tool's outputs."""


@pytest.fixture(scope="module")
def experts():
    profile = load_profile("lilliput")
    return {tool: load_expert(spec=profile.experts[tool]) for tool in TOOLS}


def run(expert, images):
    return expert.run([{"image": image} for image in images])


def as_bytes(output):
    return {name: encode(value) for name, value in output.items()}


def mixed_images(tool):
    """Different contents and degradations, one size: the one a tool usually works on."""
    size = (16, 16) if tool == "Image Super Resolution" else (64, 64)
    noisy = degraded_images(Degradation.NOISE, count=10)
    gray = degraded_images(Degradation.GRAYSCALE, Degradation.BLUR, count=10, start=10)
    return [image.resize(size) for image in [*noisy, *gray, *clean_images(count=20, start=20)]]


@pytest.mark.parametrize("tool", TOOLS)
def test_outputs_are_those_of_the_tool_signature(experts, tool):
    (output,) = run(experts[tool], clean_images(count=1))
    assert set(output) == {*OPENAGI[tool].outputs, *FURTHER_OUTPUTS.get(tool, ())}


@pytest.mark.parametrize("tool", TOOLS)
def test_an_item_alone_gives_the_same_bytes_as_in_a_mixed_batch(experts, tool):
    images = mixed_images(tool)
    together = [as_bytes(output) for output in run(experts[tool], images)]
    for position in (0, 7, 19, 33):
        (alone,) = run(experts[tool], [images[position]])
        assert as_bytes(alone) == together[position]


@pytest.mark.parametrize("tool", TOOLS)
def test_the_place_in_the_batch_does_not_matter(experts, tool):
    images = mixed_images(tool)
    forwards = [as_bytes(output) for output in run(experts[tool], images)]
    backwards = [as_bytes(output) for output in run(experts[tool], images[::-1])]
    assert forwards == backwards[::-1]


@pytest.mark.parametrize("tool", RESTORING)
@pytest.mark.parametrize("size", [(37, 21), (5, 64), (1, 1), (33, 32)])
def test_odd_sizes_are_kept_or_enlarged(experts, tool, size):
    (output,) = run(experts[tool], [clean_images(count=1)[0].resize(size)])
    factor = 4 if tool == "Image Super Resolution" else 1
    assert output["image"].size == (size[0] * factor, size[1] * factor)


def test_super_resolution_also_enlarges_what_is_large_already(experts):
    (output,) = run(experts["Image Super Resolution"], clean_images(count=1))
    assert output["image"].size == (256, 256)


@pytest.mark.parametrize("size", [(32, 32), (128, 128), (50, 9)])
def test_the_classifier_takes_any_size(experts, size):
    (output,) = run(experts["Image Classification"], [clean_images(count=1)[0].resize(size)])
    assert output["text"] in CLASS_LABELS


@pytest.mark.parametrize("size", [(32, 32), (128, 128), (50, 9), (1, 1)])
def test_the_captioner_says_a_sentence_about_any_size(experts, size):
    (output,) = run(experts["Image Captioning"], [clean_images(count=1)[0].resize(size)])
    assert output["text"].startswith(("A ", "An "))
    assert output["text"].endswith(" background.")


def test_the_captioner_sees_only_the_image(experts):
    """The same pixels give the same words, a picture without its colours gives others."""
    images = clean_images(count=8)
    gray = [image.convert("L").convert("RGB") for image in images]
    assert run(experts["Image Captioning"], images) == run(experts["Image Captioning"], images)
    assert run(experts["Image Captioning"], images) != run(experts["Image Captioning"], gray)


def test_the_colorizer_sees_only_lightness(experts):
    """Colours of the input make no difference beyond the rounding of its lightness."""
    gray = degraded_images(Degradation.GRAYSCALE, count=1)[0]
    (output,) = run(experts["Colorization"], [gray])
    before, after = (np.asarray(image.convert("L"), dtype=int) for image in (gray, output["image"]))
    assert np.abs(before - after).mean() < 10


def test_an_empty_batch_is_no_work(experts):
    assert experts["Image Denoising"].run([]) == []


@pytest.mark.parametrize("item", [{}, {"image": "a text"}])
def test_a_wrong_input_is_an_error_that_says_why(experts, item):
    with pytest.raises(ExpertError, match='"image" must be an image'):
        experts["Image Denoising"].run([item])


def test_mixed_sizes_are_an_error(experts):
    with pytest.raises(ExpertError, match="same size"):
        run(experts["Image Deblurring"], [Image.new("RGB", (8, 8)), Image.new("RGB", (16, 8))])
