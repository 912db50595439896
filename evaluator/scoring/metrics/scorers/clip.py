"""Agreement of a picture with a text: CLIP score.

Source: OpenAGI, section 3.4, after Hessel et al., "CLIPScore" (EMNLP 2021), computed as by
`torchmetrics`, max(100 cos(image, text), 0), and divided by 100 as in the released code.

The released code differs: it compares with the text that the plan was *given*, so that the masked word of a task does
not count, and it resizes pictures to 256x256 before CLIP's own processor resizes them again. Here the reference is the
whole text, and only the checkpoint's processor resizes the picture.
"""

from collections.abc import Sequence
from typing import Any

import torch
from PIL import Image as PillowImage
from torch import Tensor
from transformers import AutoTokenizer, CLIPImageProcessorPil, CLIPModel

from evaluator.core.values import Image, Value, encode
from evaluator.execution.experts.inputs import in_batches, in_buckets, padded_length
from evaluator.execution.experts.pretrained import load_pretrained
from evaluator.execution.experts.profile import ScorerSpec
from evaluator.scoring.metrics.scorers.base import require_pairs
from evaluator.scoring.metrics.scorers.encoders import EmbeddingCache, for_scoring


class CLIPScore:
    """Cosine of the CLIP embeddings of an image and of a text, in [0, 1]: negative cosines count as 0.

    The checkpoint's processor resizes images: float32 of shape (1, 3, 64, 64) for the profile `lilliput`. Texts are
    truncated to the positions of the text tower and keep the end token, whose embedding CLIP uses. Images and texts are
    encoded in batches of fixed shapes, so that a score depends only on its pair. Embeddings of texts, which are
    references, are cached.
    """

    def __init__(self, *, spec: ScorerSpec, device: str = "cpu") -> None:
        self._clip: Any = for_scoring(load_pretrained(CLIPModel, folder=spec.path, device=device), device=device)
        self._images = CLIPImageProcessorPil.from_pretrained(spec.path, local_files_only=True)
        self._words = AutoTokenizer.from_pretrained(spec.path, local_files_only=True, trust_remote_code=False)
        self._longest = int(self._clip.config.text_config.max_position_embeddings)
        self._batch_size = spec.batch_size
        self._device = device
        self._cache: EmbeddingCache[Tensor] = EmbeddingCache()

    def score(self, *, outputs: Sequence[Value], references: Sequence[Value]) -> list[float]:
        """See `Scorer.score`; outputs are images, references texts."""
        require_pairs(outputs=outputs, references=references)
        pairs = [(_image(output), _text(reference)) for output, reference in zip(outputs, references, strict=True)]
        digests = [encode(text).digest for _, text in pairs]
        texts = dict(zip(digests, (text for _, text in pairs), strict=True))
        embeddings = self._cache.all_of(
            digests=digests, references=digests, compute=lambda new: self._of_texts([texts[digest] for digest in new])
        )
        pictures = in_batches([image for image, _ in pairs], size=self._batch_size, run=self._of_images)
        # As `torchmetrics` adds it up. Rounding can raise the cosine of equal directions slightly above 1.
        cosines = [
            float((100 * (picture * embeddings[digest]).sum()).float()) / 100
            for picture, digest in zip(pictures, digests, strict=True)
        ]
        return [min(max(cosine, 0.0), 1.0) for cosine in cosines]

    def _of_images(self, images: Sequence[Image]) -> list[Tensor]:
        """Unit vectors, one for each image of a full batch."""
        # The copies that fill a batch are one object.
        pixels = {id(image): self._images([image], return_tensors="pt")["pixel_values"] for image in images}
        values = torch.cat([pixels[id(image)] for image in images]).to(self._device)
        with torch.inference_mode():
            return _directions(self._clip.get_image_features(pixel_values=values.to(self._clip.dtype)).pooler_output)

    def _of_texts(self, texts: Sequence[str]) -> list[Tensor]:
        rows = self._words(list(texts), truncation=True, max_length=self._longest)["input_ids"] if texts else []
        lengths = [padded_length(len(row), least=_LEAST, most=self._longest) for row in rows]
        return in_buckets(list(texts), lengths=lengths, size=self._batch_size, run=self._of_batch)

    def _of_batch(self, texts: Sequence[str], length: int) -> list[Tensor]:
        """Unit vectors, one for each text of a full batch, padded to `length` tokens."""
        settings = {"padding": "max_length", "truncation": True, "max_length": length, "return_tensors": "pt"}
        words = self._words(list(texts), **settings).to(self._device)
        with torch.inference_mode():
            features = self._clip.get_text_features(
                input_ids=words["input_ids"], attention_mask=words["attention_mask"]
            )
            return _directions(features.pooler_output)


_LEAST = 16
"""Least padded length of a text, in tokens."""


def _directions(features: Tensor) -> list[Tensor]:
    """The rows of (batch, projection) as unit vectors on the host."""
    return list((features / features.norm(p=2, dim=-1, keepdim=True)).cpu())


def _image(value: Value) -> Image:
    if not isinstance(value, PillowImage.Image):
        raise TypeError("the CLIP score compares an image with a text; the output is no image")
    return value.convert("RGB")


def _text(value: Value) -> str:
    if not isinstance(value, str):
        raise TypeError("the CLIP score compares an image with a text; the reference is no text")
    return value
