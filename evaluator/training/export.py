"""Writing trained weights: safetensors in half precision, and the lock file with their digests."""

import json
import math
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import nn

from evaluator.execution.experts.weights import weights_digest

LOCK = "lock.json"


def write_weights(*, model: nn.Module, folder: Path) -> None:
    """Write `model.safetensors`. Numbers are stored as float16 and computed with as float32 again.

    Tied parameters are written once, under the name that comes first.
    """
    folder.mkdir(parents=True, exist_ok=True)
    state, written = {}, set[int]()
    for name, value in model.state_dict().items():
        if value.data_ptr() in written:  # tied to one that is there already; loading ties them again
            continue
        written.add(value.data_ptr())
        state[name] = (value.to(torch.float16) if value.is_floating_point() else value).contiguous().clone()
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})


def write_config(*, config: dict[str, object], folder: Path) -> None:
    """Write `config.json`, sorted."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")


def export_transformers(model: nn.Module, folder: Path) -> None:
    """Write a `transformers` model with its configuration."""
    config: dict[str, object] = model.config.to_dict()  # type: ignore[operator, union-attr]
    # The library's version is no part of the model: the digest must not change with it.
    for part in (config, *(value for value in config.values() if isinstance(value, dict))):
        part.pop("transformers_version", None)
    write_config(config={**config, "dtype": "float32", "architectures": [type(model).__name__]}, folder=folder)
    write_weights(model=model, folder=folder)


def update_lock(*, weights: Path, model: str) -> str:
    """Record the digest of one model's folder in the lock file beside it, and return it."""
    path = weights / LOCK
    digests = json.loads(path.read_text()) if path.exists() else {}
    digests[model] = weights_digest(weights / model)
    path.write_text(json.dumps(digests, indent=1, sort_keys=True) + "\n")
    return str(digests[model])


def parameters_of(folder: Path) -> int:
    """How many numbers the model of a folder has."""
    with safe_open(folder / "model.safetensors", framework="pt") as file:
        return sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118 - not a dict
