"""Training of Image Captioning: the encoder of clean scenes and a small GPT-2 that attends to it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor, nn
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
    VisionEncoderDecoderConfig,
    VisionEncoderDecoderModel,
    ViTModel,
)

from evaluator.miniature.grammar.captions import main_caption
from evaluator.miniature.scenes import draw_scene
from evaluator.miniature.seeds import Split
from evaluator.studies.experts.data.bank import Bank, normalised, rows_of
from evaluator.studies.experts.scene_encoder import PatchHeads, batch_of_patch_labels, trained_encoder, vision_config
from evaluator.training.export import export_transformers

LENGTH = 24
"""Most tokens of a caption, begin and end included."""
_PAD, _BEGIN, _END, _UNKNOWN = "<pad>", "<s>", "</s>", "<unk>"
_VOCABULARY_SCENES = 3000
_PATCHES = 0.5
"""Weight of the auxiliary loss of the patches."""


@cache
def tokenizer() -> PreTrainedTokenizerFast:
    """The tokenizer of captions of scenes."""
    return word_tokenizer(_caption(split=Split.TRAIN, index=index) for index in range(_VOCABULARY_SCENES))


def word_tokenizer(texts: Iterable[str]) -> PreTrainedTokenizerFast:
    """One token per word, with the space before it, so that decoding restores the text."""
    pieces = pre_tokenizers.Split(Regex(r" ?\w+|[^\w\s]"), behavior="isolated")
    words = sorted({word for text in texts for word, _ in pieces.pre_tokenize_str(text)})
    vocabulary = {word: index for index, word in enumerate([_PAD, _BEGIN, _END, _UNKNOWN, *words])}
    fast = Tokenizer(models.WordLevel(vocab=vocabulary, unk_token=_UNKNOWN))
    fast.pre_tokenizer = pieces
    fast.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=fast, pad_token=_PAD, bos_token=_BEGIN, eos_token=_END, unk_token=_UNKNOWN
    )


def _caption(*, split: Split, index: int) -> str:
    return main_caption(draw_scene(split=split, index=index)).english


def _caption_row(*, split: Split, index: int) -> np.ndarray:
    return token_ids(words=tokenizer(), text=_caption(split=split, index=index))


def token_ids(*, words: PreTrainedTokenizerFast, text: str) -> np.ndarray:
    """Begin, words and end of a caption, padded to 24."""
    pieces: list[int] = words(text)["input_ids"]
    ids = [words.bos_token_id, *pieces, words.eos_token_id]
    return np.asarray(ids + [words.pad_token_id] * (LENGTH - len(ids)), dtype=np.int64)


class CaptioningModel(nn.Module):
    """The captioner with auxiliary heads on its encoder's patches, which are not exported."""

    def __init__(self, captioner: VisionEncoderDecoderModel) -> None:
        super().__init__()
        self.captioner = captioner
        self.patches = PatchHeads(captioner.config.encoder.hidden_size)


def decoder_config(words: PreTrainedTokenizerFast, *, inner: int | None = None) -> GPT2Config:
    """A GPT-2 of two layers that attends to an encoder; `inner` is the width within a layer, 384 by default."""
    return GPT2Config(
        vocab_size=len(words),
        n_positions=LENGTH,
        n_embd=96,
        n_layer=2,
        n_head=4,
        n_inner=inner,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=words.bos_token_id,
        eos_token_id=words.eos_token_id,
        pad_token_id=words.pad_token_id,
        add_cross_attention=True,
        is_decoder=True,
    )


def build() -> nn.Module:
    """A ViT and a GPT-2 of two layers."""
    words = tokenizer()
    decoder = decoder_config(words)
    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(vision_config(), decoder)
    config.decoder_start_token_id = words.bos_token_id
    config.pad_token_id = words.pad_token_id
    encoder = ViTModel(config.encoder, add_pooling_layer=False)
    return CaptioningModel(
        VisionEncoderDecoderModel(config=config, encoder=encoder, decoder=GPT2LMHeadModel(config.decoder))
    )


def begin(model: nn.Module, folders: Mapping[str, Path]) -> None:
    """Start from the trained encoder of clean scenes."""
    assert isinstance(model, CaptioningModel)
    model.captioner.encoder.load_state_dict(trained_encoder(folders))


@dataclass(frozen=True, slots=True)
class CaptioningObjective:
    """Cross-entropy of the next word, on clean images."""

    bank: Bank
    batch: int = 48

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        assert isinstance(model, CaptioningModel)
        indices = np.sort(rng.integers(len(self.bank), size=self.batch))
        tokens = torch.from_numpy(rows_of(_caption_row, split=self.bank.split, count=len(self.bank)).take(indices))
        pad = int(tokenizer().pad_token_id)
        tokens = tokens[:, : int((tokens != pad).sum(dim=1).max())]
        output = model.captioner(
            pixel_values=normalised(np.asarray(self.bank.pixels[indices])), decoder_input_ids=tokens[:, :-1]
        )
        words = F.cross_entropy(output.logits.flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=pad)
        labels = batch_of_patch_labels(bank=self.bank, indices=indices)
        patches = model.patches.loss(patches=output.encoder_last_hidden_state[:, 1:], labels=labels)
        # Four of the nine words of a caption carry information about the picture.
        return 4 * words + _PATCHES * patches


def export(model: nn.Module, folder: Path) -> None:
    """Write the captioner with its tokenizer."""
    assert isinstance(model, CaptioningModel)
    export_transformers(model.captioner, folder)
    tokenizer().save_pretrained(folder)
