"""Converts released PyTorch checkpoints to safetensors. With `weights_only`, torch refuses files that would run
code."""

from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError  # noqa: TID251 - the error that torch raises, nothing is unpickled here

import torch
from safetensors.torch import save_file
from torch import Tensor

from evaluator.execution.experts.checkpoints import FetchError

_WRAPPERS = ("params", "params_ema", "state_dict", "model")
"""Keys of the parameters in released files, if not at the top level. Restormer: `params`."""


def convert(*, source: Path, target: Path) -> int:
    """Write the parameters of a `.bin`, `.pt` or `.pth` file as safetensors.

    Returns:
        The number of tensors.

    Raises:
        FetchError: the file is unreadable, contains anything but tensors, or has no parameters.
    """
    state = _parameters(source=source)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.part")
    # Copies, since safetensors refuses tensors that share memory, such as tied parameters.
    save_file({name: value.contiguous().clone() for name, value in state.items()}, temporary, metadata={"format": "pt"})
    temporary.replace(target)
    return len(state)


def _parameters(*, source: Path) -> Mapping[str, Tensor]:
    try:
        content = torch.load(source, map_location="cpu", weights_only=True)  # noqa: TID251 - see the module's docstring
    except UnpicklingError as error:
        raise FetchError(
            f"{source} is not a checkpoint of numbers only, so it is not read: {str(error).splitlines()[0]}"
        ) from None
    except (OSError, RuntimeError, EOFError, ValueError, KeyError) as error:
        raise FetchError(f"{source} cannot be read as a PyTorch checkpoint: {error}") from None
    for wrapper in _WRAPPERS:
        if isinstance(content, Mapping) and isinstance(content.get(wrapper), Mapping):
            content = content[wrapper]
            break
    if not isinstance(content, Mapping) or not content:
        raise FetchError(f"{source} holds no parameters by name, but {type(content).__name__}")
    others = sorted(str(name) for name, value in content.items() if not isinstance(value, Tensor))
    if others:
        raise FetchError(f"{source} holds more than parameters: {', '.join(others[:5])}")
    return {str(name): value for name, value in content.items()}
