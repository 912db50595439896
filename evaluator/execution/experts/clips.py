"""Experts on clips: classification of motions and actions with a VideoMAE, and captions."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image as PillowImage
from torch import Tensor
from transformers import (
    VideoMAEConfig,
    VideoMAEForVideoClassification,
    VideoMAEImageProcessorPil,
    VisionEncoderDecoderModel,
)

from evaluator.core.expert import ExpertSpec, InputError
from evaluator.core.values import Clip, Label, Labels, Value
from evaluator.execution.experts.imaging import Pixels, in_fixed_batches
from evaluator.execution.experts.inputs import share, whole_number
from evaluator.execution.experts.pretrained import load_model, resized
from evaluator.execution.experts.texts import generate_texts, load_tokenizer

CHANNELS = 6
"""Input channels of a VideoMAE of the miniature world: red, green, blue, and the position: x, y and time."""
_WAVES = (1, 2)
FINE_CHANNELS = CHANNELS + 4 * len(_WAVES)
"""With additional waves along x and y, which encode the distance of two patches."""
_FEWEST = 2
"""Minimum number of frames for a motion."""
_LONGEST = 40


def video_values(frames: npt.NDArray[np.uint8], *, channels: int = CHANNELS) -> Tensor:
    """8-bit frames of shape (batch, frames, height, width, 3) as (batch, frames, channels, height, width) in [-1, 1].

    VideoMAE numbers its patches in one sequence with a fixed position code. Codes as short as here do not determine the
    column of a patch, so each pixel carries its own position.
    """
    values = torch.from_numpy(frames).permute(0, 1, 4, 2, 3).to(torch.float32) / 127.5 - 1
    batch, count, _, height, width = values.shape
    x, y = torch.linspace(-1, 1, width).expand(height, width), torch.linspace(-1, 1, height)[:, None]
    time = torch.linspace(-1, 1, count)[:, None, None]
    planes = [x, y, time]
    for wave in _WAVES:
        planes += [part(torch.pi * wave * axis) for axis in (x, y) for part in (torch.sin, torch.cos)]
    where = torch.stack([plane.expand(count, height, width) for plane in planes[: channels - 3]], dim=1)
    return torch.cat([values, where.expand(batch, *where.shape)], dim=2)


def clip_of(item: Mapping[str, Value]) -> Clip:
    """The input called `video`.

    Raises:
        InputError: it is missing, not a clip, or a single frame.
    """
    value = item.get("video")
    if not isinstance(value, Clip):
        found = "nothing" if value is None else type(value).__name__
        raise InputError(f'the input "video" must be a clip, found {found}')
    if len(value.frames) < _FEWEST:
        raise InputError(f'the input "video" has a single frame, which shows no motion; it needs at least {_FEWEST}')
    return value


def resampled(clip: Clip, *, frames: int, size: int) -> Pixels:
    """`frames` frames, evenly spaced from first to last, each of size x size pixels, 8-bit RGB."""
    chosen = np.rint(np.linspace(0, len(clip.frames) - 1, frames)).astype(np.int64)
    return np.stack([np.asarray(resized(PillowImage.fromarray(clip.frames[k]), size=size)) for k in chosen])


class ClipExpert:
    """An expert from one clip to one value; subclasses process a batch."""

    output = "value"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        self.batch_size = spec.batch_size
        self._device = device

    def config(self) -> VideoMAEConfig:
        """Configuration of the clip encoder."""
        raise NotImplementedError

    def watch(self, values: Tensor) -> list[Value]:
        """The values for a batch of shape (batch, frames, channels, height, width)."""
        raise NotImplementedError

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        if not batch:
            return []
        config = self.config()
        clips = [resampled(clip_of(item), frames=config.num_frames, size=int(config.image_size)) for item in batch]

        def run(pixels: Pixels) -> list[Value]:
            with torch.inference_mode():
                return self.watch(video_values(pixels, channels=config.num_channels).to(self._device))

        values = in_fixed_batches(pixels=np.stack(clips), batch_size=self.batch_size, run=run)
        return [{self.output: value} for value in values]


class VideoClassificationExpert(ClipExpert):
    """From a clip to the motions in it, most probable first.

    Includes labels with at least the probability `threshold` of the profile's parameters, and always the most probable.
    """

    output = "category"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_model(VideoMAEForVideoClassification, spec=spec, device=device)
        self._names: dict[int, str] = {int(k): str(v) for k, v in self._model.config.id2label.items()}
        self._threshold = share(spec=spec, name="threshold", default=0.5)

    def config(self) -> VideoMAEConfig:
        config: VideoMAEConfig = self._model.config
        return config

    def watch(self, values: Tensor) -> list[Value]:
        logits: Tensor = self._model(pixel_values=values.to(self._model.dtype)).logits
        values_of_batch: list[Value] = []
        for shares in logits.float().softmax(dim=-1).tolist():
            ranked = sorted(range(len(shares)), key=lambda index: -shares[index])
            likely = [index for index in ranked if shares[index] >= self._threshold] or ranked[:1]
            values_of_batch.append(Labels(tuple(Label(self._names[index], shares[index]) for index in likely)))
        return values_of_batch


class VideoCaptioningExpert(ClipExpert):
    """From a clip to an English sentence, by greedy decoding of at most `max_new_tokens` of the profile's
    parameters."""

    output = "caption"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_model(VisionEncoderDecoderModel, spec=spec, device=device)
        self._words = load_tokenizer(spec)
        self._longest = whole_number(spec=spec, name="max_new_tokens", default=_LONGEST)

    def config(self) -> VideoMAEConfig:
        config: VideoMAEConfig = self._model.config.encoder
        return config

    def watch(self, values: Tensor) -> list[Value]:
        return [*generate_texts(self._model, tokenizer=self._words, pixels=values, longest=self._longest)]


_MEAN, _DEVIATION = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
"""Of ImageNet, as in the training of both models."""


class _SingleClipExpert:
    """Base of experts with released video models, which process clips one by one."""

    output = "value"

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        return [{self.output: self.watch(clip_of(item))} for item in batch]

    def watch(self, clip: Clip) -> Value:
        """The value for a clip."""
        raise NotImplementedError


def prepared(clip: Clip, *, frames: int, side: int) -> torch.Tensor:
    """Evenly spaced frames from the first, cropped to the central square: float32 of (1, frames, 3, side, side)."""
    chosen = np.linspace(0, len(clip.frames), num=frames, endpoint=False).astype(np.int64)
    processor = VideoMAEImageProcessorPil(
        size={"shortest_edge": side}, crop_size={"height": side, "width": side}, image_mean=_MEAN,
        image_std=_DEVIATION,
    )  # fmt: skip
    pictures = [PillowImage.fromarray(clip.frames[k]) for k in chosen]
    values: torch.Tensor = processor(pictures, return_tensors="pt", input_data_format="channels_last")["pixel_values"]
    return values


class ActionExpert(_SingleClipExpert):
    """From a clip to the `most` most probable actions in it, in descending order."""

    output = "category"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        self._device = device
        self._model = load_model(VideoMAEForVideoClassification, spec=spec, device=device)
        self._names: dict[int, str] = {int(k): str(v) for k, v in self._model.config.id2label.items()}
        self._most = whole_number(spec=spec, name="most", default=5)

    def watch(self, clip: Clip) -> Value:
        config = self._model.config
        values = prepared(clip, frames=config.num_frames, side=int(config.image_size))
        with torch.inference_mode():
            logits = self._model(pixel_values=values.to(device=self._device, dtype=self._model.dtype)).logits
        shares = logits[0].float().softmax(dim=-1).cpu()
        ranked = shares.argsort(descending=True, stable=True)[: self._most].tolist()
        return Labels(tuple(Label(self._names[index], round(float(shares[index]), 3)) for index in ranked))


class StoryExpert(_SingleClipExpert):
    """From a clip to an English sentence of `min_length` to `max_length` tokens, by beam search with `num_beams` beams.

    The tokenizer is that of the base, a GPT-2.
    """

    output = "caption"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        self._device = device
        self._model = load_model(VisionEncoderDecoderModel, spec=spec, device=device)
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
