"""Similarity of sentence embeddings, and the hub's checkpoints for them."""

import re
from collections.abc import Sequence
from pathlib import Path

from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError

from evaluator.core.planner import OfferedTool
from evaluator.execution.experts.sentence_encoder import EmbeddingError, SentenceEncoder
from evaluator.network.hub_client import download_limits, hub_limits
from evaluator.openagi.strategies.similarity import calibrated_threshold

_HUB_NAME = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)@(?P<revision>[\w./-]+)")
_NEEDED = ("*.json", "*.txt", "*.model", "model.safetensors", "*_Pooling/config.json")
_MOST_BYTES = 8 * 10**9
"""Maximum size of a download."""


class EmbeddingSimilarity:
    """Cosine similarity of the embeddings of a line and of a tool's name (OpenAGI, section 6.2), in [-1, 1]."""

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
        self._encoder = SentenceEncoder(folder=folder, device=device)
        self.name = f"embedding {source or folder.name} (weights {self._encoder.digest[:12]})"
        self.threshold = calibrated_threshold(self) if threshold is None else threshold

    def compare(self, *, lines: Sequence[str], tools: Sequence[OfferedTool]) -> list[list[float]]:
        return [[self._encoder.similarity(line, tool.name) for tool in tools] for line in lines]


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
