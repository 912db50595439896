"""Changing a picture as an instruction says, with an InstructPix2Pix."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from diffusers import StableDiffusionInstructPix2PixPipeline, StableDiffusionPipeline, UNet2DConditionModel
from PIL import Image as PillowImage
from safetensors.torch import load_file
from torch import Tensor, nn

from evaluator.core.expert import ExpertSpec
from evaluator.core.values import Image, Value
from evaluator.execution.experts.imaging import image_of, stack, to_pixels, to_tensor
from evaluator.execution.experts.pipelines import load_base, quiet
from evaluator.execution.experts.pretrained import dtype_of
from evaluator.execution.experts.sampling import PictureSampler, number
from evaluator.execution.experts.texts import text_of, whole_number
from evaluator.execution.experts.weights import WeightsError

_RESAMPLING = PillowImage.Resampling.BICUBIC


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
