"""Networks with random weights."""

from dataclasses import dataclass

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from evaluator.training.special_tokens import END_ID, PAD_ID


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The size of a network."""

    width: int = 128
    feed_forward: int = 384
    layers: int = 4
    heads: int = 4


def new_network(*, vocabulary: int, shape: Shape, seed: int) -> LlamaForCausalLM:
    """A Llama with random weights: 1.1 million parameters in the default shape."""
    torch.manual_seed(seed)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=vocabulary, hidden_size=shape.width, intermediate_size=shape.feed_forward,
            num_hidden_layers=shape.layers, num_attention_heads=shape.heads, max_position_embeddings=4096,
            tie_word_embeddings=True, attention_dropout=0.0, pad_token_id=PAD_ID, bos_token_id=None,
            eos_token_id=END_ID,
        )
    )  # fmt: skip
