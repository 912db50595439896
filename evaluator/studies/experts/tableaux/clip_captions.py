"""Training of Video Captioning: the encoder of Video Classification and a small GPT-2 that attends to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import (
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
    VideoMAEModel,
    VisionEncoderDecoderConfig,
    VisionEncoderDecoderModel,
)

from evaluator.execution.experts.clips import FINE_CHANNELS, video_values
from evaluator.miniature.seeds import Split
from evaluator.miniature.tableaux.captions import clip_caption
from evaluator.miniature.tableaux.clips import draw_clip
from evaluator.studies.experts.captioning import decoder_config, token_ids, word_tokenizer
from evaluator.studies.experts.scene_encoder import read_weights
from evaluator.studies.experts.tableaux import motion
from evaluator.studies.experts.tableaux.data import CLIPS, clips_at
from evaluator.training.export import export_transformers

NAME = "video-captioning"
_VOCABULARY_CLIPS = 3000
_FILTERS = "embeddings.patch_embeddings.projection.weight"
_SHAPES = 3.0
"""Weight of the mover's shape, which patches learn last."""


@cache
def tokenizer() -> PreTrainedTokenizerFast:
    """The tokenizer of captions of clips."""
    return word_tokenizer(clip_caption(draw_clip(split=Split.TRAIN, index=index)) for index in range(_VOCABULARY_CLIPS))


class ClipCaptioningModel(nn.Module):
    """The captioner with auxiliary heads on its encoder's patches, which are not exported."""

    def __init__(self, captioner: VisionEncoderDecoderModel) -> None:
        super().__init__()
        self.captioner = captioner
        self.heads = motion.ClipHeads(captioner.config.encoder.hidden_size)


def build() -> nn.Module:
    """A VideoMAE and a GPT-2 of two layers."""
    words = tokenizer()
    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        motion.video_config(channels=FINE_CHANNELS), decoder_config(words, inner=192)
    )
    config.decoder_start_token_id = words.bos_token_id
    config.pad_token_id = words.pad_token_id
    encoder, decoder = VideoMAEModel(config.encoder), GPT2LMHeadModel(config.decoder)
    return ClipCaptioningModel(VisionEncoderDecoderModel(config=config, encoder=encoder, decoder=decoder))


@torch.no_grad()
def begin(model: nn.Module, folders: Mapping[str, Path]) -> None:
    """Start from the encoder of Video Classification; the filters of the channels it lacks start at zero."""
    assert isinstance(model, ClipCaptioningModel)
    state = read_weights(folders["weights"] / motion.NAME / "model.safetensors", prefix="videomae.")
    filters = state[_FILTERS]
    wide = filters.new_zeros(filters.shape[0], FINE_CHANNELS, *filters.shape[2:])
    wide[:, : filters.shape[1]] = filters
    model.captioner.encoder.load_state_dict(state | {_FILTERS: wide})


@dataclass(frozen=True, slots=True)
class ClipCaptioningObjective:
    """Cross-entropy of the next word, and the auxiliary loss of the patches."""

    batch: int = 16

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        assert isinstance(model, ClipCaptioningModel)
        indices = np.sort(rng.integers(CLIPS, size=self.batch))
        batch = clips_at(split=Split.TRAIN, indices=indices)
        words, pad = tokenizer(), int(tokenizer().pad_token_id)
        tokens = torch.from_numpy(np.stack([token_ids(words=words, text=clip_caption(clip)) for clip in batch.clips]))
        tokens = tokens[:, : int((tokens != pad).sum(dim=1).max())]
        output = model.captioner(
            pixel_values=video_values(batch.frames, channels=FINE_CHANNELS), decoder_input_ids=tokens[:, :-1]
        )
        caption = F.cross_entropy(output.logits.flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=pad)
        labels = motion.clip_labels(split=Split.TRAIN, indices=indices)
        # About four of the twelve words of a caption carry information about the clip.
        patches = output.encoder_last_hidden_state
        return 4 * caption + 0.5 * model.heads.loss(patches=patches, labels=labels, shapes=_SHAPES)


def export(model: nn.Module, folder: Path) -> None:
    """Write the captioner with its tokenizer."""
    assert isinstance(model, ClipCaptioningModel)
    export_transformers(model.captioner, folder)
    tokenizer().save_pretrained(folder)
