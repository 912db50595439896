"""Experts that watch clips with released models: a VideoMAE names actions, a TimeSformer with GPT-2 tells them."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from PIL import Image as PillowImage
from transformers import (
    VideoMAEForVideoClassification,
    VideoMAEImageProcessorPil,
    VisionEncoderDecoderModel,
)

from evaluator.core.expert import ExpertSpec
from evaluator.core.values import Clip, Label, Labels, Value
from evaluator.execution.experts.pretrained import load_pretrained
from evaluator.execution.experts.texts import load_tokenizer, whole_number
from evaluator.execution.experts.watching import clip_of

_MEAN, _DEVIATION = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
"""Of ImageNet: how both models were trained."""


class _Watcher:
    """What the experts on released video models share: clips go through the model one by one."""

    output = "value"

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        """See `Expert.run`."""
        return [{self.output: self.watch(clip_of(item))} for item in batch]

    def watch(self, clip: Clip) -> Value:
        """What is said of a clip."""
        raise NotImplementedError


def prepared(clip: Clip, *, frames: int, side: int) -> torch.Tensor:
    """Evenly spaced frames from the first on, the middle square of each: float32 of (1, frames, 3, side, side)."""
    chosen = np.linspace(0, len(clip.frames), num=frames, endpoint=False).astype(np.int64)
    processor = VideoMAEImageProcessorPil(
        size={"shortest_edge": side}, crop_size={"height": side, "width": side}, image_mean=_MEAN,
        image_std=_DEVIATION,
    )  # fmt: skip
    pictures = [PillowImage.fromarray(clip.frames[k]) for k in chosen]
    values: torch.Tensor = processor(pictures, return_tensors="pt", input_data_format="channels_last")["pixel_values"]
    return values


class ActionExpert(_Watcher):
    """Any clip in, the `most` likeliest actions that it shows out, the surest first."""

    output = "category"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        self._device = device
        self._model = load_pretrained(
            VideoMAEForVideoClassification, folder=spec.path, device=device, precision=spec.precision
        )
        self._names: dict[int, str] = {int(k): str(v) for k, v in self._model.config.id2label.items()}
        self._most = whole_number(spec=spec, name="most", default=5)

    def watch(self, clip: Clip) -> Value:
        config = self._model.config
        values = prepared(clip, frames=config.num_frames, side=int(config.image_size))
        with torch.inference_mode():
            logits = self._model(pixel_values=values.to(device=self._device, dtype=self._model.dtype)).logits
        shares = logits[0].float().softmax(dim=-1).cpu()
        surest = shares.argsort(descending=True, stable=True)[: self._most].tolist()
        return Labels(tuple(Label(self._names[index], round(float(shares[index]), 3)) for index in surest))


class StoryExpert(_Watcher):
    """Any clip in, an English sentence out: the likeliest that `num_beams` beams find.

    It has `min_length` to `max_length` tokens. The tokenizer is that of the base, a GPT-2.
    """

    output = "caption"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        self._device = device
        self._model = load_pretrained(
            VisionEncoderDecoderModel, folder=spec.path, device=device, precision=spec.precision
        )
        self._words = load_tokenizer(spec, folder=spec.base)
        self._settings = {
            name: whole_number(spec=spec, name=name, default=default)
            for name, default in (("min_length", 20), ("max_length", 500), ("num_beams", 8))
        }

    def watch(self, clip: Clip) -> Value:
        config = self._model.config.encoder
        values = prepared(clip, frames=config.num_frames, side=int(config.image_size))
        with torch.inference_mode():
            tokens = self._model.generate(
                pixel_values=values.to(device=self._device, dtype=self._model.dtype),
                do_sample=False,
                pad_token_id=self._words.pad_token_id,
                eos_token_id=self._words.eos_token_id,
                **self._settings,
            )
        text: str = self._words.decode(tokens[0], skip_special_tokens=True)
        return text.strip()
