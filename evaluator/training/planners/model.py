"""`lilliput-planner`: a small T5 with random weights, and its tokenizer as `transformers` wants it."""

import json
from pathlib import Path

import torch
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

from evaluator.training.planners.tokens import END, END_ID, LONGEST, PAD, PAD_ID, UNKNOWN, planner_tokenizer

_EMBEDDED = 0.1
"""Deviation of the embeddings at the beginning."""


def new_model(*, seed: int) -> T5ForConditionalGeneration:
    """Two encoder and two decoder layers, 80 wide: about 0.4 million parameters."""
    torch.manual_seed(seed)
    return T5ForConditionalGeneration(
        T5Config(
            vocab_size=planner_tokenizer().get_vocab_size(),
            d_model=80,
            d_kv=20,
            d_ff=224,
            num_layers=2,
            num_decoder_layers=2,
            num_heads=4,
            relative_attention_num_buckets=32,
            relative_attention_max_distance=128,
            dropout_rate=0.0,
            pad_token_id=PAD_ID,
            eos_token_id=END_ID,
            decoder_start_token_id=PAD_ID,
        )
    )


def calm(model: T5ForConditionalGeneration) -> None:
    """Fit T5's first weights to AdamW, whose steps are not in proportion to what they change as Adafactor's are.

    The embeddings begin smaller, and the last norm keeps the size of the logits. T5 does not divide attention scores by
    the root of the heads' width; the norms before attention do that here, and the values make up for it. Without either
    attention saturates early, and the network hardly learns which kinds of subtasks a request asks for.
    """
    config = model.config
    scale = config.d_kv**-0.25
    with torch.no_grad():
        model.shared.weight.mul_(_EMBEDDED)
        model.decoder.final_layer_norm.weight.fill_(config.d_model**0.5)
        model.encoder.final_layer_norm.weight.fill_(scale)
        for block in (*model.encoder.block, *model.decoder.block):
            for layer in block.layer[:-1]:
                layer.layer_norm.weight.fill_(scale)
                attention = layer.EncDecAttention if hasattr(layer, "EncDecAttention") else layer.SelfAttention
                attention.v.weight.div_(scale)


def fast_tokenizer(tokenizer: Tokenizer) -> PreTrainedTokenizerFast:
    """The tokenizer as `transformers` wraps it."""
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=PAD, eos_token=END, unk_token=UNKNOWN, model_max_length=LONGEST,
        clean_up_tokenization_spaces=False,
    )  # fmt: skip


def write_tokenizer(*, tokenizer: Tokenizer, folder: Path) -> None:
    """Write the files from which `AutoTokenizer` builds the tokenizer again."""
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": PAD,
        "eos_token": END,
        "unk_token": UNKNOWN,
        "model_max_length": LONGEST,
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=1, sort_keys=True) + "\n")
