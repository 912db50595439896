"""Training of visual_grounding: a small OWL-ViT, initialised from the two towers of the CLIP score."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import CLIPTokenizer, OwlViTConfig, OwlViTForObjectDetection, OwlViTTextConfig, OwlViTVisionConfig

from evaluator.miniature.scenes import SIZE
from evaluator.miniature.tableaux.records import TABLEAU_LABELS
from evaluator.miniature.vocabulary import Colour, Shape
from evaluator.studies.experts import contrastive
from evaluator.studies.experts.data.bank import normalised
from evaluator.studies.experts.scene_encoder import PATCH, read_weights, vision_config
from evaluator.studies.experts.tableaux.data import draw_batch
from evaluator.studies.experts.tableaux.detection import name_loss, patch_targets
from evaluator.training.export import export_transformers

NAME = "visual-grounding"
LENGTH = 16
"""Most tokens of a query, begin and end included."""
_ARTICLES = ("", "the ", "a ")
_SCALE, _SHIFT = 10.0, -0.5
"""Initial scale of the cosines, and the shift added before it."""
_NAMED = 1.0
_FRAMED = 5.0

QUERIES: tuple[str, ...] = (
    *TABLEAU_LABELS,
    *(f"{colour} thing" for colour in Colour),
    *(str(shape) for shape in Shape),
    "figure",
)
"""All queries, without articles. A thing of a colour may be a figure."""
_ROTATION = 2
"""By how many ids the vocabulary is rotated: begin and end, the first two tokens of the CLIP score, become the last."""


@cache
def tokenizer() -> CLIPTokenizer:
    """The vocabulary of the CLIP score, numbered for OWL-ViT.

    OWL-ViT expects the end token to have the highest id, and takes an id of 0 at the start for an empty query.
    """
    words = contrastive.tokenizer()
    merges = json.loads(words.backend_tokenizer.to_str())["model"]["merges"]
    count = len(words)
    vocabulary = {piece: (index - _ROTATION) % count for piece, index in words.get_vocab().items()}
    first = min(vocabulary, key=lambda piece: vocabulary[piece])
    ordered = dict(sorted(vocabulary.items(), key=lambda pair: pair[1]))
    return CLIPTokenizer(
        vocab=ordered, merges=[tuple(pair) for pair in merges], model_max_length=LENGTH, pad_token=first
    )


def build() -> nn.Module:
    """An OWL-ViT with the sizes of the CLIP score."""
    words, vision, text = tokenizer(), vision_config(), contrastive.text_config()
    text_tower = OwlViTTextConfig(
        vocab_size=len(words),
        hidden_size=text.hidden_size,
        intermediate_size=text.intermediate_size,
        num_hidden_layers=text.num_hidden_layers,
        num_attention_heads=text.num_attention_heads,
        max_position_embeddings=LENGTH,
        bos_token_id=words.bos_token_id,
        eos_token_id=words.eos_token_id,
        pad_token_id=words.pad_token_id,
    )
    image_tower = OwlViTVisionConfig(
        hidden_size=vision.hidden_size,
        intermediate_size=vision.intermediate_size,
        num_hidden_layers=vision.num_hidden_layers,
        num_attention_heads=vision.num_attention_heads,
        image_size=SIZE,
        patch_size=vision.patch_size,
        hidden_act="gelu",
    )
    model = OwlViTForObjectDetection(
        OwlViTConfig(
            text_config=text_tower.to_dict(), vision_config=image_tower.to_dict(), projection_dim=contrastive.WIDTH
        )
    )
    # The released initialisation saturates: start with boxes around their patches, and with cosines.
    boxes, classes = model.box_head, model.class_head
    for layer in (boxes.dense0, boxes.dense1, classes.dense0):
        nn.init.xavier_uniform_(layer.weight)
        nn.init.zeros_(layer.bias)
    for layer, value in ((boxes.dense2, 0.0), (classes.logit_scale, _SCALE), (classes.logit_shift, _SHIFT)):
        nn.init.zeros_(layer.weight)
        nn.init.constant_(layer.bias, value)
    module: nn.Module = model
    return module


@torch.no_grad()
def begin(model: nn.Module, folders: Mapping[str, Path]) -> None:
    """Start from the shipped CLIP score."""
    stored = read_weights(folders["weights"] / contrastive.NAME / "model.safetensors")
    state = {name.replace("pre_layrnorm", "pre_layernorm"): value for name, value in stored.items()}
    words, places = "text_model.embeddings.token_embedding.weight", "text_model.embeddings.position_embedding.weight"
    state[words] = state[words].roll(-_ROTATION, dims=0)
    state[places] = state[places][:LENGTH]
    model.get_submodule("owlvit").load_state_dict(state)


def export(model: nn.Module, folder: Path) -> None:
    """Write OWL-ViT with its tokenizer."""
    export_transformers(model, folder)
    tokenizer().save_pretrained(folder)


@cache
def _matches() -> Tensor:
    """Which queries name which label, bool of shape (labels and the background, queries)."""
    rows = []
    for label in TABLEAU_LABELS:
        colour, shape = label.split()
        rows.append([query in {label, shape, f"{colour} thing"} for query in QUERIES])
    return torch.tensor([*rows, [False] * len(QUERIES)])


@dataclass(frozen=True, slots=True)
class GroundingObjective:
    """For each patch, which queries name the part that it shows, and the box of that part."""

    batch: int = 32

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        batch = draw_batch(rng=rng, size=self.batch)
        features = model.image_embedder(pixel_values=normalised(batch.pixels))[0].flatten(1, 2)  # type: ignore[operator]
        queries = [_ARTICLES[rng.integers(len(_ARTICLES))] + query for query in QUERIES]
        texts = embedded(model=model, texts=queries).expand(self.batch, -1, -1)
        logits, _ = model.class_predictor(features, texts)  # type: ignore[operator]
        labels, boxes = patch_targets(batch=batch, patch=PATCH)
        matches = _matches()[labels].float()
        probability = logits.detach().sigmoid()
        weight = torch.where(matches > 0, torch.ones_like(logits), 0.75 * probability.square())
        on_part = labels >= 0
        cross = F.binary_cross_entropy_with_logits(logits, matches, weight=weight, reduction="sum")
        names = name_loss(logits=logits[on_part][:, : len(TABLEAU_LABELS)], labels=labels[on_part])
        predicted = model.box_predictor(features, features.unflatten(1, (SIZE // PATCH, SIZE // PATCH)))  # type: ignore[operator]
        return cross / on_part.sum() + _NAMED * names + _box_loss(predicted[on_part], boxes[on_part])


def embedded(*, model: Any, texts: list[str]) -> Tensor:
    """Queries as vectors of length 1, shape (1, queries, 96)."""
    encoded = tokenizer()(texts, padding="max_length", truncation=True, max_length=LENGTH, return_tensors="pt")
    pooled = model.owlvit.text_model(**encoded).pooler_output
    return F.normalize(model.owlvit.text_projection(pooled), dim=-1)[None]


def _box_loss(predicted: Tensor, target: Tensor) -> Tensor:
    """L1 and one minus the generalised IoU of boxes as centre, width and height in shares; shapes (patches, 4)."""
    first, second = (torch.cat([b[:, :2] - b[:, 2:] / 2, b[:, :2] + b[:, 2:] / 2], dim=1) for b in (predicted, target))
    common = (torch.minimum(first[:, 2:], second[:, 2:]) - torch.maximum(first[:, :2], second[:, :2])).clamp(min=0)
    around = torch.maximum(first[:, 2:], second[:, 2:]) - torch.minimum(first[:, :2], second[:, :2])
    both, hull = common.prod(dim=1), around.prod(dim=1).clamp(min=1e-6)
    either = (predicted[:, 2:].prod(dim=1) + target[:, 2:].prod(dim=1) - both).clamp(min=1e-6)
    overlap = both / either - (hull - either) / hull
    return _FRAMED * (predicted - target).abs().sum(dim=1).mean() + 2 * (1 - overlap).mean()
