"""Embeddings of sentences: checkpoints of sentence-transformers, run with plain transformers.

A checkpoint lists its modules in `modules.json`, and configures each in its folder. Supported are a transformer,
pooling by the mean over tokens or by the first token, and normalisation, which cover most checkpoints. Others raise an
error, because ignoring modules would silently change the embeddings. Imports torch only to load a checkpoint.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluator.execution.experts.weights import WeightsError, known_digest, weights_digest

if TYPE_CHECKING:
    from torch import Tensor

_LONGEST = 512
"""Default maximum number of tokens of a text."""
_CACHED = 4096
_MEAN, _FIRST = "mean", "cls"
_MODES = {"pooling_mode_mean_tokens": _MEAN, "pooling_mode_cls_token": _FIRST}


class EmbeddingError(Exception):
    """An embedding model is unavailable or unsupported. The message names it and the requirement."""


class SentenceEncoder:
    """Embeds each text separately, so results do not depend on a batch. Keeps the latest embeddings."""

    def __init__(self, *, folder: Path, device: str = "cpu") -> None:
        """Args:
        folder: the checkpoint, with its weights as safetensors.
        device: torch device.

        Raises:
            EmbeddingError: the checkpoint is missing, incomplete or of an unsupported kind.
        """
        from safetensors import SafetensorError
        from transformers import AutoModel, AutoTokenizer

        from evaluator.execution.experts.pretrained import load_pretrained

        self._device = device
        settings = _settings(folder)
        self._pooling = _pooling(folder)
        self._lower = bool(settings.get("do_lower_case", False))
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
            self._model = load_pretrained(AutoModel, folder=folder, device=device)
            self.digest = weights_digest(folder, digest_of=known_digest)
        except (WeightsError, SafetensorError, OSError, ValueError) as error:
            raise EmbeddingError(f"the embedding model in {folder} cannot be loaded: {error}") from None
        self._longest = min(int(settings.get("max_seq_length") or _LONGEST), self._tokenizer.model_max_length)
        self._embedding = lru_cache(maxsize=_CACHED)(self._embed)

    def similarity(self, first: str, second: str) -> float:
        """Cosine similarity of the embeddings of two texts, in [-1, 1]."""
        return float(self._embedding(first) @ self._embedding(second))

    def _embed(self, text: str) -> "Tensor":
        """The embedding of a text, of shape (hidden size,) and length 1."""
        import torch

        encoded = self._tokenizer(
            text.lower() if self._lower else text, truncation=True, max_length=self._longest, return_tensors="pt"
        ).to(self._device)
        with torch.inference_mode():
            states: Tensor = self._model(**encoded).last_hidden_state[0]
        pooled = states.mean(dim=0) if self._pooling == _MEAN else states[0]
        return torch.nn.functional.normalize(pooled.float(), dim=0).cpu()


def checkpoint_digest(folder: Path) -> str:
    """SHA-256 of the weights and settings of a supported checkpoint. Loads nothing.

    Raises:
        EmbeddingError: as `SentenceEncoder` does, except for damaged weights.
    """
    _settings(folder)
    _pooling(folder)
    try:
        return weights_digest(folder, digest_of=known_digest)
    except (WeightsError, OSError) as error:
        raise EmbeddingError(f"the embedding model in {folder} cannot be loaded: {error}") from None


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
