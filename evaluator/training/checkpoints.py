"""Folders of planners: loading them for training, and writing what came of it."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evaluator.core.canonical_json import JsonValue
from evaluator.planners.language_models.local.model import LocalModel
from evaluator.planners.language_models.shipped import shipped_folder
from evaluator.training.export import export_transformers

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
