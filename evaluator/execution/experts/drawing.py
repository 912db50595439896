"""Stable Diffusion: pictures from a text, and from a text and a map with a ControlNet."""

import hashlib
from collections.abc import Mapping, Sequence

import torch
from diffusers import StableDiffusionControlNetPipeline
from PIL import Image as PillowImage
from torch import Tensor

from evaluator.core.expert import ExpertError, ExpertSpec
from evaluator.core.values import Image, Value
from evaluator.execution.experts.diffusion import (
    SEEDS,
    PictureSampler,
    load_base,
    load_controlnet,
    load_pipeline,
    quiet,
)
from evaluator.execution.experts.imaging import image_of, stack, to_pixels, to_tensor
from evaluator.execution.experts.inputs import number, whole_number
from evaluator.execution.experts.texts import text_of
from evaluator.miniature.tableaux.maps import MapKind


class DrawingExpert(PictureSampler[str]):
    """From an English text to a picture of the model's size, in `steps` of the profile's parameters.

    Texts that exceed the text encoder are truncated, as in the original.
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
    """A seed derived from the text."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:8], "big") % SEEDS


CHANNELS = 3 * len(MapKind)


def conditions_of(*, maps: Tensor, kinds: Sequence[MapKind]) -> Tensor:
    """The conditioning pictures for maps.

    Args:
        maps: in [0, 1], shape (batch, 3, height, width).
        kinds: kind of each map.

    Returns:
        Values in [-1, 1], shape (batch, 24, height, width). The channels of other kinds are 0, unlike those of a black
        map, which are -1.
    """
    pictures = maps.new_zeros((len(maps), CHANNELS, *maps.shape[2:]))
    order = list(MapKind)
    for row, kind in enumerate(kinds):
        first = 3 * order.index(kind)
        pictures[row, first : first + 3] = 2 * maps[row] - 1
    return pictures


class GuidedDrawingExpert(PictureSampler[tuple[str, Image]]):
    """From an English text and a map to a picture of the model's size.

    The map, resized to the model's size, determines the layout; the text determines colours and background. The
    parameter `condition` is the kind of map and the name of its input.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec)
        condition = spec.parameters.get("condition")
        if condition not in list(MapKind):
            kinds = ", ".join(MapKind)
            raise ExpertError(f'the parameter "condition" of {spec.id} must be one of {kinds}, not {condition!r}')
        self._kind = MapKind(str(condition))
        self._device = device
        base = load_base(spec=spec)
        self._side = base.unet.config.sample_size * base.vae_scale_factor
        self._pipeline = quiet(
            StableDiffusionControlNetPipeline(
                **base.components,
                controlnet=load_controlnet(folder=spec.path / "controlnet", precision=spec.precision),
                requires_safety_checker=False,
            ),
            device=device,
        )
        self._steps = whole_number(spec=spec, name="steps", default=50)
        self._guidance = number(spec=spec, name="guidance", default=7.5)

    def read(self, item: Mapping[str, Value]) -> tuple[str, Image]:
        drawn = image_of(item, name=self._kind)
        return text_of(item, name="text"), drawn.resize((self._side, self._side), PillowImage.Resampling.BILINEAR)

    def draw(self, *, rows: Sequence[tuple[str, Image]], generators: list[torch.Generator]) -> Sequence[Image]:
        maps = to_tensor(pixels=stack([drawn for _, drawn in rows]), device=self._device)
        pictures = self._pipeline(
            prompt=[text for text, _ in rows],
            image=conditions_of(maps=maps, kinds=[self._kind] * len(rows)),
            generator=generators,
            num_inference_steps=self._steps,
            guidance_scale=self._guidance,
            output_type="pt",
        ).images
        return [PillowImage.fromarray(pixels) for pixels in to_pixels(pictures.float())]
