"""Agreement of a picture with a text: CLIP score.

Source: OpenAGI, section 3.4, after Hessel et al., "CLIPScore" (EMNLP 2021), computed by `torchmetrics` as
max(100 cos(image, text), 0) and divided by 100 as in the released code.

The released code differs: it compares with the text that the plan was *given*, so that the masked word of a task does
not count, and it resizes pictures to 256x256 before CLIP's own processor resizes them again. Here the reference is the
whole text, and only the checkpoint's processor resizes the picture.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from PIL import Image as PillowImage
from torch import Tensor, nn
from torchmetrics.multimodal import CLIPScore as TorchmetricsCLIPScore
from transformers import AutoTokenizer, CLIPImageProcessorPil, CLIPModel

from evaluator.core.values import Image, Value, encode
from evaluator.execution.experts.pretrained import load_pretrained
from evaluator.execution.experts.profile import ScorerSpec
from evaluator.scoring.metrics.scorers.base import require_pairs
from evaluator.scoring.metrics.scorers.encoders import EmbeddingCache, for_scoring


class _Model(nn.Module):
    """Adapter of CLIP for `torchmetrics` 1.9, which needs tensors; `transformers` 5 wraps features in output objects.

    Features of texts, which are references, are cached.
    """

    def __init__(self, clip: CLIPModel) -> None:
        super().__init__()
        self.clip = clip
        self.config = clip.config
        self._cache: EmbeddingCache[Tensor] = EmbeddingCache()

    def get_image_features(self, pixel_values: Tensor) -> Tensor:
        """(1, 3, height, width) to (1, projection)."""
        features: Tensor = self.clip.get_image_features(pixel_values=pixel_values.to(self.clip.dtype)).pooler_output
        return features

    def get_text_features(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Token ids (1, tokens) to (1, projection)."""
        digest = encode(" ".join(map(str, input_ids[0].tolist()))).digest

        def compute(_: list[str]) -> list[Tensor]:
            return [self.clip.get_text_features(input_ids=input_ids, attention_mask=attention_mask).pooler_output]

        return self._cache.all_of(digests=[digest], references=[digest], compute=compute)[digest]


class _Processor:
    """The checkpoint's processor without `torchvision`.

    It truncates long texts but keeps the end token, whose embedding CLIP uses. `torchmetrics` would cut that off.
    """

    def __init__(self, *, spec: ScorerSpec, longest: int) -> None:
        self._images = CLIPImageProcessorPil.from_pretrained(spec.path, local_files_only=True)
        self._words = AutoTokenizer.from_pretrained(spec.path, local_files_only=True, trust_remote_code=False)
        self._longest = longest

    def __call__(
        self,
        *,
        images: Sequence[Tensor] | None = None,
        text: Sequence[str] | None = None,
        return_tensors: str,
        padding: bool,
    ) -> Mapping[str, Tensor]:
        if images is not None:
            pictures = [PillowImage.fromarray(image.permute(1, 2, 0).numpy()) for image in images]
            processed: Mapping[str, Tensor] = self._images(pictures, return_tensors=return_tensors)
            return processed
        words: Mapping[str, Tensor] = self._words(
            list(text or ()),
            return_tensors=return_tensors,
            padding=padding,
            truncation=True,
            max_length=self._longest,
        )
        return words


class CLIPScore:
    """Cosine of the CLIP embeddings of an image and of a text, in [0, 1]: negative cosines count as 0.

    The checkpoint's processor resizes images: float32 of shape (1, 3, 64, 64) for the profile `lilliput`. Texts are
    truncated to the positions of the text tower. Pairs are computed one by one, so that a score depends only on its
    pair.
    """

    def __init__(self, *, spec: ScorerSpec, device: str = "cpu") -> None:
        model = _Model(for_scoring(load_pretrained(CLIPModel, folder=spec.path, device=device), device=device))
        processor = _Processor(spec=spec, longest=int(model.config.text_config.max_position_embeddings))
        loaded: Any = (model, processor)
        self._metric = TorchmetricsCLIPScore(model_name_or_path=lambda: loaded).to(device)
        self._device = device

    def score(self, *, outputs: Sequence[Value], references: Sequence[Value]) -> list[float]:
        """See `Scorer.score`; outputs are images, references texts."""
        require_pairs(outputs=outputs, references=references)
        pairs = [(_image(output), _text(reference)) for output, reference in zip(outputs, references, strict=True)]
        return [self._of_pair(image=image, text=text) for image, text in pairs]

    def _of_pair(self, *, image: Image, text: str) -> float:
        pixels = torch.from_numpy(np.array(image)).permute(2, 0, 1)
        with torch.inference_mode():
            self._metric.reset()
            self._metric.update([pixels.to(self._device)], [text])
            # Rounding can raise the cosine of equal directions slightly above 1.
            return min(float(self._metric.compute()) / 100, 1.0)


def _image(value: Value) -> Image:
    if not isinstance(value, PillowImage.Image):
        raise TypeError("the CLIP score compares an image with a text; the output is no image")
    return value.convert("RGB")


def _text(value: Value) -> str:
    if not isinstance(value, str):
        raise TypeError("the CLIP score compares an image with a text; the reference is no text")
    return value
