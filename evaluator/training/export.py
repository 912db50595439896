"""Folders of trained models: safetensors in half precision, tokenizers, records, and the lock file of digests."""

import json
import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import nn
from transformers import PreTrainedTokenizerFast

from evaluator.core.canonical_json import JsonValue
from evaluator.execution.experts.weights import weights_digest
from evaluator.planners.language_models.local.model import LocalModel
from evaluator.planners.language_models.shipped import shipped_folder

LOCK = "lock.json"


def write_weights(*, model: nn.Module, folder: Path) -> None:
    """Write `model.safetensors` in float16; loading converts to float32.

    Tied parameters are written once, under the first name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    state, written = {}, set[int]()
    for name, value in model.state_dict().items():
        if value.data_ptr() in written:  # tied parameters, which loading ties again
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
    # The digest must not depend on the library's version.
    for part in (config, *(value for value in config.values() if isinstance(value, dict))):
        part.pop("transformers_version", None)
    write_config(config={**config, "dtype": "float32", "architectures": [type(model).__name__]}, folder=folder)
    write_weights(model=model, folder=folder)


def update_lock(*, weights: Path, model: str) -> str:
    """Record the digest of a model's folder in the lock file, and return it."""
    path = weights / LOCK
    digests = json.loads(path.read_text()) if path.exists() else {}
    digests[model] = weights_digest(weights / model)
    path.write_text(json.dumps(digests, indent=1, sort_keys=True) + "\n")
    return str(digests[model])


def parameters_of(folder: Path) -> int:
    """Number of parameters of a model."""
    with safe_open(folder / "model.safetensors", framework="pt") as file:
        return sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118 - not a dict


PAD, END, UNKNOWN = "<pad>", "</s>", "<unk>"
PAD_ID, END_ID, UNKNOWN_ID = 0, 1, 2
LONGEST = 1024
"""Maximum tokens of a prompt; longer ones lose their beginning."""


def fast_tokenizer(tokenizer: Tokenizer) -> PreTrainedTokenizerFast:
    """The tokenizer for `transformers`."""
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=PAD, eos_token=END, unk_token=UNKNOWN, model_max_length=LONGEST,
        clean_up_tokenization_spaces=False,
    )  # fmt: skip


def write_tokenizer(*, tokenizer: Tokenizer, folder: Path) -> None:
    """Write the files that `AutoTokenizer` loads."""
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast", "pad_token": PAD, "eos_token": END, "unk_token": UNKNOWN,
        "model_max_length": LONGEST, "clean_up_tokenization_spaces": False,
    }  # fmt: skip
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=1, sort_keys=True) + "\n")


ROWS = 256
"""Number of conversations per batch; prompts and plans of this size need little memory."""
RECORD = "training.json"
_TOKENIZER = ("tokenizer", "special_tokens_map", "spiece", "vocab", "merges", "added_tokens", "chat_template")


def model_folder(name: str) -> Path:
    """A folder by path, or a shipped planner by name.

    Raises:
        LookupError: there is neither.
    """
    if Path(name).is_dir():
        return Path(name)
    try:
        return shipped_folder(name)
    except LookupError as error:
        raise LookupError(f"--model: {name} is no folder, and {error}") from None


def load_planner(folder: Path, *, device: str = "cpu") -> LocalModel:
    """The model of a folder, in float32 for training.

    Raises:
        ModelError: there is no model.
    """
    return LocalModel.from_folder(folder, name=folder.name, device=device, precision="float32", rows=ROWS)


def write_planner(*, module: Any, source: Path, folder: Path, record: Mapping[str, JsonValue]) -> None:
    """Write a trained model as float16, with the tokenizer of its source folder and the record of its training."""
    # Remove the path that the model was loaded from, which would reveal local folders.
    module.config.name_or_path = ""
    export_transformers(module, folder)
    for path in source.iterdir():
        if path.name.startswith(_TOKENIZER):
            shutil.copyfile(path, folder / path.name)
    write_record(folder=folder, record=record)


def write_record(*, folder: Path, record: Mapping[str, JsonValue]) -> None:
    """Write the record of a model's training."""
    (folder / RECORD).write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")


def checkpoint_of(out: Path) -> Path:
    """The checkpoint of the run that writes a folder."""
    return out.with_name(f"{out.name}.checkpoint.safetensors")
