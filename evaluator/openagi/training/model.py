"""`lilliput-planner`: a small T5 with random weights, and its tokenizer as `transformers` wants it."""

import torch
from transformers import T5Config, T5ForConditionalGeneration

from evaluator.openagi.training.tokens import planner_tokenizer
from evaluator.training.special_tokens import END_ID, PAD_ID


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
