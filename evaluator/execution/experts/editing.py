"""Editing pictures with Stable Diffusion: variations, masked regions, and instructions (InstructPix2Pix)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from diffusers import StableDiffusionImg2ImgPipeline, StableDiffusionInstructPix2PixPipeline, UNet2DConditionModel
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
    """From a picture to a variation of the same size: adds noise of the parameter `strength` and removes it.

    The text is empty, so that only the noisy picture guides the result.
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
    """Left, top, right and bottom of the model's square around the mask, which may exceed the picture."""


class PartialEditingExpert(PictureSampler[Region]):
    """Redraws the masked region of a picture by a text.

    After each step, the latents outside the mask are replaced by those of the picture with equal noise (Lugmayr et al.,
    2022, with `repeats` of each step). The model sees a square around the mask, sized so that the masked thing is as
    large as the main things of its training data. Pixels outside the mask are unchanged.
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
        cells = []
        for row in rows:
            mask = _crop(image=PillowImage.fromarray(row.mask), window=row.window)
            pixels = np.asarray(mask.resize(size, PillowImage.Resampling.NEAREST), dtype=np.float32)
            # The latents with any masked pixel, shape (1, side, side).
            cells.append(F.max_pool2d(torch.from_numpy(pixels)[None], self._pipeline.vae_scale_factor))
        masks = torch.stack(cells).to(known)
        latents = self._redraw(known=known, masks=masks, prompts=[row.prompt for row in rows], generators=generators)
        results = []
        for row, drawn in zip(
            rows, to_pixels(self._pipeline.vae.decode(latents).sample.float() / 2 + 0.5), strict=True
        ):
            left, top, right, bottom = row.window
            window = np.asarray(PillowImage.fromarray(drawn).resize((right - left, bottom - top), _RESAMPLING))
            pixels = np.array(row.image)
            y, x = np.nonzero(row.mask)
            pixels[y, x] = window[y - top, x - left]
            results.append(PillowImage.fromarray(pixels))
        return results

    def _redraw(self, *, known: Tensor, masks: Tensor, prompts: list[str], generators: list[torch.Generator]) -> Tensor:
        pipeline, scheduler = self._pipeline, self._pipeline.scheduler
        positive, negative = pipeline.encode_prompt(prompts, self._device, 1, do_classifier_free_guidance=True)
        text = torch.cat([negative, positive])
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
                    # Adds noise up to the level of this time.
                    products = scheduler.alphas_cumprod
                    share = (products[time] / products[following]).to(latents)
                    new_noise = _noise(like=known, generators=generators)
                    latents = share.sqrt() * latents + (1 - share).sqrt() * new_noise
        return latents


def _noise(*, like: Tensor, generators: list[torch.Generator]) -> Tensor:
    noise = torch.stack([torch.randn(like.shape[1:], generator=generator) for generator in generators])
    return noise.to(device=like.device, dtype=like.dtype)


_SHARE = 0.42
"""Ratio of the mask to the window's side, as of the main things of scenes to a picture."""
_LEAST_SIDE = 24
"""Minimum side of a window, in pixels."""


def _window(mask: npt.NDArray[np.bool_]) -> tuple[int, int, int, int]:
    """The model's square around a mask; the whole picture if the mask is empty."""
    if not mask.any():
        return 0, 0, mask.shape[1], mask.shape[0]
    rows, columns = np.nonzero(mask)
    top, bottom, left, right = rows.min(), rows.max() + 1, columns.min(), columns.max() + 1
    longest = max(right - left, bottom - top)
    side = int(max(longest, min(max(mask.shape), max(_LEAST_SIDE, round(longest / _SHARE)))))
    x, y = (int(left + right) - side) // 2, (int(top + bottom) - side) // 2
    return x, y, x + side, y + side


def _crop(*, image: Image, window: tuple[int, int, int, int]) -> Image:
    """The pixels in the window, with reflection beyond the picture."""
    left, top, right, bottom = window
    pixels = np.asarray(image)
    places = []
    for start, stop, size in ((top, bottom, pixels.shape[0]), (left, right, pixels.shape[1])):
        folded = np.arange(start, stop) % (2 * size)
        places.append(np.minimum(folded, 2 * size - 1 - folded))
    return PillowImage.fromarray(pixels[np.ix_(*places)])


class PictureEditingExpert(PictureSampler[tuple[Image, str]]):
    """From a picture and an English instruction to the edited picture of the same size.

    As in the original, `guidance` is the scale for the instruction and `image_guidance` that for the picture.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec)
        base = load_base(spec=spec)
        self._side = base.unet.config.sample_size * base.vae_scale_factor
        self._device = device
        # The UNet has twice the base's input channels; weights that the folder lacks are the base's.
        unet = UNet2DConditionModel.from_config({**base.unet.config, "in_channels": 2 * base.unet.config.in_channels})
        stored = _stored(spec.path / "unet")
        shared = {name: value for name, value in base.unet.state_dict().items() if name not in stored}
        networks = {
            "unet": _filled(unet, state={**shared, **stored}, spec=spec),
            "text_encoder": _filled(base.text_encoder, state=_stored(spec.path / "text_encoder"), spec=spec),
        }
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
