"""The expert that makes a page for a video."""

import numpy as np
import pytest

from evaluator.core.expert import InputError
from evaluator.core.values import Clip, Label, Labels
from evaluator.core.web_pages import LARGEST_PAGE, elements_of
from evaluator.execution.experts.profile import load_expert, load_profile

TAGS = Labels((Label("dog"), Label("<b>")))


def made(video, *, description="A dog runs."):
    expert = load_expert(spec=load_profile("lilliput-cast").experts["video_to_webpage"])
    (result,) = expert.run([{"video": video, "title": "A & B", "tags": TAGS, "description": description}])
    return result["html_code"]


def test_a_page_has_title_poster_description_and_tags():
    elements = elements_of(made(Clip(np.zeros((3, 8, 8, 3), dtype=np.uint8))))
    kinds = {element.kind: element.content for element in elements}
    assert (kinds["title"], kinds["heading"], kinds["text"]) == ("A & B", "A & B", "A dog runs.")
    assert [element.content for element in elements if element.kind == "tag"] == ["dog", "<b>"]
    assert kinds["picture"].startswith("data:image/apng;base64,")


def test_the_poster_of_a_large_video_is_a_picture():
    noise = np.random.default_rng(1).integers(256, size=(16, 480, 480, 3), dtype=np.uint8)
    page = made(Clip(noise))
    assert "data:image/png;base64," in page
    assert len(page) <= LARGEST_PAGE


def test_a_text_that_is_too_long_is_the_planners_fault():
    with pytest.raises(InputError, match="shorten"):
        made(Clip(np.zeros((3, 8, 8, 3), dtype=np.uint8)), description="a" * 100_000)
