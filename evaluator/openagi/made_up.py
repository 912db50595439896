"""Made-up data of OpenAGI in the sizes of the paper's: pictures of 256x256 pixels, and English texts of usual lengths.

For measuring speed: no answer about them is right.
"""

import hashlib
from collections.abc import Mapping

import numpy as np
from PIL import Image as PillowImage

from evaluator.core import canonical_json
from evaluator.core.suites.base import Task
from evaluator.core.values import Image, Value
from evaluator.openagi import photos
from evaluator.openagi.grammar import Base
from evaluator.openagi.tasks import OpenAGITask

SIDE = 256
_WORDS = (
    "a man with red helmet on small moped dirt road group of people standing near the large white building while "
    "several dogs play beside an old wooden fence and two children ride their bicycles along river bank under grey sky"
)
_COUNTS: Mapping[str, int] = {"document": 140, "query": 10}
"""Words by the name of the resource."""
_TEXTS: Mapping[Base, int] = {Base.SUMMARIZATION: 550, Base.SENTIMENT: 20}
"""Words of a text by the base of the request."""
_CAPTION = 11


class MadeUpSamples:
    """A `SharingSource` of OpenAGI, the same in every process. Requests of one base share their data."""

    digest = canonical_json.digest(["made-up samples", SIDE])

    def missing(self, *, task: Task) -> str | None:  # noqa: ARG002 - the protocol of sources
        return None

    def inputs(self, *, task: Task, index: int) -> Mapping[str, Value]:
        assert isinstance(task, OpenAGITask)
        return {name: self._input(task, name=name, index=index) for name in task.resources}

    def reference(self, *, task: Task, index: int) -> Value:
        assert isinstance(task, OpenAGITask)
        if task.base is Base.RESTORATION:
            return _picture(str(task.base), str(index))
        return _sentence(_CAPTION, "reference", str(task.base), str(index))

    def inputs_key(self, *, task: Task) -> str:
        assert isinstance(task, OpenAGITask)
        return canonical_json.digest(
            [str(task.base), sorted(map(str, task.degradations)), sorted(task.resources), sorted(task.clozed)]
        )

    def reference_key(self, *, task: Task) -> str:
        assert isinstance(task, OpenAGITask)
        return canonical_json.digest([str(task.base)])

    def _input(self, task: OpenAGITask, *, name: str, index: int) -> Value:
        base = str(task.base)
        if name == "image":
            picture = _picture(base, str(index))
            return photos.degraded(picture, degradations=task.degradations, key=base, index=index)
        text = _sentence(_COUNTS.get(name, _TEXTS.get(task.base, _CAPTION)), name, base, str(index))
        return photos.masked(text, key=f"{base} {name}", index=index) if name in task.clozed else text


def _generator(*key: str) -> np.random.Generator:
    return np.random.default_rng(int.from_bytes(hashlib.sha256("\n".join(key).encode()).digest()[:8], "big"))


def _sentence(words: int, *key: str) -> str:
    known = _WORDS.split()
    places = _generator("text", *key).integers(0, len(known), words)
    return " ".join(known[place] for place in places).capitalize() + "."


def _picture(*key: str) -> Image:
    """Smooth colours with some grain."""
    generator = _generator("picture", *key)
    colours = PillowImage.fromarray(generator.integers(0, 256, (16, 16, 3), dtype=np.uint8))
    smooth = np.asarray(colours.resize((SIDE, SIDE), PillowImage.Resampling.BICUBIC))
    return PillowImage.fromarray(np.clip(smooth + generator.normal(0, 6, smooth.shape), 0, 255).astype(np.uint8))
