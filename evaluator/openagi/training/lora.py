"""Low-rank adaptation through `peft`, which is an optional dependency (`pip install -c constraints.txt peft`)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

_TARGETS = {"t5": ("q", "v")}
"""By type of model, the layers that are adapted; others name theirs `q_proj` and `v_proj`."""


class LoraError(ValueError):
    """A model cannot be adapted; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class LoraSettings:
    """Sizes, by default those of OpenAGI's released code; without its dropout, so that runs can be resumed exactly."""

    rank: int = 8
    alpha: int = 16


def adapt(module: nn.Module, *, settings: LoraSettings) -> tuple[nn.Module, Callable[[], nn.Module]]:
    """Freeze a model but for low-rank additions to its query and value layers.

    Returns:
        The model to train, of the same class as before, and what merges the additions into it at the end.

    Raises:
        LoraError: `peft` is not installed, or the model has no such layers.
    """
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError:
        raise LoraError("LoRA needs the package peft: pip install -c constraints.txt peft") from None
    config: Any = module.config
    targets = list(_TARGETS.get(config.model_type, ("q_proj", "v_proj")))
    wanted = LoraConfig(r=settings.rank, lora_alpha=settings.alpha, lora_dropout=0.0, target_modules=targets)
    try:
        wrapped = get_peft_model(module, wanted)
    except ValueError as error:
        raise LoraError(f"The model cannot be adapted: {error}") from None
    return wrapped.get_base_model(), wrapped.merge_and_unload
