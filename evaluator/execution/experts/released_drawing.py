"""Released diffusion models: pictures from texts, maps and pictures; editing by instructions and in masks."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from diffusers import (
    EulerAncestralDiscreteScheduler,
    PixArtAlphaPipeline,
    StableDiffusionControlNetPipeline,
    StableDiffusionImageVariationPipeline,
    StableDiffusionInpaintPipeline,
    StableDiffusionInstructPix2PixPipeline,
    UniPCMultistepScheduler,
)
from PIL import Image as PillowImage
from scipy import ndimage
from transformers import CLIPImageProcessorPil

from evaluator.core.expert import ExpertError, ExpertSpec
from evaluator.core.values import Image, Masks, Value
from evaluator.execution.experts.diffusion import SinglePictureSampler, fitted, load_controlnet, load_released
from evaluator.execution.experts.imaging import image_of, to_pixels
from evaluator.execution.experts.inputs import number, require_size, value_of, whole_number
from evaluator.execution.experts.texts import load_tokenizer, text_of

_RESAMPLING = PillowImage.Resampling.BICUBIC
_PRAISE = ", best quality, extremely detailed"
_AVOIDED = (
    "longbody, lowres, bad anatomy, bad hands, missing fingers, extra digit, fewer digits, cropped, worst quality, "
    "low quality"
)
"""Suffix of every text and negative prompt of ControlLLM's services."""


class ReleasedGuidedDrawingExpert(SinglePictureSampler[tuple[str, Image]]):
    """From an English text and a map to a picture of the map's size.

    The folder contains the ControlNet, the base the Stable Diffusion. The parameter `condition` names the map's input.
    For the model, the map is resized to the longer side `longest`.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec)
        self._condition = str(spec.parameters.get("condition", ""))
        if not self._condition or spec.base is None:
            raise ExpertError(f'{spec.id} needs the parameter "condition" and a base')
        self._pipeline = load_released(
            StableDiffusionControlNetPipeline, folder=spec.base, digest=spec.base_digest,
            precision=spec.precision, device=device,
            controlnet=load_controlnet(folder=spec.path, precision=spec.precision),
            safety_checker=None, feature_extractor=None, requires_safety_checker=False,
        )  # fmt: skip
        self._pipeline.scheduler = UniPCMultistepScheduler.from_config(self._pipeline.scheduler.config)
        self._longest = whole_number(spec=spec, name="longest", default=800)
        self._steps = whole_number(spec=spec, name="steps", default=20)
        self._guidance = number(spec=spec, name="guidance", default=9.0)

    def read(self, item: Mapping[str, Value]) -> tuple[str, Image]:
        return text_of(item, name="text"), image_of(item, name=self._condition)

    def draw_one(self, row: tuple[str, Image], *, generator: torch.Generator) -> Image:
        text, condition = row
        size = fitted(condition.size, longest=self._longest)
        pictures = self._pipeline(
            prompt=text + _PRAISE,
            negative_prompt=_AVOIDED,
            image=condition.resize(size, _RESAMPLING),
            generator=generator,
            num_inference_steps=self._steps,
            guidance_scale=self._guidance,
            output_type="pt",
        ).images
        return _first(pictures).resize(condition.size, _RESAMPLING)


class PixArtExpert(SinglePictureSampler[str]):
    """From an English text to a square picture, generated at the model's size and reduced to `side` pixels.

    The base provides the tokenizer of any T5, since they share one vocabulary.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec)
        tokenizer = load_tokenizer(spec, folder=spec.base)
        self._pipeline = load_released(
            PixArtAlphaPipeline, folder=spec.path, digest=spec.weights_digest, precision=spec.precision, device=device,
            tokenizer=tokenizer,
        )  # fmt: skip
        self._steps = whole_number(spec=spec, name="steps", default=20)
        self._guidance = number(spec=spec, name="guidance", default=4.5)
        self._side = whole_number(spec=spec, name="side", default=512)

    def read(self, item: Mapping[str, Value]) -> str:
        return text_of(item, name="text")

    def draw_one(self, row: str, *, generator: torch.Generator) -> Image:
        pictures = self._pipeline(
            prompt=row, generator=generator, num_inference_steps=self._steps, guidance_scale=self._guidance,
            clean_caption=False, use_resolution_binning=False, output_type="pt",
        ).images  # fmt: skip
        picture = _first(pictures)
        # The limit of experts' inputs (`evaluator.execution.engine.run.MAX_PIXELS`).
        picture.thumbnail((self._side, self._side), _RESAMPLING)
        return picture


class ReleasedVariationExpert(SinglePictureSampler[Image]):
    """From a picture to a variation of the model's size, guided only by the picture's embedding."""

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec)
        processor = CLIPImageProcessorPil.from_pretrained(spec.path / "feature_extractor", local_files_only=True)
        self._pipeline = load_released(
            StableDiffusionImageVariationPipeline, folder=spec.path, digest=spec.weights_digest,
            precision=spec.precision, device=device,
            feature_extractor=processor, safety_checker=None, requires_safety_checker=False,
        )  # fmt: skip
        self._steps = whole_number(spec=spec, name="steps", default=50)
        self._guidance = number(spec=spec, name="guidance", default=7.5)

    def read(self, item: Mapping[str, Value]) -> Image:
        return image_of(item)

    def draw_one(self, row: Image, *, generator: torch.Generator) -> Image:
        pictures = self._pipeline(
            image=row, generator=generator, num_inference_steps=self._steps, guidance_scale=self._guidance,
            output_type="pt",
        ).images  # fmt: skip
        return _first(pictures)


def _first(pictures: torch.Tensor) -> Image:
    """The first picture of a batch in [0, 1]."""
    return PillowImage.fromarray(to_pixels(pictures.float())[0])


class ReleasedPictureEditingExpert(SinglePictureSampler[tuple[Image, str]]):
    """From a picture and an English instruction to the edited picture of the same size.

    For the model, the picture is reduced to the longer side `longest`.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec)
        self._pipeline = load_released(
            StableDiffusionInstructPix2PixPipeline, folder=spec.path, digest=spec.weights_digest,
            precision=spec.precision, device=device,
            safety_checker=None, feature_extractor=None, requires_safety_checker=False,
        )  # fmt: skip
        self._pipeline.scheduler = EulerAncestralDiscreteScheduler.from_config(self._pipeline.scheduler.config)
        self._longest = whole_number(spec=spec, name="longest", default=800)
        self._steps = whole_number(spec=spec, name="steps", default=40)
        self._guidance = number(spec=spec, name="guidance", default=7.5)
        self._image_guidance = number(spec=spec, name="image_guidance", default=1.2)

    def read(self, item: Mapping[str, Value]) -> tuple[Image, str]:
        return image_of(item), text_of(item, name="text")

    def draw_one(self, row: tuple[Image, str], *, generator: torch.Generator) -> Image:
        image, text = row
        pictures = self._pipeline(
            prompt=text,
            image=image.resize(fitted(image.size, longest=min(self._longest, max(image.size))), _RESAMPLING),
            generator=generator,
            num_inference_steps=self._steps,
            guidance_scale=self._guidance,
            image_guidance_scale=self._image_guidance,
            output_type="pt",
        ).images
        return _first(pictures).resize(image.size, _RESAMPLING)


@dataclass(frozen=True, slots=True)
class _Region:
    """The region of a picture to redraw."""

    image: Image
    mask: npt.NDArray[np.bool_]
    """Shape (height, width) of the picture, after dilation."""
    prompt: str


class ReleasedInpaintingExpert(SinglePictureSampler[_Region]):
    """From a picture, masks and a text to the picture of the same size with the masked region redrawn.

    The parameter `prompt` replaces the text for all pictures. The mask is dilated by `grown` pixels. The model sees the
    picture as a square of its own size; pixels outside the dilated mask are unchanged.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec)
        self._pipeline = load_released(
            StableDiffusionInpaintPipeline, folder=spec.path, digest=spec.weights_digest,
            precision=spec.precision, device=device,
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
        require_size(findings=masks, name="mask", pixels=np.asarray(image))
        region = masks.union()
        if self._grown:
            region = ndimage.binary_dilation(region, iterations=self._grown)
        prompt = text_of(item, name="prompt") if self._prompt is None else str(self._prompt)
        return _Region(image=image, mask=region, prompt=prompt)

    def draw_one(self, row: _Region, *, generator: torch.Generator) -> Image:
        if not row.mask.any():
            return row.image
        pictures = self._pipeline(
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
        redrawn = _first(pictures).resize(row.image.size, _RESAMPLING)
        return PillowImage.composite(redrawn, row.image, PillowImage.fromarray(row.mask))
