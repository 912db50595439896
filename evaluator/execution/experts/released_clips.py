"""Released diffusion models that make clips: from a text, and from a picture."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from diffusers import I2VGenXLPipeline, TextToVideoSDPipeline
from PIL import Image as PillowImage
from transformers import CLIPImageProcessorPil

from evaluator.core.expert import ExpertSpec
from evaluator.core.values import MOST_FRAMES, Clip, Value
from evaluator.execution.experts.diffusion import SEEDS, fitted, load_released
from evaluator.execution.experts.imaging import image_of
from evaluator.execution.experts.inputs import number, whole_number
from evaluator.execution.experts.released_sounds import seeded
from evaluator.execution.experts.texts import text_of


class _ClipSampler:
    """Base of experts that draw one clip after the other, each from its seed."""

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        self._device = device
        self._frames = min(whole_number(spec=spec, name="frames", default=16), MOST_FRAMES)
        self._steps = whole_number(spec=spec, name="steps", default=25)
        self._guidance = number(spec=spec, name="guidance", default=9.0)

    def settings(self, item: Mapping[str, Value]) -> dict[str, Any]:
        """Arguments of the pipeline for an item; ExpertError if an input is missing or of another type."""
        raise NotImplementedError

    def drawn(self, **settings: Any) -> Any:
        """Frames in [0, 1] of shape (frames, height, width, 3)."""
        raise NotImplementedError

    def run_seeded(self, *, batch: Sequence[Mapping[str, Value]], seeds: Sequence[int]) -> list[Mapping[str, Value]]:
        """See `SamplingExpert.run_seeded`."""
        results: list[Mapping[str, Value]] = []
        for item, seed in zip(batch, seeds, strict=True):
            settings = self.settings(item)
            # The pipelines draw on the device, and encode pictures with torch's own random numbers.
            with seeded(seed % SEEDS, device=self._device):
                frames = self.drawn(
                    **settings, num_frames=self._frames, num_inference_steps=self._steps,
                    guidance_scale=self._guidance, output_type="np",
                )  # fmt: skip
            pixels = np.clip(np.rint(np.asarray(frames, dtype=np.float64) * 255), 0, 255).astype(np.uint8)
            results.append({"video": Clip(pixels)})
        return results


class ReleasedTextToVideoExpert(_ClipSampler):
    """From an English text to `frames` frames of the model's size."""

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._pipeline = load_released(
            TextToVideoSDPipeline, folder=spec.path, digest=spec.weights_digest, precision=spec.precision, device=device
        )

    def settings(self, item: Mapping[str, Value]) -> dict[str, Any]:
        return {"prompt": text_of(item, name="prompt")}

    def drawn(self, **settings: Any) -> Any:
        return self._pipeline(**settings).frames[0]


class ReleasedImageToVideoExpert(_ClipSampler):
    """From a picture to `frames` frames of its shape, with an empty text.

    They are drawn at the longer side `longest` and reduced to `side` pixels.
    """

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        processor = CLIPImageProcessorPil.from_pretrained(spec.path / "feature_extractor", local_files_only=True)
        self._pipeline = load_released(
            I2VGenXLPipeline, folder=spec.path, digest=spec.weights_digest, precision=spec.precision, device=device,
            feature_extractor=processor,
        )  # fmt: skip
        self._longest = whole_number(spec=spec, name="longest", default=1280)
        self._side = whole_number(spec=spec, name="side", default=512)

    def settings(self, item: Mapping[str, Value]) -> dict[str, Any]:
        image = image_of(item)
        width, height = fitted(image.size, longest=self._longest)
        words = self._empty_text()
        return {
            "prompt_embeds": words, "negative_prompt_embeds": words, "image": image.resize((width, height)),
            "width": width, "height": height,
        }  # fmt: skip

    def _empty_text(self) -> torch.Tensor:
        """The embedding of an empty text by the last layer but one, as released.

        The pipeline computes it from a part that text encoders of the locked `transformers` have under another name.
        """
        encoder, words = self._pipeline.text_encoder, self._pipeline.tokenizer
        tokens = words("", padding="max_length", max_length=words.model_max_length, return_tensors="pt").input_ids
        with torch.inference_mode():
            layers = encoder(tokens.to(self._device), output_hidden_states=True).hidden_states
            embedding: torch.Tensor = getattr(encoder, "text_model", encoder).final_layer_norm(layers[-2])
        return embedding

    def drawn(self, **settings: Any) -> Any:
        frames = self._pipeline(**settings).frames[0]
        size = fitted((settings["width"], settings["height"]), longest=min(self._side, self._longest))
        return np.stack([_reduced(frame, size=size) for frame in frames])


def _reduced(frame: Any, *, size: tuple[int, int]) -> Any:
    pixels = np.clip(np.rint(frame * 255), 0, 255).astype(np.uint8)
    return np.asarray(PillowImage.fromarray(pixels).resize(size, PillowImage.Resampling.BICUBIC)) / 255
