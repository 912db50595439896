"""Similarity of sentence embeddings: checkpoints of sentence-transformers, run with plain transformers.

A checkpoint lists its modules in `modules.json`, and configures each in its folder. Supported are a transformer,
pooling by the mean over tokens or by the first token, and normalisation, which cover most checkpoints. Others raise an
error, because ignoring modules would silently change the embeddings.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError
from torch import Tensor
from transformers import AutoModel, AutoTokenizer

from evaluator.core.planner import OfferedTool
from evaluator.execution.experts.pretrained import load_pretrained
from evaluator.execution.experts.weights import WeightsError, weights_digest
from evaluator.network.hub_client import download_limits, hub_limits
from evaluator.openagi.strategies.similarity import calibrated_threshold

_HUB_NAME = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)@(?P<revision>[\w./-]+)")
_NEEDED = ("*.json", "*.txt", "*.model", "model.safetensors", "*_Pooling/config.json")
_MOST_BYTES = 8 * 10**9
"""Maximum size of a download."""
_LONGEST = 512
"""Default maximum number of tokens of a line or name."""
_CACHED = 4096
_MEAN, _FIRST = "mean", "cls"
_MODES = {"pooling_mode_mean_tokens": _MEAN, "pooling_mode_cls_token": _FIRST}


class EmbeddingError(Exception):
    """An embedding model is unavailable or unsupported. The message names it and the requirement."""


class EmbeddingSimilarity:
    """Cosine similarity of the embeddings of a line and of a tool's name (OpenAGI, section 6.2), in [-1, 1].

    Texts are embedded separately, so results do not depend on the batch.
    """

    def __init__(
        self, *, folder: Path, source: str | None = None, threshold: float | None = None, device: str = "cpu"
    ) -> None:
        """Args:
        folder: the checkpoint, with its weights as safetensors.
        source: name of the checkpoint in results; default: the folder's name.
        threshold: minimum similarity for mapping a line to a tool; default: see `calibrated_threshold`.
        device: torch device.

        Raises:
            EmbeddingError: the checkpoint is missing, incomplete or of an unsupported kind.
        """
        self._device = device
        settings = _settings(folder)
        self._pooling = _pooling(folder)
        self._lower = bool(settings.get("do_lower_case", False))
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
            self._model = load_pretrained(AutoModel, folder=folder, device=device)
            digest = weights_digest(folder)
        except (WeightsError, OSError, ValueError) as error:
            raise EmbeddingError(f"the embedding model in {folder} cannot be loaded: {error}") from None
        self._longest = min(int(settings.get("max_seq_length") or _LONGEST), self._tokenizer.model_max_length)
        self.name = f"embedding {source or folder.name} (weights {digest[:12]})"
        self._embedding = lru_cache(maxsize=_CACHED)(self._embed)
        self.threshold = calibrated_threshold(self) if threshold is None else threshold

    def compare(self, *, lines: Sequence[str], tools: Sequence[OfferedTool]) -> list[list[float]]:
        names = [self._embedding(tool.name) for tool in tools]
        return [[float(self._embedding(line) @ name) for name in names] for line in lines]

    def _embed(self, text: str) -> Tensor:
        """The embedding of a text, of shape (hidden size,) and length 1."""
        encoded = self._tokenizer(
            text.lower() if self._lower else text, truncation=True, max_length=self._longest, return_tensors="pt"
        ).to(self._device)
        with torch.inference_mode():
            states: Tensor = self._model(**encoded).last_hidden_state[0]
        pooled = states.mean(dim=0) if self._pooling == _MEAN else states[0]
        return torch.nn.functional.normalize(pooled.float(), dim=0).cpu()


def checkpoint_folder(model: str, *, cache: Path | None = None, endpoint: str | None = None) -> tuple[Path, str | None]:
    """The folder of an embedding model, downloaded if it is on the hub, and its name on the hub.

    Args:
        model: a folder, or `ORG/NAME@REVISION`.
        cache: folder of downloads; default: that of the hub's client.
        endpoint: the hub's address; default: that of the hub's client.

    Raises:
        EmbeddingError: invalid name, or the download failed.
    """
    if Path(model).is_dir():
        return Path(model), None
    name = _HUB_NAME.fullmatch(model)
    if name is None:
        raise EmbeddingError(f"{model!r} is neither a folder nor ORG/NAME@REVISION")
    limit, seconds = download_limits(_MOST_BYTES)
    try:
        with hub_limits(most_bytes=limit, seconds=seconds, endpoint=endpoint):
            folder = snapshot_download(
                name["repo"], revision=name["revision"], allow_patterns=list(_NEEDED), cache_dir=cache,
                endpoint=endpoint,
            )  # fmt: skip
    except (HfHubHTTPError, OSError, RuntimeError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise EmbeddingError(f"the hub does not give the embedding model {model}: {reason}") from None
    return Path(folder), model


def _settings(folder: Path) -> Mapping[str, Any]:
    """The checkpoint's settings of the tokenizer.

    Raises:
        EmbeddingError: the checkpoint prepends a prompt to texts, which is not supported.
    """
    prompts = _json(folder / "config_sentence_transformers.json", default={})
    if prompts.get("default_prompt_name"):
        raise EmbeddingError(f"the embedding model in {folder} puts a prompt before texts, which is not supported")
    settings: Mapping[str, Any] = _json(folder / "sentence_bert_config.json", default={})
    return settings


def _pooling(folder: Path) -> str:
    """The kind of pooling, `mean` or `cls`; `mean` without `modules.json`.

    Raises:
        EmbeddingError: the checkpoint has unsupported modules.
    """
    modules = _json(folder / "modules.json", default=None)
    if modules is None:
        return _MEAN
    kinds = [str(module["type"]).rpartition(".")[2] for module in modules]
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]) or modules[0]["path"]:
        raise EmbeddingError(
            f"the embedding model in {folder} consists of {', '.join(kinds)}; supported is a Transformer at the top of "
            "the folder, then Pooling, then perhaps Normalize"
        )
    config = _json(folder / modules[1]["path"] / "config.json", default={})
    chosen = {name for name, value in config.items() if name.startswith("pooling_mode_") and value}
    mode = config.get("pooling_mode") or (_MODES.get(chosen.pop()) if len(chosen) == 1 else None)
    if mode not in (_MEAN, _FIRST):
        raise EmbeddingError(f"the embedding model in {folder} pools otherwise than by the mean or the first token")
    return str(mode)


def _json(path: Path, *, default: Any) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return default
    except (OSError, ValueError) as error:
        raise EmbeddingError(f"{path} cannot be read: {error}") from None
