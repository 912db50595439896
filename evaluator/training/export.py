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


PAD, END, UNKNOWN = "<pad>", "</s>", "<unk>"


PAD_ID, END_ID, UNKNOWN_ID = 0, 1, 2


LONGEST = 1024
"""Tokens of a prompt; what is longer loses its beginning."""


def fast_tokenizer(tokenizer: Tokenizer) -> PreTrainedTokenizerFast:
    """The tokenizer as `transformers` wraps it."""
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=PAD, eos_token=END, unk_token=UNKNOWN, model_max_length=LONGEST,
        clean_up_tokenization_spaces=False,
    )  # fmt: skip


def write_tokenizer(*, tokenizer: Tokenizer, folder: Path) -> None:
    """Write the files from which `AutoTokenizer` builds the tokenizer again."""
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": PAD,
        "eos_token": END,
        "unk_token": UNKNOWN,
        "model_max_length": LONGEST,
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=1, sort_keys=True) + "\n")


ROWS = 256
"""Conversations that are answered together; prompts and plans of this size take little memory."""
RECORD = "training.json"
_TOKENIZER = ("tokenizer", "special_tokens_map", "spiece", "vocab", "merges", "added_tokens", "chat_template")


def model_folder(name: str) -> Path:
    """A folder by its path, or one of the shipped planners by its name.

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
    """The model of a folder, in float32: it may be trained.

    Raises:
        ModelError: there is none.
    """
    return LocalModel.from_folder(folder, name=folder.name, device=device, precision="float32", rows=ROWS)


def write_planner(*, module: Any, source: Path, folder: Path, record: Mapping[str, JsonValue]) -> None:
    """Write a trained model as float16 with the tokenizer of the folder that it began from, and how it was trained."""
    # Where a model was loaded from is no part of it, and would tell the folders of whoever trained it.
    module.config.name_or_path = ""
    export_transformers(module, folder)
    for path in source.iterdir():
        if path.name.startswith(_TOKENIZER):
            shutil.copyfile(path, folder / path.name)
    write_record(folder=folder, record=record)


def write_record(*, folder: Path, record: Mapping[str, JsonValue]) -> None:
    """Write how a model was trained, for its card and for whoever trains on."""
    (folder / RECORD).write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")


def checkpoint_of(out: Path) -> Path:
    """Where a run that writes a folder keeps its state until then."""
    return out.with_name(f"{out.name}.checkpoint.safetensors")
