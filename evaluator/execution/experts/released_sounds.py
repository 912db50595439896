"""Released models that speak, compose and hear: Bark, MusicGen, Whisper and wav2vec 2.0, sound by sound."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from transformers import (
    BarkModel,
    MusicgenForConditionalGeneration,
    Wav2Vec2FeatureExtractor,
    Wav2Vec2ForSequenceClassification,
    WhisperFeatureExtractor,
    WhisperForConditionalGeneration,
)
from transformers.utils import logging

from evaluator.core.expert import ExpertSpec
from evaluator.core.sounds import MOST_SAMPLES, RATE, Sound, Wave, resampled, sound_of
from evaluator.core.values import Label, Labels, Value
from evaluator.execution.experts.inputs import number, value_of, whole_number
from evaluator.execution.experts.pretrained import load_model
from evaluator.execution.experts.texts import load_tokenizer, text_of

_SHORTEST = 400
"""Samples that the filters of wav2vec 2.0 need; shorter sounds are continued by silence."""
_PROMPT = 256
"""Tokens of a text that Bark reads."""


@contextmanager
def seeded(seed: int, *, device: str) -> Iterator[None]:
    """torch's random numbers from a seed, for models that take no generator; restores them afterwards."""
    _quiet()
    with torch.random.fork_rng(devices=[device] if device != "cpu" else []), torch.inference_mode():
        torch.manual_seed(seed)
        yield


def _quiet() -> None:
    """Without remarks of each call on how settings of generation are passed."""
    logging.set_verbosity_error()


def sound_at(levels: Any, *, rate: int) -> Sound:
    """The first 30 seconds of a wave of any rate, shape (samples,); a sample of silence if it is empty."""
    wave: Wave = np.asarray(levels, dtype=np.float64).reshape(-1)
    return sound_of(resampled(wave if len(wave) else np.zeros(1), rate=rate)[:MOST_SAMPLES])


class ReleasedSpeechRecognitionExpert:
    """From speech to its text in the language that the model hears, with Whisper. Greedy; the first 30 seconds."""

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        self._device = device
        self._model = load_model(WhisperForConditionalGeneration, spec=spec, device=device)
        self._words = load_tokenizer(spec)
        self._features = WhisperFeatureExtractor.from_pretrained(spec.path, local_files_only=True)
        self._longest = whole_number(spec=spec, name="max_new_tokens", default=440)

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        return [{"text": self._text(value_of(item, name="speech", kind=Sound))} for item in batch]

    def _text(self, sound: Sound) -> str:
        features = self._features(
            sound.levels().astype(np.float32), sampling_rate=RATE, return_tensors="pt", return_attention_mask=True
        )
        _quiet()
        with torch.inference_mode():
            tokens = self._model.generate(
                features.input_features.to(device=self._device, dtype=self._model.dtype),
                attention_mask=features.attention_mask.to(self._device), task="transcribe", do_sample=False,
                max_new_tokens=self._longest,
            )  # fmt: skip
        text: str = self._words.decode(tokens[0], skip_special_tokens=True)
        return text.strip()


class ReleasedSoundClassificationExpert:
    """From a sound to its `most` most probable classes, with a wav2vec 2.0."""

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        self._device = device
        self._model = load_model(Wav2Vec2ForSequenceClassification, spec=spec, device=device)
        self._features = Wav2Vec2FeatureExtractor.from_pretrained(spec.path, local_files_only=True)
        self._names: dict[int, str] = {int(k): str(v) for k, v in self._model.config.id2label.items()}
        self._most = whole_number(spec=spec, name="most", default=5)

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        return [{"speech": self._labels(value_of(item, name="audio", kind=Sound))} for item in batch]

    def _labels(self, sound: Sound) -> Labels:
        levels = sound.levels().astype(np.float32)
        levels = np.pad(levels, (0, max(0, _SHORTEST - len(levels))))
        values = self._features(levels, sampling_rate=RATE, return_tensors="pt").input_values
        with torch.inference_mode():
            logits = self._model(values.to(device=self._device, dtype=self._model.dtype)).logits
        shares = logits[0].float().softmax(dim=-1).cpu()
        ranked = shares.argsort(descending=True, stable=True)[: self._most].tolist()
        return Labels(tuple(Label(self._names[index], round(float(shares[index]), 3)) for index in ranked))


class _SoundSampler:
    """Base of experts that draw sounds from a text and a seed, one by one."""

    output = "value"

    def __init__(self, *, device: str) -> None:
        self.device = device

    def sampled(self, text: str) -> Sound:
        """The sound for a text, by torch's random numbers."""
        raise NotImplementedError

    def run_seeded(self, *, batch: Sequence[Mapping[str, Value]], seeds: Sequence[int]) -> list[Mapping[str, Value]]:
        """See `SamplingExpert.run_seeded`."""
        results: list[Mapping[str, Value]] = []
        for item, seed in zip(batch, seeds, strict=True):
            text = text_of(item, name="text")
            with seeded(seed, device=self.device):
                results.append({self.output: self.sampled(text)})
        return results


class ReleasedMusicExpert(_SoundSampler):
    """From an English text to music with MusicGen, `max_new_tokens` long, of which 50 make a second."""

    output = "music"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(device=device)
        self._model = load_model(MusicgenForConditionalGeneration, spec=spec, device=device)
        self._words = load_tokenizer(spec)
        self._longest = whole_number(spec=spec, name="max_new_tokens", default=512)
        self._guidance = number(spec=spec, name="guidance", default=3.0)

    def sampled(self, text: str) -> Sound:
        tokens = self._words(text, return_tensors="pt", truncation=True).to(self.device)
        waves = self._model.generate(
            input_ids=tokens.input_ids, attention_mask=tokens.attention_mask, do_sample=True,
            guidance_scale=self._guidance, max_new_tokens=self._longest,
        )  # fmt: skip
        return sound_at(waves[0].float().cpu().numpy(), rate=self._model.config.audio_encoder.sampling_rate)


class ReleasedSpeechExpert(_SoundSampler):
    """From a text to speech with Bark, in a voice that the seed chooses; at most `max_new_tokens` of meaning, of which
    about 50 make a second."""

    output = "speech"

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(device=device)
        self._model = load_model(BarkModel, spec=spec, device=device)
        self._words = load_tokenizer(spec)
        self._longest = whole_number(spec=spec, name="max_new_tokens", default=768)

    def sampled(self, text: str) -> Sound:
        tokens = self._words(
            text, return_tensors="pt", padding="max_length", max_length=_PROMPT, truncation=True,
            add_special_tokens=False,
        ).to(self.device)  # fmt: skip
        waves = self._model.generate(
            input_ids=tokens.input_ids, attention_mask=tokens.attention_mask, do_sample=True,
            semantic_max_new_tokens=self._longest,
        )  # fmt: skip
        return sound_at(waves[0].float().cpu().numpy(), rate=self._model.generation_config.sample_rate)
