"""Training of the CLIP score: a small CLIP that matches captions and pictures.

Its text tower also initialises the text encoder of Text to Image Generation, as in Stable Diffusion.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from torch import Tensor, nn
from transformers import CLIPConfig, CLIPImageProcessorPil, CLIPModel, CLIPTextConfig, CLIPTokenizer, CLIPVisionConfig

from evaluator.miniature.grammar.captions import caption
from evaluator.miniature.scenes import SIZE, draw_scene
from evaluator.miniature.seeds import Split
from evaluator.studies.experts.data.bank import Bank, normalised, rows_of
from evaluator.studies.experts.scene_encoder import PatchHeads, batch_of_patch_labels, trained_encoder, vision_config
from evaluator.training.export import export_transformers

NAME = "clip-score"
LENGTH = 24
"""Most tokens of a caption, begin and end included."""
WIDTH = 96
_BEGIN, _END = "<|startoftext|>", "<|endoftext|>"
_VOCABULARY_SCENES = 3000
_SHARPEST = 20.0
"""Highest scale of the cosines before the softmax. At CLIP's 100 a correct pair need only be slightly closer than a
wrong one; at a lower scale correct pairs approach a cosine of 1 and wrong ones 0."""
_PATCHES = 0.3
"""Weight of the auxiliary loss of the patches."""


@cache
def tokenizer() -> CLIPTokenizer:
    """CLIP's byte-level BPE: each word of the captions is one token, and any other text can be spelled."""
    trained = Tokenizer(models.BPE(end_of_word_suffix="</w>"))
    trained.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.ByteLevel(False)])
    trainer = trainers.BpeTrainer(min_frequency=1, end_of_word_suffix="</w>", show_progress=False)
    texts = (caption(draw_scene(split=Split.TRAIN, index=index)).english for index in range(_VOCABULARY_SCENES))
    trained.train_from_iterator((text.lower() for text in texts), trainer)
    merges = [tuple(pair) for pair in json.loads(trained.to_str())["model"]["merges"]]
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = [_BEGIN, _END, *letters, *(f"{letter}</w>" for letter in letters), *("".join(pair) for pair in merges)]
    ids = {piece: index for index, piece in enumerate(dict.fromkeys(pieces))}
    return CLIPTokenizer(vocab=ids, merges=merges, model_max_length=LENGTH)


def batch_of_captions(*, bank: Bank, indices: np.ndarray) -> Tensor:
    """The captions of some scenes as token ids, (batch, 24)."""
    return torch.from_numpy(rows_of(_caption_row, split=bank.split, count=len(bank)).take(indices))


def _caption_row(*, split: Split, index: int) -> np.ndarray:
    return np.asarray(tokens_of(caption(draw_scene(split=split, index=index)).english))


def tokens_of(text: str) -> Tensor:
    """A text as token ids, truncated or padded to 24."""
    encoded = tokenizer()(text, padding="max_length", truncation=True, max_length=LENGTH)
    return torch.tensor(encoded["input_ids"])


def text_config() -> CLIPTextConfig:
    """The sizes of the text tower."""
    words = tokenizer()
    return CLIPTextConfig(
        vocab_size=len(words),
        hidden_size=WIDTH,
        intermediate_size=2 * WIDTH,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=LENGTH,
        projection_dim=WIDTH,
        bos_token_id=words.bos_token_id,
        eos_token_id=words.eos_token_id,
        pad_token_id=words.pad_token_id,
    )


class ContrastiveModel(nn.Module):
    """CLIP with auxiliary heads on its patches, which are not exported."""

    def __init__(self, clip: CLIPModel) -> None:
        super().__init__()
        self.clip = clip
        self.seen = nn.LayerNorm(vision_config().hidden_size)
        self.patches = PatchHeads(vision_config().hidden_size)


def build() -> nn.Module:
    """A CLIP whose image tower has the sizes of the scene encoder."""
    vision = vision_config()
    image_tower = CLIPVisionConfig(
        hidden_size=vision.hidden_size,
        intermediate_size=vision.intermediate_size,
        num_hidden_layers=vision.num_hidden_layers,
        num_attention_heads=vision.num_attention_heads,
        image_size=SIZE,
        patch_size=vision.patch_size,
        hidden_act="gelu",
        projection_dim=WIDTH,
    )
    config = CLIPConfig(text_config=text_config().to_dict(), vision_config=image_tower.to_dict(), projection_dim=WIDTH)
    return ContrastiveModel(CLIPModel(config))


_NAMES = {
    "attention.q_proj": "self_attn.q_proj",
    "attention.k_proj": "self_attn.k_proj",
    "attention.v_proj": "self_attn.v_proj",
    "attention.o_proj": "self_attn.out_proj",
    "mlp.fc1": "mlp.fc1",
    "mlp.fc2": "mlp.fc2",
    "layernorm_before": "layer_norm1",
    "layernorm_after": "layer_norm2",
}
"""Names of the parts of a layer in ViT and in CLIP."""


def begin(model: nn.Module, folders: Mapping[str, Path]) -> None:
    """Start from the trained encoder of clean scenes."""
    assert isinstance(model, ContrastiveModel)
    state = trained_encoder(folders)
    # CLIP's patches have no bias: it is added to their positions.
    positions = state["embeddings.position_embeddings"][0].clone()
    positions[1:] += state["embeddings.patch_embeddings.projection.bias"]
    renamed = {
        "embeddings.class_embedding": state["embeddings.cls_token"].flatten(),
        "embeddings.patch_embedding.weight": state["embeddings.patch_embeddings.projection.weight"],
        "embeddings.position_embedding.weight": positions,
        "post_layernorm.weight": state["layernorm.weight"],
        "post_layernorm.bias": state["layernorm.bias"],
    }
    for name, value in state.items():
        if name.startswith("layers."):
            _, layer, rest = name.split(".", 2)
            part, kind = rest.rsplit(".", 1)
            renamed[f"encoder.layers.{layer}.{_NAMES[part]}.{kind}"] = value
    # Only the norm before the first layer is missing: a ViT has none.
    unexpected = model.clip.vision_model.load_state_dict(renamed, strict=False).unexpected_keys
    assert not unexpected, unexpected


@dataclass(frozen=True, slots=True)
class ContrastiveObjective:
    """CLIP's symmetric cross-entropy over a batch, on clean and on slightly degraded pictures.

    Generated pictures are slightly blurred and noisy; their score should depend on what they show only.
    """

    bank: Bank
    batch: int = 64

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        assert isinstance(model, ContrastiveModel)
        clip = model.clip
        indices = np.sort(rng.integers(len(self.bank), size=self.batch))
        pixels = roughened(normalised(np.asarray(self.bank.pixels[indices])), rng=rng)
        seen = clip.vision_model(pixel_values=pixels)
        images = F.normalize(clip.visual_projection(seen.pooler_output), dim=-1)
        tokens = batch_of_captions(bank=self.bank, indices=indices)
        texts = F.normalize(clip.text_projection(clip.text_model(input_ids=tokens).pooler_output), dim=-1)
        logits = clip.logit_scale.exp().clamp(max=_SHARPEST) * images @ texts.T
        same = torch.arange(self.batch)
        labels = batch_of_patch_labels(bank=self.bank, indices=indices)
        patches = model.patches.loss(patches=model.seen(seen.last_hidden_state[:, 1:]), labels=labels)
        return F.cross_entropy(logits, same) + F.cross_entropy(logits.T, same) + _PATCHES * patches


def roughened(pixels: Tensor, *, rng: np.random.Generator) -> Tensor:
    """Blurs a third of the images slightly and adds noise to a third; values around [-1, 1], (batch, 3, 64, 64)."""
    share = torch.from_numpy(rng.random((len(pixels), 2), dtype=np.float32) * (rng.random((len(pixels), 2)) < 1 / 3))
    soft = F.avg_pool2d(F.pad(pixels, (1, 1, 1, 1), mode="replicate"), 3, stride=1)
    pixels = torch.lerp(pixels, soft, share[:, :1, None, None].to(pixels))
    noise = torch.from_numpy(rng.standard_normal(pixels.shape, dtype=np.float32))
    return pixels + 0.15 * share[:, 1:, None, None].to(pixels) * noise


def export(model: nn.Module, folder: Path) -> None:
    """Write CLIP with its tokenizer and its image processor."""
    assert isinstance(model, ContrastiveModel)
    export_transformers(model.clip, folder)
    tokenizer().save_pretrained(folder)
    processor = CLIPImageProcessorPil(
        size={"shortest_edge": SIZE},
        crop_size={"height": SIZE, "width": SIZE},
        image_mean=[0.5] * 3,
        image_std=[0.5] * 3,
    )
    (folder / "preprocessor_config.json").write_text(json.dumps(processor.to_dict(), indent=1, sort_keys=True) + "\n")
