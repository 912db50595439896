"""Low-rank adaptation (LoRA) with `peft`, of the extra `train` (`pip install -c constraints.txt peft`).

`peft` follows the releases of `transformers`, and requires only `accelerate` beyond what training requires anyway.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

_TARGETS = {"t5": ("q", "v")}
"""The adapted layers by type of model; `q_proj` and `v_proj` for other types."""
_NAME = re.compile(r"[\w.]{1,100}", re.ASCII)


class LoraError(ValueError):
    """A model cannot be adapted."""


@dataclass(frozen=True, slots=True)
class LoraSettings:
    """The defaults are those of OpenAGI's released code, without dropout, so that runs can be resumed exactly."""

    rank: int = 8
    alpha: int = 16
    targets: tuple[str, ...] = ()
    """Names of the adapted layers; empty: query and value projections."""


def targets_of(text: str) -> tuple[str, ...]:
    """Names of layers separated by commas.

    Raises:
        LoraError: a name is none.
    """
    names = tuple(name.strip() for name in text.split(",")) if text.strip() else ()
    for name in names:
        if not _NAME.fullmatch(name):
            raise LoraError(f"--targets: {name[:100]!r} is no name of a layer, such as q_proj")
    return names


def adapt(module: nn.Module, *, settings: LoraSettings) -> tuple[nn.Module, Callable[[], nn.Module]]:
    """Freeze a model except for low-rank additions to some of its layers.

    Returns:
        The model to train, of the same class, and a function that merges the additions into it.

    Raises:
        LoraError: `peft` is not installed, or the model has no such layers.
    """
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError:
        raise LoraError("LoRA needs the package peft: pip install -c constraints.txt peft") from None
    config: Any = module.config
    targets = list(settings.targets or _TARGETS.get(config.model_type, ("q_proj", "v_proj")))
    known = {name for name, layer in module.named_modules() if isinstance(layer, nn.Linear)}
    linear = sorted({name.rpartition(".")[2] for name in known})
    if lacking := [name for name in targets if not any(f".{each}".endswith(f".{name}") for each in known)]:
        raise LoraError(
            f"The model cannot be adapted: it has no linear layers {', '.join(lacking)}; --targets may name "
            f"{', '.join(linear) or 'none'}."
        )
    lora = LoraConfig(r=settings.rank, lora_alpha=settings.alpha, lora_dropout=0.0, target_modules=targets)
    try:
        wrapped = get_peft_model(module, lora)
    except ValueError as error:
        raise LoraError(f"The model cannot be adapted: {error}") from None
    return wrapped.get_base_model(), wrapped.merge_and_unload
