"""Changing pictures with Stable Diffusion: variations, masked regions, and by an instruction (InstructPix2Pix)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from diffusers import (
    StableDiffusionImg2ImgPipeline,
    StableDiffusionInstructPix2PixPipeline,
    StableDiffusionPipeline,
    UNet2DConditionModel,
)
from PIL import Image as PillowImage
from safetensors.torch import load_file
from torch import Tensor, nn

from evaluator.core.expert import ExpertError, ExpertSpec, InputError
from evaluator.core.values import Image, Masks, Value
from evaluator.execution.experts.diffusion import PictureSampler, load_base, load_pipeline, quiet
from evaluator.execution.experts.imaging import image_of, stack, to_pixels, to_tensor
from evaluator.execution.experts.inputs import number, whole_number
from evaluator.execution.experts.pretrained import dtype_of
from evaluator.execution.experts.texts import text_of
from evaluator.execution.experts.weights import WeightsError

_RESAMPLING = PillowImage.Resampling.BICUBIC


class VariationExpert(PictureSampler[Image]):
    """A picture in, a variation of the same size out: noise of the parameter `strength` is added and removed again.

    No text guides it, so that it keeps to what it recognises in the noisy picture.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec)
        base = load_pipeline(folder=spec.path, precision=spec.precision)
        self._side = base.unet.config.sample_size * base.vae_scale_factor
        self._pipeline = quiet(
            StableDiffusionImg2ImgPipeline(**base.components, requires_safety_checker=False), device=device
        )
        self._device = device
        self._steps = whole_number(spec=spec, name="steps", default=50)
        self._strength = number(spec=spec, name="strength", default=0.5)

    def read(self, item: Mapping[str, Value]) -> Image:
        return image_of(item)

    def draw(self, *, rows: Sequence[Image], generators: list[torch.Generator]) -> Sequence[Image]:
        resized = [image.resize((self._side, self._side), _RESAMPLING) for image in rows]
        drawn = self._pipeline(
            prompt=[""] * len(rows),
            image=to_tensor(pixels=stack(resized), device=self._device),
            generator=generators,
            strength=self._strength,
            num_inference_steps=self._steps,
            guidance_scale=1.0,
            output_type="pt",
        ).images
        pictures = [PillowImage.fromarray(pixels) for pixels in to_pixels(drawn.float())]
        return [picture.resize(row.size, _RESAMPLING) for picture, row in zip(pictures, rows, strict=True)]


@dataclass(frozen=True, slots=True)
class Region:
    """The region of a picture to redraw."""

    image: Image
    mask: npt.NDArray[np.bool_]
    """Shape (height, width) of the picture."""
    prompt: str
    window: tuple[int, int, int, int]
    """Left, top, right and bottom of the square around the mask that the model sees; it may leave the picture."""


class PartialEditingExpert(PictureSampler[Region]):
    """Redraws the masked region of a picture as a text says.

    After each step the latents outside the mask are replaced by those of the picture with as much noise (Lugmayr et
    al., 2022, with `repeats` of each step). The model sees a square around the mask, in which a masked thing is as
    large as the main things that it was trained on. Pixels outside the mask stay as they are, byte for byte.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec)
        self._pipeline = load_pipeline(folder=spec.path, precision=spec.precision).to(device)
        self._side = self._pipeline.unet.config.sample_size * self._pipeline.vae_scale_factor
        self._device = device
        self._steps = whole_number(spec=spec, name="steps", default=50)
        self._repeats = whole_number(spec=spec, name="repeats", default=1)
        self._guidance = number(spec=spec, name="guidance", default=7.5)

    def read(self, item: Mapping[str, Value]) -> Region:
        image, masks = image_of(item), item.get("mask")
        if not isinstance(masks, Masks):
            raise ExpertError(f'the input "mask" must be masks, found {type(masks).__name__}')
        if masks.size != image.size:
            raise InputError(
                f"the mask is for a picture of {masks.size[0]}x{masks.size[1]} pixels, but the picture has "
                f"{image.size[0]}x{image.size[1]}; give the mask of this picture"
            )
        mask = masks.union()
        return Region(image=image, mask=mask, prompt=text_of(item, name="prompt"), window=_window(mask))

    def draw(self, *, rows: Sequence[Region], generators: list[torch.Generator]) -> Sequence[Image]:
        size = (self._side, self._side)
        crops = [_crop(image=row.image, window=row.window).resize(size, _RESAMPLING) for row in rows]
        known = self._pipeline.vae.encode(
            2 * to_tensor(pixels=stack(crops), device=self._device).to(self._pipeline.vae.dtype) - 1
        ).latent_dist.mode()
        masks = torch.stack([self._cells(row) for row in rows]).to(known)
        latents = self._redraw(known=known, masks=masks, prompts=[row.prompt for row in rows], generators=generators)
        pictures = to_pixels(self._pipeline.vae.decode(latents).sample.float() / 2 + 0.5)
        return [_pasted(row=row, drawn=picture) for row, picture in zip(rows, pictures, strict=True)]

    def _cells(self, row: Region) -> Tensor:
        """The latents in which anything is masked, shape (1, side, side)."""
        grown = _crop(image=PillowImage.fromarray(row.mask), window=row.window)
        pixels = np.asarray(grown.resize((self._side, self._side), PillowImage.Resampling.NEAREST), dtype=np.float32)
        cells: Tensor = F.max_pool2d(torch.from_numpy(pixels)[None], self._pipeline.vae_scale_factor)
        return cells

    def _redraw(self, *, known: Tensor, masks: Tensor, prompts: list[str], generators: list[torch.Generator]) -> Tensor:
        pipeline, scheduler = self._pipeline, self._pipeline.scheduler
        wanted, unwanted = pipeline.encode_prompt(prompts, self._device, 1, do_classifier_free_guidance=True)
        text = torch.cat([unwanted, wanted])
        scheduler.set_timesteps(self._steps, device=self._device)
        times = [*scheduler.timesteps.tolist(), -1]
        noise = _noise(like=known, generators=generators)
        latents = noise
        for time, following in pairwise(times):
            for repeat in range(self._repeats):
                guess = pipeline.unet(torch.cat([latents] * 2), time, encoder_hidden_states=text).sample
                free, bound = guess.chunk(2)
                drawn = scheduler.step(free + self._guidance * (bound - free), time, latents).prev_sample
                if following < 0:
                    latents = masks * drawn + (1 - masks) * known
                    break
                noisy = scheduler.add_noise(known, noise, torch.tensor([following]))
                latents = masks * drawn + (1 - masks) * noisy
                if repeat + 1 < self._repeats:
                    # So much more noise that the latents are those of this time again.
                    products = scheduler.alphas_cumprod
                    share = (products[time] / products[following]).to(latents)
                    new_noise = _noise(like=known, generators=generators)
                    latents = share.sqrt() * latents + (1 - share).sqrt() * new_noise
        return latents


def _noise(*, like: Tensor, generators: list[torch.Generator]) -> Tensor:
    """Noise from the generator of each item."""
    noise = torch.stack([torch.randn(like.shape[1:], generator=generator) for generator in generators])
    return noise.to(device=like.device, dtype=like.dtype)


_SHARE = 0.42
"""Of the window's side that the mask takes: the main things of scenes take about as much of a picture."""
_LEAST_SIDE = 24
"""Of a window in pixels."""


def _window(mask: npt.NDArray[np.bool_]) -> tuple[int, int, int, int]:
    """The square around a mask that the model sees; around the whole picture where the mask is empty."""
    if not mask.any():
        return 0, 0, mask.shape[1], mask.shape[0]
    rows, columns = np.nonzero(mask)
    top, bottom, left, right = rows.min(), rows.max() + 1, columns.min(), columns.max() + 1
    longest = max(right - left, bottom - top)
    side = int(max(longest, min(max(mask.shape), max(_LEAST_SIDE, round(longest / _SHARE)))))
    x, y = (int(left + right) - side) // 2, (int(top + bottom) - side) // 2
    return x, y, x + side, y + side


def _crop(*, image: Image, window: tuple[int, int, int, int]) -> Image:
    """The pixels in the window; beyond the picture its mirror image."""
    left, top, right, bottom = window
    pixels = np.asarray(image)
    places = []
    for start, stop, size in ((top, bottom, pixels.shape[0]), (left, right, pixels.shape[1])):
        folded = np.arange(start, stop) % (2 * size)
        places.append(np.minimum(folded, 2 * size - 1 - folded))
    return PillowImage.fromarray(pixels[np.ix_(*places)])


def _pasted(*, row: Region, drawn: npt.NDArray[np.uint8]) -> Image:
    """The picture with the masked pixels taken from the drawn window."""
    left, top, right, bottom = row.window
    resized = np.asarray(PillowImage.fromarray(drawn).resize((right - left, bottom - top), _RESAMPLING))
    pixels = np.array(row.image)
    rows, columns = np.nonzero(row.mask)
    pixels[rows, columns] = resized[rows - top, columns - left]
    return PillowImage.fromarray(pixels)


class PictureEditingExpert(PictureSampler[tuple[Image, str]]):
    """A picture and an English instruction in, the changed picture of the same size out.

    Two guidances, as in the original: `guidance` towards the instruction, `image_guidance` towards the picture.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec)
        base = load_base(spec=spec)
        self._side = base.unet.config.sample_size * base.vae_scale_factor
        self._device = device
        networks = {"unet": _load_unet(spec=spec, base=base), "text_encoder": _load_text_encoder(spec=spec, base=base)}
        self._pipeline = quiet(
            StableDiffusionInstructPix2PixPipeline(**{**base.components, **networks}, requires_safety_checker=False),
            device=device,
        )
        self._steps = whole_number(spec=spec, name="steps", default=100)
        self._guidance = number(spec=spec, name="guidance", default=7.5)
        self._image_guidance = number(spec=spec, name="image_guidance", default=1.5)

    def read(self, item: Mapping[str, Value]) -> tuple[Image, str]:
        return image_of(item), text_of(item, name="text")

    def draw(self, *, rows: Sequence[tuple[Image, str]], generators: list[torch.Generator]) -> Sequence[Image]:
        resized = [image.resize((self._side, self._side), _RESAMPLING) for image, _ in rows]
        drawn = self._pipeline(
            prompt=[text for _, text in rows],
            image=to_tensor(pixels=stack(resized), device=self._device),
            generator=generators,
            num_inference_steps=self._steps,
            guidance_scale=self._guidance,
            image_guidance_scale=self._image_guidance,
            output_type="pt",
        ).images
        pictures = [PillowImage.fromarray(pixels) for pixels in to_pixels(drawn.float())]
        return [picture.resize(image.size, _RESAMPLING) for picture, (image, _) in zip(pictures, rows, strict=True)]


def _load_unet(*, spec: ExpertSpec, base: StableDiffusionPipeline) -> UNet2DConditionModel:
    """The UNet with twice the input channels; what the folder does not have is the base's."""
    network = UNet2DConditionModel.from_config({**base.unet.config, "in_channels": 2 * base.unet.config.in_channels})
    stored = _stored(spec.path / "unet")
    shared = {name: value for name, value in base.unet.state_dict().items() if name not in stored}
    return _filled(network, state={**shared, **stored}, spec=spec)


def _load_text_encoder(*, spec: ExpertSpec, base: StableDiffusionPipeline) -> nn.Module:
    return _filled(base.text_encoder, state=_stored(spec.path / "text_encoder"), spec=spec)


def _stored(folder: Path) -> dict[str, Tensor]:
    path = folder / "model.safetensors"
    if not path.is_file():
        raise WeightsError(f"there is no {path}")
    return {name: value.float() if value.is_floating_point() else value for name, value in load_file(path).items()}


def _filled(network: nn.Module, *, state: Mapping[str, Tensor], spec: ExpertSpec) -> nn.Module:
    try:
        network.load_state_dict(state)
    except RuntimeError as error:
        raise WeightsError(f"the weights in {spec.path} do not fit the model: {error}") from error
    return network.to(dtype_of(spec.precision)).eval()
