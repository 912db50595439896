"""Training of the CLIP score: a small CLIP that tells which caption belongs to which picture.

Its text tower is also where the text encoder of Text to Image Generation begins, as in Stable Diffusion.
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
from evaluator.studies.experts.data.bank import Bank, Rows, normalised
from evaluator.studies.experts.scene_encoder import PatchHeads, batch_of_patch_labels, trained_encoder, vision_config
from evaluator.training.export import export_transformers

NAME = "clip-score"
LENGTH = 24
"""Most tokens of a caption with its beginning and end."""
WIDTH = 96
_BEGIN, _END = "<|startoftext|>", "<|endoftext|>"
_VOCABULARY_SCENES = 3000
_SHARPEST = 20.0
"""Of the cosines before the softmax. CLIP goes up to 100, where a right pair need be only a little closer than a wrong
one; with less the cosine of a right pair comes near 1 and that of a wrong one near 0."""
_PATCHES = 0.3
"""Weight of going on to tell what lies in each patch."""


@cache
def tokenizer() -> CLIPTokenizer:
    """CLIP's byte-level BPE: every word of the captions is one token, every other text can still be spelt."""
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
    return torch.from_numpy(_caption_rows(split=bank.split, count=len(bank)).take(indices))


@cache
def _caption_rows(*, split: Split, count: int) -> Rows:
    def compute(new: np.ndarray) -> np.ndarray:
        texts = (caption(draw_scene(split=split, index=int(index))).english for index in new)
        return np.stack([tokens_of(text).numpy() for text in texts])

    return Rows(count=count, compute=compute)


def tokens_of(text: str) -> Tensor:
    """A text as token ids, cut or padded to 24."""
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
    """CLIP with the heads that keep its patches telling; only CLIP is kept."""

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
"""Parts of a layer of a ViT, and the same in CLIP."""


def as_clip(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Weights of a ViT under the names that CLIP's image tower gives the same parts.

    CLIP's patches have no bias of their own: it goes into their positions.
    """
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
    return renamed


def begin(model: nn.Module, folders: Mapping[str, Path]) -> None:
    """Start from the trained encoder of clean scenes."""
    assert isinstance(model, ContrastiveModel)
    # Missing is only the norm before the first layer, which a ViT does not have.
    found = model.clip.vision_model.load_state_dict(as_clip(trained_encoder(folders)), strict=False)
    assert not found.unexpected_keys, found.unexpected_keys


@dataclass(frozen=True, slots=True)
class ContrastiveObjective:
    """CLIP's symmetric cross-entropy over a batch, on clean pictures and on slightly spoilt ones.

    Generated pictures are a little soft and a little rough; they should be judged by what they show.
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
        wanted = batch_of_patch_labels(bank=self.bank, indices=indices)
        patches = model.patches.loss(patches=model.seen(seen.last_hidden_state[:, 1:]), wanted=wanted)
        return F.cross_entropy(logits, same) + F.cross_entropy(logits.T, same) + _PATCHES * patches


def roughened(pixels: Tensor, *, rng: np.random.Generator) -> Tensor:
    """A third of the images a little blurred, a third a little noisy; values around [-1, 1], (batch, 3, 64, 64)."""
    share = torch.from_numpy(rng.random((len(pixels), 2), dtype=np.float32) * (rng.random((len(pixels), 2)) < 1 / 3))
    soft = F.avg_pool2d(F.pad(pixels, (1, 1, 1, 1), mode="replicate"), 3, stride=1)
    pixels = torch.lerp(pixels, soft, share[:, :1, None, None].to(pixels))
    noise = torch.from_numpy(rng.standard_normal(pixels.shape, dtype=np.float32))
    return pixels + 0.15 * share[:, 1:, None, None].to(pixels) * noise


def export(model: nn.Module, folder: Path) -> None:
    """Write CLIP with its words and its image processor."""
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
