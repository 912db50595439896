"""Text to image generation with a Stable Diffusion pipeline."""

import hashlib
from collections.abc import Mapping, Sequence

import torch
from PIL import Image as PillowImage

from evaluator.core.expert import ExpertSpec
from evaluator.core.values import Image, Value
from evaluator.execution.experts.imaging import to_pixels
from evaluator.execution.experts.pipelines import load_pipeline
from evaluator.execution.experts.sampling import SEEDS, PictureSampler, number
from evaluator.execution.experts.texts import text_of, whole_number


class DrawingExpert(PictureSampler[str]):
    """An English text in, a picture of the model's own size out; drawn with as many `steps` as the profile says.

    Texts longer than the text encoder reads are cut, as in the original.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec)
        self._pipeline = load_pipeline(folder=spec.path, precision=spec.precision).to(device)
        self._steps = whole_number(spec=spec, name="steps", default=50)
        self._guidance = number(spec=spec, name="guidance", default=7.5)

    def read(self, item: Mapping[str, Value]) -> str:
        return text_of(item, name="text")

    def seed(self, item: Mapping[str, Value]) -> int:
        return seed_of(self.read(item))

    def draw(self, *, rows: Sequence[str], generators: list[torch.Generator]) -> Sequence[Image]:
        drawn = self._pipeline(
            prompt=list(rows),
            generator=generators,
            num_inference_steps=self._steps,
            guidance_scale=self._guidance,
            output_type="pt",
        ).images
        return [PillowImage.fromarray(pixels) for pixels in to_pixels(drawn.float())]


def seed_of(text: str) -> int:
    """A whole number below 2^63 that depends on the text alone."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:8], "big") % SEEDS
