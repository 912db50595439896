"""Training of Optical Character Recognition: a ViT and the decoder of TrOCR, on signs.

Half of the words of a training sign are random letters, so that the model learns to read and not to guess.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor, nn
from transformers import (
    PreTrainedTokenizerFast,
    TrOCRConfig,
    TrOCRForCausalLM,
    VisionEncoderDecoderConfig,
    VisionEncoderDecoderModel,
    ViTConfig,
    ViTModel,
)

from evaluator.execution.experts.imaging import to_tensor
from evaluator.execution.experts.recognition import CHANNELS, PATCH, letter_values
from evaluator.miniature.scenes import SIZE
from evaluator.miniature.seeds import Split, generator
from evaluator.miniature.signs import (
    ADVANCE,
    CHARACTERS,
    HEIGHT,
    LONGEST_WORD,
    MOST_WORDS,
    Sign,
    draw_sign,
    draw_words,
    is_kept_from_training,
    paint_sign,
)
from evaluator.studies.experts.language_models import padded
from evaluator.training.export import export_transformers

NAME = "character-recognition"
SIGNS = 120_000
"""Number of training signs; a training run sees most of them at most once."""
LENGTH = MOST_WORDS * (LONGEST_WORD + 1) + 1
"""Most tokens of a text, begin and end included."""
_PAD, _BEGIN, _END, _UNKNOWN = "<pad>", "<s>", "</s>", "<unk>"
_RANDOM = 0.5
_WIDTH = 64
_ROWS, _COLUMNS = SIZE // PATCH[0], SIZE // PATCH[1]


@cache
def tokenizer() -> PreTrainedTokenizerFast:
    """One token per character."""
    vocabulary = {token: index for index, token in enumerate([_PAD, _BEGIN, _END, _UNKNOWN, " ", *CHARACTERS])}
    fast = Tokenizer(models.WordLevel(vocab=vocabulary, unk_token=_UNKNOWN))
    fast.pre_tokenizer = pre_tokenizers.Split(Regex("."), behavior="isolated")
    fast.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=fast, pad_token=_PAD, bos_token=_BEGIN, eos_token=_END, unk_token=_UNKNOWN
    )


def training_sign(index: int) -> Sign:
    """Training sign number `index`."""
    rng = generator(split=Split.TRAIN, index=index, purpose="training sign")
    words = [_random_word(rng) if rng.random() < _RANDOM else word for word in draw_words(split=Split.TRAIN, rng=rng)]
    return draw_sign(split=Split.TRAIN, index=index, words=words)


def _random_word(rng: np.random.Generator) -> str:
    """Random characters, but no word that is held out from training."""
    while True:
        letters = CHARACTERS if rng.random() < 0.3 else CHARACTERS[:26]
        word = "".join(letters[n] for n in rng.integers(len(letters), size=int(rng.integers(1, LONGEST_WORD + 1))))
        if not is_kept_from_training(word):
            return word


def patch_labels(sign: Sign) -> np.ndarray:
    """For each patch, row by row: 0 or 1 + character, the line, and the position in the word; shape (128, 3)."""
    labels = np.zeros((_ROWS, _COLUMNS, 3), dtype=np.int64)
    rows, columns = (np.arange(_ROWS) + 0.5) * PATCH[0], (np.arange(_COLUMNS) + 0.5) * PATCH[1]
    for number, line in enumerate(sign.lines):
        inside = (rows >= line.y) & (rows < line.y + HEIGHT * line.scale)
        # The gap between two letters belongs half to each.
        places = np.floor((columns - line.x) / line.scale / ADVANCE + 0.5 / ADVANCE).astype(int)
        for column in np.flatnonzero((places >= 0) & (places < len(line.word))):
            place = places[column]
            labels[inside, column] = 1 + CHARACTERS.index(line.word[place]), number, place
    return labels.reshape(-1, 3)


class ReadingModel(nn.Module):
    """The reader with auxiliary heads on its encoder's patches, which are not exported."""

    def __init__(self, reader: VisionEncoderDecoderModel) -> None:
        super().__init__()
        self.reader = reader
        self.character = nn.Linear(_WIDTH, len(CHARACTERS) + 1)
        self.line = nn.Linear(_WIDTH, MOST_WORDS)
        self.place = nn.Linear(_WIDTH, LONGEST_WORD)

    def patch_loss(self, *, patches: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy of the patches' states, (batch, patches, width), with labels (batch, patches, 3)."""
        written = labels[..., 0] > 0
        characters = self.character(patches)
        # Most patches are empty. With equal weights they would dominate the loss before any letter is learnt.
        empty = F.cross_entropy(characters[~written], labels[..., 0][~written])
        loss = 2 * F.cross_entropy(characters[written], labels[..., 0][written]) + 0.3 * empty
        loss = loss + F.cross_entropy(self.line(patches[written]), labels[..., 1][written])
        return loss + F.cross_entropy(self.place(patches[written]), labels[..., 2][written])


def build() -> nn.Module:
    """A ViT of three layers and TrOCR's decoder of two."""
    characters = tokenizer()
    encoder = ViTConfig(
        hidden_size=_WIDTH,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=128,
        image_size=SIZE,
        patch_size=list(PATCH),
        num_channels=CHANNELS,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    decoder = TrOCRConfig(
        vocab_size=len(characters),
        d_model=_WIDTH,
        decoder_layers=2,
        decoder_attention_heads=4,
        decoder_ffn_dim=64,
        max_position_embeddings=LENGTH,
        dropout=0.0,
        attention_dropout=0.0,
        activation_dropout=0.0,
        cross_attention_hidden_size=_WIDTH,
        pad_token_id=characters.pad_token_id,
        bos_token_id=characters.bos_token_id,
        eos_token_id=characters.eos_token_id,
        decoder_start_token_id=characters.bos_token_id,
    )
    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(encoder, decoder)
    config.decoder_start_token_id = characters.bos_token_id
    config.pad_token_id = characters.pad_token_id
    vision = ViTModel(config.encoder, add_pooling_layer=False)
    return ReadingModel(
        VisionEncoderDecoderModel(config=config, encoder=vision, decoder=TrOCRForCausalLM(config.decoder))
    )


@dataclass(frozen=True, slots=True)
class ReadingObjective:
    """Cross-entropy of the next character, and of the character in each patch."""

    batch: int = 32

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        assert isinstance(model, ReadingModel)
        signs = [training_sign(int(index)) for index in rng.integers(SIGNS, size=self.batch)]
        values = letter_values(to_tensor(pixels=np.stack([paint_sign(sign) for sign in signs]), device="cpu"))
        characters, pad = tokenizer(), int(tokenizer().pad_token_id)
        begin, end = characters.bos_token_id, characters.eos_token_id
        tokens = padded([[begin, *characters(sign.text)["input_ids"], end] for sign in signs], value=pad)
        output = model.reader(pixel_values=values, decoder_input_ids=tokens[:, :-1])
        text = F.cross_entropy(output.logits.flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=pad)
        labels = torch.from_numpy(np.stack([patch_labels(sign) for sign in signs]))
        return text + model.patch_loss(patches=output.encoder_last_hidden_state[:, 1:], labels=labels)


def export(model: nn.Module, folder: Path) -> None:
    """Write the reader with its tokenizer."""
    assert isinstance(model, ReadingModel)
    export_transformers(model.reader, folder)
    tokenizer().save_pretrained(folder)
