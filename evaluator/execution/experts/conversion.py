"""Turning released PyTorch checkpoints into safetensors. The only place that reads such files, and only numbers.

`weights_only` makes torch refuse a file that would run code while it is read.
"""

from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError  # noqa: TID251 - the error that torch raises, nothing is unpickled here

import torch
from safetensors.torch import save_file
from torch import Tensor

from evaluator.execution.experts.checkpoints import FetchError

_WRAPPERS = ("params", "params_ema", "state_dict", "model")
"""Under which released files keep the parameters, if not at the top. Restormer: `params`."""


def convert(*, source: Path, target: Path) -> int:
    """Write the parameters of a `.bin`, `.pt` or `.pth` file as safetensors.

    Returns:
        How many tensors were written.

    Raises:
        FetchError: the file cannot be read, holds more than numbers, or holds no parameters.
    """
    state = _parameters(source=source)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.part")
    # Copies, since safetensors refuses tensors that share memory, as tied parameters do.
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
    strange = sorted(str(name) for name, value in content.items() if not isinstance(value, Tensor))
    if strange:
        raise FetchError(f"{source} holds more than parameters: {', '.join(strange[:5])}")
    return {str(name): value for name, value in content.items()}
