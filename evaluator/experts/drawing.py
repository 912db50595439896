"""Text to image generation with a Stable Diffusion pipeline."""

import hashlib
from collections.abc import Mapping, Sequence

import torch
from diffusers import StableDiffusionPipeline
from diffusers.utils import logging
from PIL import Image as PillowImage

from evaluator.experts.imaging import to_pixels
from evaluator.experts.pretrained import dtype_of
from evaluator.experts.protocol import ExpertError, ExpertSpec
from evaluator.experts.texts import text_of, whole_number
from evaluator.experts.weights import WeightsError
from evaluator.values import Value

_SEEDS = 2**63


class DrawingExpert:
    """An English text in, a picture of the model's own size out; drawn with as many `steps` as the profile says.

    Texts longer than the text encoder reads are cut, as in the original. The noise with which a picture begins comes
    from a generator of its own on the CPU, so it is the same on every device and in every batch; batches are filled up
    to one size.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        self._pipeline = _load(spec=spec).to(device)
        self._steps = whole_number(spec=spec, name="steps", default=50)
        self._guidance = _number(spec=spec, name="guidance", default=7.5)
        self._batch_size = spec.batch_size

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        """See `Expert.run`; the seed of an item is derived from its text."""
        return self.run_seeded(batch=batch, seeds=[seed_of(text_of(item, name="text")) for item in batch])

    def run_seeded(self, *, batch: Sequence[Mapping[str, Value]], seeds: Sequence[int]) -> list[Mapping[str, Value]]:
        """The same with a given seed for each item, a whole number that is not negative.

        Raises:
            ExpertError: an item has no text.
            ValueError: there are not as many seeds as items.
        """
        if len(seeds) != len(batch):
            raise ValueError(f"{len(batch)} items need as many seeds, found {len(seeds)}")
        rows = [(text_of(item, name="text"), seed) for item, seed in zip(batch, seeds, strict=True)]
        images: list[Value] = []
        for start in range(0, len(rows), self._batch_size):
            chunk = rows[start : start + self._batch_size]
            filled = chunk + chunk[:1] * (self._batch_size - len(chunk))
            images += self._draw(filled)[: len(chunk)]
        return [{"image": image} for image in images]

    def _draw(self, rows: Sequence[tuple[str, int]]) -> list[Value]:
        with torch.inference_mode():
            drawn = self._pipeline(
                prompt=[text for text, _ in rows],
                generator=[torch.Generator("cpu").manual_seed(seed % _SEEDS) for _, seed in rows],
                num_inference_steps=self._steps,
                guidance_scale=self._guidance,
                output_type="pt",
            ).images
        return [PillowImage.fromarray(pixels) for pixels in to_pixels(drawn.float())]


def seed_of(text: str) -> int:
    """A whole number below 2^63 that depends on the text alone."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:8], "big") % _SEEDS


def _load(*, spec: ExpertSpec) -> StableDiffusionPipeline:
    """The pipeline of a folder in the layout of `diffusers`, in the profile's precision.

    Raises:
        WeightsError: something is missing.
    """
    # Otherwise it reports every text that is cut, with all that was cut off.
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        pipeline = StableDiffusionPipeline.from_pretrained(
            spec.path,
            local_files_only=True,
            use_safetensors=True,
            dtype=dtype_of(spec.precision),
            low_cpu_mem_usage=False,
            # Released pipelines name both. The first is only there for the second, which blackens pictures that it
            # dislikes: a score would measure it and not the plan. Neither is fetched.
            feature_extractor=None,
            safety_checker=None,
            requires_safety_checker=False,
        )
    except (OSError, ValueError) as error:
        raise WeightsError(f"there is no pipeline in {spec.path}: {error}") from error
    pipeline.set_progress_bar_config(disable=True)
    for part in (pipeline.unet, pipeline.vae, pipeline.text_encoder):
        part.eval()
    return pipeline


def _number(*, spec: ExpertSpec, name: str, default: float) -> float:
    value = spec.parameters.get(name, default)
    if not isinstance(value, int | float):
        raise ExpertError(f'the parameter "{name}" of {spec.id} must be a number, not {value!r}')
    return float(value)
