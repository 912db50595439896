"""Drawing with a Stable Diffusion pipeline: what a text says, and along a map with a ControlNet."""

import hashlib
from collections.abc import Mapping, Sequence

import torch
from diffusers import ControlNetModel, StableDiffusionControlNetPipeline
from PIL import Image as PillowImage
from torch import Tensor

from evaluator.core.expert import ExpertError, ExpertSpec
from evaluator.core.values import Image, Value
from evaluator.execution.experts.devices import loading
from evaluator.execution.experts.diffusion import SEEDS, PictureSampler, load_base, load_pipeline, quiet
from evaluator.execution.experts.imaging import image_of, stack, to_pixels, to_tensor
from evaluator.execution.experts.inputs import number, whole_number
from evaluator.execution.experts.pretrained import dtype_of
from evaluator.execution.experts.texts import text_of
from evaluator.execution.experts.weights import WeightsError
from evaluator.miniature.tableaux.maps import MapKind


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


CHANNELS = 3 * len(MapKind)


def conditions_of(*, maps: Tensor, kinds: Sequence[MapKind]) -> Tensor:
    """The conditioning pictures for some maps.

    Args:
        maps: in [0, 1], shape (batch, 3, height, width).
        kinds: of each map.

    Returns:
        Values in [-1, 1], shape (batch, 24, height, width). The channels of other kinds are 0 everywhere, which no map
        is: even a black one is -1.
    """
    pictures = maps.new_zeros((len(maps), CHANNELS, *maps.shape[2:]))
    order = list(MapKind)
    for row, kind in enumerate(kinds):
        first = 3 * order.index(kind)
        pictures[row, first : first + 3] = 2 * maps[row] - 1
    return pictures


class GuidedDrawingExpert(PictureSampler[tuple[str, Image]]):
    """An English text and a map in, a picture of the model's own size out.

    The layout comes from the map, which is resized to the model's size; colours and background come from the text. The
    parameter `condition` says which kind of map it is, and so the name of its input.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec)
        self._kind = _kind(spec)
        self._device = device
        base = load_base(spec=spec)
        self._side = base.unet.config.sample_size * base.vae_scale_factor
        self._pipeline = quiet(
            StableDiffusionControlNetPipeline(
                **base.components, controlnet=_load_controlnet(spec=spec), requires_safety_checker=False
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


def _load_controlnet(*, spec: ExpertSpec) -> ControlNetModel:
    try:
        with loading():
            network = ControlNetModel.from_pretrained(
                spec.path / "controlnet",
                local_files_only=True,
                use_safetensors=True,
                torch_dtype=dtype_of(spec.precision),
                low_cpu_mem_usage=False,
            )
    except (OSError, ValueError) as error:
        raise WeightsError(f"there is no ControlNet in {spec.path}: {error}") from error
    return network.eval()


def _kind(spec: ExpertSpec) -> MapKind:
    value = spec.parameters.get("condition")
    if value not in list(MapKind):
        raise ExpertError(f'the parameter "condition" of {spec.id} must be one of {", ".join(MapKind)}, not {value!r}')
    return MapKind(str(value))
