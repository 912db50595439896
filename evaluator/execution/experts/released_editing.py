"""Changing pictures with released diffusion models: by an instruction, and inside a mask."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from diffusers import (
    EulerAncestralDiscreteScheduler,
    StableDiffusionInpaintPipeline,
    StableDiffusionInstructPix2PixPipeline,
)
from PIL import Image as PillowImage
from scipy import ndimage

from evaluator.core.expert import ExpertSpec
from evaluator.core.values import Image, Masks, Value
from evaluator.execution.experts.imaging import image_of, to_pixels
from evaluator.execution.experts.inputs import require_size, value_of
from evaluator.execution.experts.released_pipelines import fitted, load_released
from evaluator.execution.experts.sampling import PictureSampler, number
from evaluator.execution.experts.texts import text_of, whole_number

_RESAMPLING = PillowImage.Resampling.BICUBIC


class ReleasedPictureEditingExpert(PictureSampler[tuple[Image, str]]):
    """A picture and an English instruction in, the changed picture of the same size out.

    The model sees the picture with a longer side of at most `longest` pixels. Pictures are changed one by one.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec)
        self._pipeline = load_released(
            StableDiffusionInstructPix2PixPipeline, folder=spec.path, precision=spec.precision, device=device,
            safety_checker=None, feature_extractor=None, requires_safety_checker=False,
        )  # fmt: skip
        self._pipeline.scheduler = EulerAncestralDiscreteScheduler.from_config(self._pipeline.scheduler.config)
        self._longest = whole_number(spec=spec, name="longest", default=800)
        self._steps = whole_number(spec=spec, name="steps", default=40)
        self._guidance = number(spec=spec, name="guidance", default=7.5)
        self._image_guidance = number(spec=spec, name="image_guidance", default=1.2)

    def read(self, item: Mapping[str, Value]) -> tuple[Image, str]:
        return image_of(item), text_of(item, name="text")

    def draw(self, *, rows: Sequence[tuple[Image, str]], generators: list[torch.Generator]) -> Sequence[Image]:
        pairs = zip(rows, generators, strict=True)
        return [self._drawn(image=image, text=text, generator=generator) for (image, text), generator in pairs]

    def _drawn(self, *, image: Image, text: str, generator: torch.Generator) -> Image:
        drawn = self._pipeline(
            prompt=text,
            image=image.resize(fitted(image.size, longest=min(self._longest, max(image.size))), _RESAMPLING),
            generator=generator,
            num_inference_steps=self._steps,
            guidance_scale=self._guidance,
            image_guidance_scale=self._image_guidance,
            output_type="pt",
        ).images
        return PillowImage.fromarray(to_pixels(drawn.float())[0]).resize(image.size, _RESAMPLING)


@dataclass(frozen=True, slots=True)
class _Region:
    """What is redrawn of a picture."""

    image: Image
    mask: npt.NDArray[np.bool_]
    """Shape (height, width) of the picture, already grown."""
    prompt: str


class ReleasedInpaintingExpert(PictureSampler[_Region]):
    """A picture and masks in, the picture of the same size with the masked region redrawn out.

    A text says what is drawn there; with the parameter `prompt`, that text for all pictures. The mask is grown by
    `grown` pixels first. The model sees the whole picture as a square of its own size; what the grown mask does not
    cover stays as it is, byte for byte.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec)
        self._pipeline = load_released(
            StableDiffusionInpaintPipeline, folder=spec.path, precision=spec.precision, device=device,
            safety_checker=None, feature_extractor=None, requires_safety_checker=False,
        )  # fmt: skip
        side = self._pipeline.unet.config.sample_size * self._pipeline.vae_scale_factor
        self._size = (int(side), int(side))
        self._prompt = spec.parameters.get("prompt")
        self._grown = whole_number(spec=spec, name="grown", default=4)
        self._steps = whole_number(spec=spec, name="steps", default=50)
        self._guidance = number(spec=spec, name="guidance", default=7.5)

    def read(self, item: Mapping[str, Value]) -> _Region:
        image, masks = image_of(item), value_of(item, name="mask", kind=Masks)
        require_size(found=masks, name="mask", pixels=np.asarray(image))
        region = masks.union()
        if self._grown:
            region = ndimage.binary_dilation(region, iterations=self._grown)
        prompt = text_of(item, name="prompt") if self._prompt is None else str(self._prompt)
        return _Region(image=image, mask=region, prompt=prompt)

    def draw(self, *, rows: Sequence[_Region], generators: list[torch.Generator]) -> Sequence[Image]:
        return [self._drawn(row, generator=one) for row, one in zip(rows, generators, strict=True)]

    def _drawn(self, row: _Region, *, generator: torch.Generator) -> Image:
        if not row.mask.any():
            return row.image
        drawn = self._pipeline(
            prompt=row.prompt,
            image=row.image.resize(self._size, _RESAMPLING),
            mask_image=PillowImage.fromarray(row.mask).convert("L").resize(self._size, PillowImage.Resampling.NEAREST),
            height=self._size[1],
            width=self._size[0],
            generator=generator,
            num_inference_steps=self._steps,
            guidance_scale=self._guidance,
            output_type="pt",
        ).images
        whole = PillowImage.fromarray(to_pixels(drawn.float())[0]).resize(row.image.size, _RESAMPLING)
        return PillowImage.composite(whole, row.image, PillowImage.fromarray(row.mask))
