"""First weights of a T5."""

import torch
from transformers import T5ForConditionalGeneration

_EMBEDDED = 0.1
"""Deviation of the embeddings at the beginning."""


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
