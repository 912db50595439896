"""Folders of trained models: safetensors in half precision, tokenizers, records, and the lock file of digests."""

import json
import math
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
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
from evaluator.sandbox.admission.checkpoint_zip import is_accepted_name
from evaluator.sandbox.admission.rules import INDEX

LOCK = "lock.json"
HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)


SHARD_BYTES = 4_000_000_000
"""Largest file of weights, unless a single tensor is larger."""


def write_weights(
    *, model: nn.Module, folder: Path, dtype: torch.dtype = torch.float16, shard_bytes: int = SHARD_BYTES
) -> None:
    """Write `model.safetensors`, or parts of it with their index, in half precision; loading converts to float32.

    Tied parameters are written once, under the first name. Holds one part in memory besides the model.
    """
    folder.mkdir(parents=True, exist_ok=True)
    state = {}
    written = set[int]()
    for name, value in model.state_dict().items():
        if value.data_ptr() in written:  # tied parameters, which loading ties again
            continue
        written.add(value.data_ptr())
        state[name] = value
    parts: list[list[str]] = [[]]
    size = total = 0
    for name, value in state.items():
        own = value.numel() * (dtype.itemsize if value.is_floating_point() else value.element_size())
        if parts[-1] and size + own > shard_bytes:
            parts.append([])
            size = 0
        parts[-1].append(name)
        size, total = size + own, total + own
    index: dict[str, str] = {}
    for number, names in enumerate(parts, start=1):
        file = "model.safetensors" if len(parts) == 1 else f"model-{number:05}-of-{len(parts):05}.safetensors"
        tensors = {
            name: (state[name].to(dtype) if state[name].is_floating_point() else state[name]).cpu().contiguous().clone()
            for name in names
        }
        save_file(tensors, folder / file, metadata={"format": "pt"})
        index |= dict.fromkeys(names, file)
    if len(parts) > 1:
        content = {"metadata": {"total_size": total}, "weight_map": index}
        (folder / INDEX).write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")


def write_config(*, config: dict[str, object], folder: Path) -> None:
    """Write `config.json`, sorted."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")


def export_transformers(model: nn.Module, folder: Path, *, dtype: torch.dtype = torch.float16) -> None:
    """Write a `transformers` model with its configuration."""
    config: dict[str, object] = model.config.to_dict()  # type: ignore[operator, union-attr]
    # The digest must not depend on the library's version.
    for part in (config, *(value for value in config.values() if isinstance(value, dict))):
        part.pop("transformers_version", None)
    write_config(config={**config, "dtype": "float32", "architectures": [type(model).__name__]}, folder=folder)
    write_weights(model=model, folder=folder, dtype=dtype)


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
_TERMS = ("LICENSE", "LICENCE", "NOTICE", "USE_POLICY")


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseModel:
    """The model that a run starts from."""

    folder: Path
    name: str
    """Its name without folders of this machine."""
    licence: str = ""
    """As its card states it; empty if it states none."""


def base_model(name: str) -> BaseModel:
    """A folder by path, a shipped planner by name, or a model of a hub as `hf:ORG/NAME@REVISION`.

    Raises:
        LookupError: there is no such model.
        ModelError: the hub does not deliver it.
    """
    kind, _, place = name.partition(":")
    repo, _, revision = place.partition("@")
    if kind == "hf":
        if not HUB_NAME.fullmatch(repo) or not revision:
            raise LookupError(f"--model: {name} is not hf:ORG/NAME@REVISION; the revision is a commit, tag or branch")
        from evaluator.planners.language_models.fetching import fetch_model

        fetched = fetch_model(repo=repo, revision=revision)
        return BaseModel(folder=fetched.folder, name=f"hf:{repo}@{fetched.commit}", licence=fetched.licence)
    folder = Path(name)
    if not folder.is_dir():
        try:
            folder = shipped_folder(name)
        except LookupError as error:
            raise LookupError(f"--model: {name} is no folder, not hf:ORG/NAME@REVISION, and {error}") from None
        return BaseModel(folder=folder, name=name, licence=licence_of(folder))
    return BaseModel(folder=folder, name=folder.resolve().name, licence=licence_of(folder))


_LICENCE = re.compile(r"^(?:- Licence|license):[ \t]*([^\n]{1,200})$", re.MULTILINE)
_MOST_CARD_CHARACTERS = 65_536


def licence_of(folder: Path) -> str:
    """The licence that a model's `README.md` or card states; empty if it states none."""
    for name in ("README.md", "card.md"):
        try:
            with (folder / name).open(encoding="utf-8", errors="replace") as file:
                text = file.read(_MOST_CARD_CHARACTERS)
        except OSError:
            continue
        if (match := _LICENCE.search(text)) is not None:
            return match[1].strip()
    return ""


def load_planner(folder: Path, *, device: str = "cpu", precision: str = "float32") -> LocalModel:
    """The model of a folder for training.

    Raises:
        ModelError: there is no model.
    """
    return LocalModel.from_folder(folder, name=folder.name, device=device, precision=precision, rows=ROWS)


def write_planner(*, module: Any, source: Path, folder: Path, record: Mapping[str, JsonValue]) -> None:
    """Write a trained model in half precision, with the tokenizer, the licence of its source folder, and the record of
    its training. The folder, zipped, can be submitted as it is."""
    # Remove the path that the model was loaded from, which would reveal local folders.
    module.config.name_or_path = ""
    folder.mkdir(parents=True, exist_ok=True)
    for stale in (*folder.glob("model*.safetensors"), folder / INDEX):
        stale.unlink(missing_ok=True)
    export_transformers(module, folder, dtype=_stored_dtype(source))
    for path in source.iterdir():
        if path.name.startswith((*_TOKENIZER, *_TERMS)) and is_accepted_name(path.name):
            shutil.copyfile(path, folder / path.name)
    write_record(folder=folder, record=record)


def _stored_dtype(folder: Path) -> torch.dtype:
    """bfloat16 for a model that is stored as bfloat16, whose range float16 lacks; float16 otherwise."""
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, framework="pt") as file:
            if any(file.get_slice(name).get_dtype() == "BF16" for name in file.keys()):  # noqa: SIM118 - not a dict
                return torch.bfloat16
    return torch.float16


def write_record(*, folder: Path, record: Mapping[str, JsonValue]) -> None:
    """Write the record of a model's training."""
    (folder / RECORD).write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")


def checkpoint_of(out: Path) -> Path:
    """The checkpoint of the run that writes a folder."""
    return out.with_name(f"{out.name}.checkpoint.safetensors")
