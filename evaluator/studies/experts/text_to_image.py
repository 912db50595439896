"""Training of Text to Image Generation: a small Stable Diffusion on clean scenes and their captions."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from diffusers import DDIMScheduler, StableDiffusionPipeline, UNet2DConditionModel
from torch import Tensor, nn
from transformers import CLIPTextModel

from evaluator.studies.experts import contrastive, image_autoencoder
from evaluator.studies.experts.data.bank import Bank, Rows, normalised
from evaluator.studies.experts.scene_encoder import read_weights, trained

NAME = "text-to-image"
_WIDTHS = (48, 88)
_DROPPED = 0.1
"""Share of the pictures without their caption, for classifier-free guidance."""
_STEPS = 1000
VERSIONS = frozenset({"_diffusers_version", "transformers_version", "_name_or_path"})
"""Entries of configurations that are not part of the model: the digest must not depend on them."""


def noise_schedule() -> DDIMScheduler:
    """A cosine schedule that ends in pure noise, from which sampling starts."""
    return DDIMScheduler(
        num_train_timesteps=_STEPS,
        beta_schedule="squaredcos_cap_v2",
        prediction_type="v_prediction",
        rescale_betas_zero_snr=True,
        timestep_spacing="trailing",
        clip_sample=False,
        set_alpha_to_one=True,
        steps_offset=1,  # required by the pipeline; no effect with this spacing
    )


def unet(*, in_channels: int = image_autoencoder.CHANNELS) -> UNet2DConditionModel:
    """Two levels, 16x16 and 8x8: the text enters by attention on the lower one, and pooled with the time on both."""
    return UNet2DConditionModel(
        sample_size=image_autoencoder.SIDE,
        in_channels=in_channels,
        out_channels=image_autoencoder.CHANNELS,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        block_out_channels=_WIDTHS,
        layers_per_block=1,
        cross_attention_dim=contrastive.WIDTH,
        attention_head_dim=4,
        norm_num_groups=8,
        resnet_time_scale_shift="scale_shift",
        addition_embed_type="text",
        addition_embed_type_num_heads=4,
    )


class DrawingModel(nn.Module):
    """The networks of a Stable Diffusion pipeline. The autoencoder is frozen."""

    def __init__(self) -> None:
        super().__init__()
        self.vae = image_autoencoder.autoencoder().requires_grad_(False)
        self.text_encoder = CLIPTextModel(contrastive.text_config())
        self.unet = unet()


def build() -> nn.Module:
    """The model before training."""
    return DrawingModel()


def begin(model: nn.Module, folders: Mapping[str, Path]) -> None:
    """Start from the trained autoencoder and from the text tower of the trained CLIP."""
    assert isinstance(model, DrawingModel)
    model.vae.load_state_dict(trained(image_autoencoder.NAME, folders=folders))
    state = read_weights(folders["weights"] / contrastive.NAME / "model.safetensors", prefix="text_model.")
    own = set(model.text_encoder.state_dict())
    model.text_encoder.load_state_dict(state if own == set(state) else {f"text_model.{k}": v for k, v in state.items()})


class DrawingObjective:
    """Mean squared error of the velocity (Salimans and Ho, 2022) at a random time."""

    def __init__(self, bank: Bank, *, batch: int = 32) -> None:
        self._bank = bank
        self._batch = batch
        self._schedule = noise_schedule()
        self._latents: Rows | None = None

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        assert isinstance(model, DrawingModel)
        indices = np.sort(rng.integers(len(self._bank), size=self._batch))
        clean = torch.from_numpy(self._rows(model).take(indices).astype(np.float32))
        noise = torch.from_numpy(rng.standard_normal(clean.shape, dtype=np.float32))
        # One time from each of as many equal intervals: less variance than drawing all from the whole range.
        shares = (rng.permutation(self._batch) + rng.random(self._batch)) / self._batch
        times = torch.from_numpy((shares * _STEPS).astype(np.int64)).clamp(max=_STEPS - 1)
        tokens = contrastive.batch_of_captions(bank=self._bank, indices=indices)
        tokens[torch.from_numpy(rng.random(self._batch) < _DROPPED)] = contrastive.tokens_of("")
        text = model.text_encoder(input_ids=tokens).last_hidden_state
        noisy = self._schedule.add_noise(clean, noise, times)
        velocity = model.unet(noisy, times, encoder_hidden_states=text).sample
        return F.mse_loss(velocity, self._schedule.get_velocity(clean, noise, times))

    def _rows(self, model: DrawingModel) -> Rows:
        """Cached latents of scenes; the autoencoder is frozen."""
        if self._latents is None:

            @torch.no_grad()
            def compute(new: np.ndarray) -> np.ndarray:
                values = normalised(np.asarray(self._bank.pixels[new]))
                return np.asarray(model.vae.encode(values).latent_dist.mean.numpy().astype(np.float16))

            self._latents = Rows(count=len(self._bank), compute=compute)
        return self._latents


def export(model: nn.Module, folder: Path) -> None:
    """Write the pipeline in the layout of `diffusers`, weights in half precision."""
    assert isinstance(model, DrawingModel)
    folder.mkdir(parents=True, exist_ok=True)
    pipeline = StableDiffusionPipeline(
        vae=model.vae,
        text_encoder=model.text_encoder,
        tokenizer=contrastive.tokenizer(),
        unet=model.unet,
        scheduler=noise_schedule(),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    pipeline.to(torch.float16).save_pretrained(folder, safe_serialization=True)
    for path in sorted(folder.rglob("*.json")):
        if path.name in {"model_index.json", "config.json", "scheduler_config.json"}:
            config = {k: v for k, v in json.loads(path.read_text()).items() if k not in VERSIONS}
            path.write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")
