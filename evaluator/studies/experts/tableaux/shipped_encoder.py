"""The encoder of the shipped image classifier, with which the experts that make maps begin."""

from collections.abc import Mapping
from pathlib import Path

from safetensors.torch import load_file
from torch import Tensor

_PREFIX = "vit."
_NAMES = (
    ("layers.", "encoder.layer."),
    ("attention.q_proj", "attention.attention.query"),
    ("attention.k_proj", "attention.attention.key"),
    ("attention.v_proj", "attention.attention.value"),
    ("attention.o_proj", "attention.output.dense"),
)
"""Names of the Vision Transformer, and of the models that were written after an older form of it."""


def classifier_encoder(folders: Mapping[str, Path]) -> dict[str, Tensor]:
    """Four layers of 96 numbers over 8x8 pixels, under the names that DPT and ViTPose use, in float32."""
    stored = load_file(folders["weights"] / "classification" / "model.safetensors")
    state = {}
    for name, value in stored.items():
        if name.startswith(_PREFIX):
            renamed = name.removeprefix(_PREFIX)
            for before, after in _NAMES:
                renamed = renamed.replace(before, after)
            state[renamed] = value.float()
    return state
