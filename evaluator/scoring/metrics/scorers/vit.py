"""Similarity of images: ViT score.

Source: OpenAGI, section 3.4 "Evaluation Metrics": "the cosine similarity of their respective embeddings, which are
generated using a Vision Transformer".

The released code differs: it computes the ViT score as the Frobenius norm of the difference of the whole last hidden
states divided by 100, a distance (lower is better) that is averaged as if higher were better. This module follows the
paper. The embedding is the CLS token of the last hidden state, since the pooled output of an encoder without a trained
pooler is random.

Images are encoded in batches of a fixed shape, so that a score depends only on its pair. Embeddings of references are
cached.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
import torch
from PIL import Image as PillowImage
from torch import Tensor
from transformers.models.vit.modeling_vit import ViTModel

from evaluator.core.values import Image, Value
from evaluator.execution.experts.pretrained import load_pretrained
from evaluator.execution.experts.profile import ScorerSpec
from evaluator.scoring.metrics.results.pictures import is_copy
from evaluator.scoring.metrics.scorers.base import Scorer, require_pairs
from evaluator.scoring.metrics.scorers.encoders import EmbeddingCache, for_scoring


class ViTScore:
    """Cosine similarity of the CLS tokens of two images' last hidden states; negative cosines count as 0.

    Images are resized (bilinear) to the encoder's size: float32 of shape (batch, 3, 64, 64) in [-1, 1] for the profile
    `lilliput`; embeddings are (batch, hidden). The score is in [0, 1], and 1 for equal images.
    """

    def __init__(self, *, spec: ScorerSpec, device: str = "cpu") -> None:
        model = load_pretrained(ViTModel, folder=spec.path, device=device, add_pooling_layer=False)
        self._model = for_scoring(model, device=device)
        self._size = int(self._model.config.image_size)
        self._batch_size = spec.batch_size
        self._device = device
        self._cache: EmbeddingCache[Tensor] = EmbeddingCache()

    def score(self, *, outputs: Sequence[Value], references: Sequence[Value]) -> list[float]:
        """See `Scorer.score`."""
        require_pairs(outputs=outputs, references=references)
        pictures, originals = [_image(output) for output in outputs], [_image(reference) for reference in references]
        own, right = [_digest(picture) for picture in pictures], [_digest(original) for original in originals]
        images = dict(zip([*right, *own], [*originals, *pictures], strict=True))
        embeddings = self._cache.all_of(
            digests=images, references=right, compute=lambda new: self._embed([images[digest] for digest in new])
        )
        return [
            float((embeddings[output] * embeddings[reference]).sum().clamp(0, 1))
            for output, reference in zip(own, right, strict=True)
        ]

    def _embed(self, images: Sequence[Image]) -> list[Tensor]:
        """Unit vectors in float64, one for each image."""
        pixels = np.stack([self._pixels(image) for image in images]) if images else np.empty((0,))
        vectors: list[Tensor] = []
        for start in range(0, len(images), self._batch_size):
            chunk = pixels[start : start + self._batch_size]
            filled = np.concatenate([chunk, np.repeat(chunk[:1], self._batch_size - len(chunk), axis=0)])
            values = torch.from_numpy(filled).to(self._device).permute(0, 3, 1, 2).to(self._model.dtype) / 127.5 - 1
            with torch.inference_mode():
                hidden = self._model(pixel_values=values).last_hidden_state
            cls = torch.nn.functional.normalize(hidden[:, 0].double().cpu(), dim=-1)
            vectors += list(cls[: len(chunk)])
        return vectors

    def _pixels(self, image: Image) -> np.ndarray:
        size = (self._size, self._size)
        fitted = image if image.size == size else image.resize(size, PillowImage.Resampling.BILINEAR)
        return np.asarray(fitted, dtype=np.uint8)


class VariationScore:
    """The ViT score of a variation and its original; 0 for a copy."""

    def __init__(self, likeness: Scorer) -> None:
        self._likeness = likeness

    def score(self, *, outputs: Sequence[Value], references: Sequence[Value]) -> list[float]:
        """See `Scorer.score`."""
        likeness = self._likeness.score(outputs=outputs, references=references)
        return [
            0.0 if is_copy(_image(output), _image(reference)) else score
            for score, output, reference in zip(likeness, outputs, references, strict=True)
        ]


def _image(value: Value) -> Image:
    if not isinstance(value, PillowImage.Image):
        raise TypeError(f"the ViT score compares images, not {type(value).__name__}")
    return value.convert("RGB")


def _digest(image: Image) -> str:
    return hashlib.sha256(f"{image.mode} {image.size}".encode() + image.tobytes()).hexdigest()
