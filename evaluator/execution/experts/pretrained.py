"""Loading models from folders: safetensors only, nothing from the network, no foreign code."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import nn
from transformers.utils import logging

from evaluator.execution.experts.loading import loading
from evaluator.execution.experts.weights import WeightsError

_MOST_NAMES = 5
_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def dtype_of(precision: str) -> torch.dtype:
    """What a profile's `precision` means.

    Raises:
        WeightsError: there is no such precision.
    """
    if precision not in _DTYPES:
        raise WeightsError(f"there is no precision {precision!r}; there are: {', '.join(_DTYPES)}")
    return _DTYPES[precision]


def load_pretrained(
    model_class: Any, *, folder: Path, device: str, precision: str = "float32", **settings: object
) -> Any:
    """A `transformers` model with the weights of a folder, in the precision given, ready for inference.

    Raises:
        WeightsError: weights and configuration do not belong together, so that part of the model would be random.
    """
    with loading():
        logging.disable_progress_bar()
        verbosity = logging.get_verbosity()
        logging.set_verbosity_error()  # what it would report is checked below
        try:
            model, found = model_class.from_pretrained(
                folder,
                local_files_only=True,
                use_safetensors=True,
                trust_remote_code=False,
                dtype=dtype_of(precision),
                output_loading_info=True,
                # Or it raises an error that says nothing; what does not fit is refused below.
                ignore_mismatched_sizes=True,
                **settings,
            )
        finally:
            logging.set_verbosity(verbosity)
    # A pooler sits on top of an encoder and nobody here asks for its output.
    missing = sorted(name for name in found["missing_keys"] if "pooler." not in name)
    if missing or found["mismatched_keys"]:
        raise WeightsError(f"the weights in {folder} lack {_in_words(missing) or 'the right shapes'}")
    return model.to(device).eval()


def _in_words(names: Sequence[str]) -> str:
    """The first few: a wrong number of layers is hundreds."""
    shown = ", ".join(names[:_MOST_NAMES])
    return f"{shown} and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else shown


def load_state(
    model: nn.Module, *, folder: Path, device: str, precision: str = "float32", unused: tuple[str, ...] = ()
) -> None:
    """Fill any other model with `model.safetensors` of a folder, in the precision given, ready for inference.

    Args:
        unused: beginnings of the names of parameters that released weights have and this model does without.

    Raises:
        WeightsError: weights and model do not belong together.
    """
    stored = load_file(folder / "model.safetensors")
    state = {name: value.float() for name, value in stored.items() if not name.startswith(unused)}
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        raise WeightsError(f"the weights in {folder} do not fit the model: {error}") from error
    model.to(device=device, dtype=dtype_of(precision)).eval()
