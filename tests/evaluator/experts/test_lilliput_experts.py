import numpy as np
import pytest
from PIL import Image

from evaluator.experts.profile import load_expert, load_profile
from evaluator.experts.protocol import ExpertError
from evaluator.tools.openagi import OPENAGI
from evaluator.world.degradations import Degradation
from tests.evaluator.world.factories import clean_images, degraded_images

TOOLS = tuple(
    tool for tool in load_profile("lilliput").experts if tool in OPENAGI and set(OPENAGI[tool].inputs) == {"image"}
)


@pytest.fixture(scope="module")
def experts():
    profile = load_profile("lilliput")
    return {tool: load_expert(spec=profile.experts[tool]) for tool in TOOLS}


def run(expert, images):
    return expert.run([{"image": image} for image in images])


def test_super_resolution_also_enlarges_what_is_large_already(experts):
    (output,) = run(experts["Image Super Resolution"], clean_images(count=1))
    assert output["image"].size == (256, 256)


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


def test_mixed_sizes_are_an_error(experts):
    with pytest.raises(ExpertError, match="same size"):
        run(experts["Image Deblurring"], [Image.new("RGB", (8, 8)), Image.new("RGB", (16, 8))])
