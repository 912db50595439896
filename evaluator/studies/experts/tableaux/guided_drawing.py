"""Training of drawing from maps: a ControlNet (Zhang et al., 2023) for eight kinds of map."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from diffusers import ControlNetModel
from torch import Tensor, nn
from transformers import CLIPTokenizer

from evaluator.execution.experts.drawing import CHANNELS, conditions_of
from evaluator.execution.experts.weights import weights_digest
from evaluator.miniature.grammar.captions import caption
from evaluator.miniature.scenes import SIZE, draw_scene
from evaluator.miniature.seeds import Split
from evaluator.miniature.tableaux.captions import tableau_caption
from evaluator.miniature.tableaux.maps import MapKind, draw_map
from evaluator.studies.experts import contrastive, image_autoencoder, text_to_image
from evaluator.studies.experts.data.bank import Rows, normalised
from evaluator.studies.experts.scene_encoder import read_weights
from evaluator.studies.experts.tableaux.data import TABLEAUX, Batch, tableau, tableaux_at

NAME = "guided-drawing"
_DROPPED = 0.1
"""Share of the pictures without their map, and share without their caption."""
_PARTS = 2.0
"""Additional weight of the latents that show parts."""
_HIGH = 0.7
"""Exponent below 1: more times near pure noise, where the layout is decided."""
_STEPS = 1000
_KINDS = 3


class GuidedDrawingModel(nn.Module):
    """The shipped networks, which are frozen, and the ControlNet."""

    def __init__(self) -> None:
        super().__init__()
        self.base = text_to_image.DrawingModel().requires_grad_(False)
        config = self.base.unet.config
        self.controlnet = ControlNetModel(
            in_channels=config.in_channels,
            conditioning_channels=CHANNELS,
            down_block_types=config.down_block_types,
            block_out_channels=config.block_out_channels,
            layers_per_block=config.layers_per_block,
            cross_attention_dim=config.cross_attention_dim,
            attention_head_dim=config.attention_head_dim,
            norm_num_groups=config.norm_num_groups,
            resnet_time_scale_shift=config.resnet_time_scale_shift,
            addition_embed_type=config.addition_embed_type,
            addition_embed_type_num_heads=config.addition_embed_type_num_heads,
            # Each but the first halves width and height: latents have a quarter of the width and height of pictures.
            conditioning_embedding_out_channels=(16, 32, 64),
        )


def build() -> nn.Module:
    """The model before training."""
    return GuidedDrawingModel()


def begin(model: nn.Module, folders: Mapping[str, Path]) -> None:
    """Load the shipped networks; the ControlNet starts as a copy of the first half of the UNet."""
    assert isinstance(model, GuidedDrawingModel)
    load_base(model.base, weights=folders["weights"])
    own = set(model.controlnet.state_dict())
    state = {name: value for name, value in model.base.unet.state_dict().items() if name in own}
    model.controlnet.load_state_dict(state, strict=False)


def load_base(base: text_to_image.DrawingModel, *, weights: Path) -> None:
    """Load the shipped weights of a Stable Diffusion."""
    folder = weights / text_to_image.NAME
    for part, file in (
        (base.vae, "vae/diffusion_pytorch_model.safetensors"),
        (base.unet, "unet/diffusion_pytorch_model.safetensors"),
        (base.text_encoder, "text_encoder/model.safetensors"),
    ):
        part.load_state_dict(read_weights(folder / file))


class DrawingData:
    """Training tableaux with their latents and the tokens of their captions."""

    def __init__(self, *, weights: Path) -> None:
        self._tokenizer = CLIPTokenizer.from_pretrained(
            weights / text_to_image.NAME / "tokenizer", local_files_only=True, trust_remote_code=False
        )
        self._tokens = Rows(
            count=TABLEAUX,
            compute=lambda new: self.tokens_of([caption_at(split=Split.TRAIN, index=int(index)) for index in new]),
        )
        self._latents: Rows | None = None

    def tokens_of(self, texts: Sequence[str]) -> npt.NDArray[np.int64]:
        """Token ids, shape (batch, 24)."""
        encoded = self._tokenizer(
            list(texts), padding="max_length", truncation=True, max_length=contrastive.LENGTH, return_tensors="np"
        )
        return np.asarray(encoded["input_ids"], dtype=np.int64)

    def captions(self, indices: npt.NDArray[np.int64]) -> Tensor:
        """Token ids of captions, shape (batch, 24)."""
        return torch.from_numpy(self._tokens.take(indices))

    def latents(self, *, indices: npt.NDArray[np.int64], base: text_to_image.DrawingModel) -> Tensor:
        """Latents of pictures, shape (batch, 6, 16, 16)."""
        if self._latents is None:

            @torch.no_grad()
            def compute(new: npt.NDArray[np.int64]) -> npt.NDArray[np.float16]:
                pixels = normalised(tableaux_at(split=Split.TRAIN, indices=new).pixels)
                return np.asarray(base.vae.encode(pixels).latent_dist.mean.numpy().astype(np.float16))

            self._latents = Rows(count=TABLEAUX, compute=compute)
        return torch.from_numpy(self._latents.take(indices).astype(np.float32))


def caption_at(*, split: Split, index: int) -> str:
    """The caption of tableau number `index`; for a plain scene the caption of the scene."""
    if index % _KINDS == _KINDS - 1:
        return caption(draw_scene(split=split, index=index // _KINDS)).english
    return tableau_caption(tableau(split=split, index=index))


class GuidedDrawingObjective:
    """Mean squared error of the velocity at a random time, for a map of a random kind."""

    def __init__(self, *, weights: Path, batch: int = 16) -> None:
        self._data = DrawingData(weights=weights)
        self._batch = batch
        self._schedule = text_to_image.noise_schedule()

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        assert isinstance(model, GuidedDrawingModel)
        indices = np.sort(rng.integers(TABLEAUX, size=self._batch))
        drawn = tableaux_at(split=Split.TRAIN, indices=indices)
        clean = self._data.latents(indices=indices, base=model.base)
        tokens = self._data.captions(indices)
        tokens[torch.from_numpy(rng.random(self._batch) < _DROPPED)] = torch.from_numpy(self._data.tokens_of([""])[0])
        condition = random_conditions(drawn=drawn, rng=rng)
        condition[torch.from_numpy(rng.random(self._batch) < _DROPPED)] = 0
        noise = torch.from_numpy(rng.standard_normal(clean.shape, dtype=np.float32))
        times = random_times(count=self._batch, rng=rng)
        noisy = self._schedule.add_noise(clean, noise, times)
        with torch.no_grad():
            text = model.base.text_encoder(input_ids=tokens).last_hidden_state
        down, middle = model.controlnet(
            noisy, times, encoder_hidden_states=text, controlnet_cond=condition, return_dict=False
        )
        velocity = model.base.unet(
            noisy,
            times,
            encoder_hidden_states=text,
            down_block_additional_residuals=down,
            mid_block_additional_residual=middle,
        ).sample
        error = (velocity - self._schedule.get_velocity(clean, noise, times)).square()
        loss: Tensor = (error * latent_weights(drawn.owner >= 0)).mean()
        return loss


def random_times(*, count: int, rng: np.random.Generator) -> Tensor:
    """One time from each of `count` intervals, denser near pure noise; shape (count,)."""
    shares = (rng.permutation(count) + rng.random(count)) / count
    return torch.from_numpy((shares**_HIGH * _STEPS).astype(np.int64)).clamp(max=_STEPS - 1)


def latent_weights(things: npt.NDArray[np.bool_]) -> Tensor:
    """Weights of latents by the pixels of parts, (batch, 64, 64) to (batch, 1, 16, 16), with a mean of 1."""
    side = image_autoencoder.SIDE
    cells = things.reshape(len(things), side, SIZE // side, side, SIZE // side).any(axis=(2, 4))
    weights = torch.from_numpy(1 + _PARTS * cells.astype(np.float32))[:, None]
    return weights / weights.mean()


def random_conditions(*, drawn: Batch, rng: np.random.Generator) -> Tensor:
    """A map of a random kind for each picture, as imperfect as those of experts; shape (batch, 24, 64, 64)."""
    kinds, maps = [], []
    for row, picture in enumerate(drawn.tableaux):
        possible = [kind for kind in MapKind if kind is not MapKind.POSE or picture.figure is not None]
        # Only a third of the pictures have a pose.
        odds = np.asarray([2.0 if kind is MapKind.POSE else 1.0 for kind in possible])
        kind = possible[rng.choice(len(possible), p=odds / odds.sum())]
        pixels = draw_map(kind=kind, tableau=picture, owner=drawn.owner[row], nearness=drawn.nearness[row], rng=rng)
        kinds.append(kind)
        empty = (0.5, 0.5, 1.0) if kind is MapKind.NORMAL else (0.0, 0.0, 0.0)
        maps.append(_corrupted(pixels.astype(np.float32) / np.float32(255), empty=empty, rng=rng))
    return conditions_of(maps=torch.from_numpy(np.stack(maps)).permute(0, 3, 1, 2), kinds=kinds)


def _corrupted(
    pixels: npt.NDArray[np.float32], *, empty: tuple[float, float, float], rng: np.random.Generator
) -> npt.NDArray[np.float32]:
    """A map in [0, 1], shape (64, 64, 3), blurred, with patches erased to `empty`, and with noise: each by a chance
    of one third."""
    if rng.random() < 1 / 3:
        share = np.float32(rng.random())
        padded = np.pad(pixels, ((1, 1), (1, 1), (0, 0)), mode="edge")
        soft = sum(padded[i : i + SIZE, j : j + SIZE] for i in range(3) for j in range(3)) / 9
        pixels = (1 - share) * pixels + share * np.asarray(soft, dtype=np.float32)
    if rng.random() < 1 / 3:
        pixels = pixels.copy()
        for _ in range(1 + int(rng.integers(3))):
            top, left = rng.integers(SIZE - 4, size=2)
            height, width = rng.integers(4, 15, size=2)
            pixels[top : top + height, left : left + width] = empty
    if rng.random() < 1 / 3:
        noise = rng.standard_normal((SIZE, SIZE, 3), dtype=np.float32)
        pixels = pixels + np.float32(0.12 * rng.random()) * noise
    return np.clip(pixels, 0, 1).astype(np.float32)


def export(model: nn.Module, folder: Path) -> None:
    """Write the ControlNet in half precision, and which Stable Diffusion it belongs to."""
    assert isinstance(model, GuidedDrawingModel)
    part = folder / "controlnet"
    part.mkdir(parents=True, exist_ok=True)
    model.controlnet.to(torch.float16).save_pretrained(part, safe_serialization=True)
    path = part / "config.json"
    config = {k: v for k, v in json.loads(path.read_text()).items() if k not in text_to_image.VERSIONS}
    path.write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")
    write_index(folder=folder, content={"controlnet": ["diffusers", "ControlNetModel"]})


def write_index(*, folder: Path, content: Mapping[str, object]) -> None:
    """Write `model_index.json` with the digest of the Stable Diffusion beside the folder; the expert verifies it."""
    base = {"base": text_to_image.NAME, "base_digest": weights_digest(folder.parent / text_to_image.NAME)}
    (folder / "model_index.json").write_text(json.dumps({**content, **base}, indent=1, sort_keys=True) + "\n")
