"""Small pipelines of `diffusers` in the layouts in which ControlLLM's services get them, as in `released.py`."""

import json
from pathlib import Path

import torch
from diffusers import ControlNetModel, PixArtTransformer2DModel, UNet2DConditionModel
from transformers import CLIPVisionConfig, CLIPVisionModelWithProjection, T5Config, T5EncoderModel

from tests.evaluator.execution.experts.released import (
    OLD_CLIP,
    SIDE,
    SIZES,
    stable_diffusion,
    state_of,
    write,
    write_config,
    write_weights,
)

UNET = {
    "sample_size": 8, "block_out_channels": (8, 16), "layers_per_block": 1, "cross_attention_dim": 16,
    "attention_head_dim": 2, "norm_num_groups": 4, "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"),
}  # fmt: skip


def _unet(folder: Path, *, channels: int) -> None:
    """Put a UNet with other input channels in the place of the one of a Stable Diffusion."""
    unet = UNet2DConditionModel(**UNET, in_channels=channels, up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"))
    settings = {key: value for key, value in unet.config.items() if not key.startswith("_")}
    kept = {"_class_name": "UNet2DConditionModel", "_diffusers_version": "0.9.0"}
    write(folder, "unet/config.json", {**settings, **kept})
    for name in ("diffusion_pytorch_model.bin", "diffusion_pytorch_model.safetensors"):
        write_weights(folder / "unet", state_of(unet), names=(name,))


def _renamed(folder: Path, *, pipeline: str, **parts: list[str] | None) -> None:
    index = json.loads((folder / "model_index.json").read_text())
    changed = {**index, "_class_name": pipeline, "_diffusers_version": "0.9.0", **parts}
    write(folder, "model_index.json", {name: value for name, value in changed.items() if value is not None})


def inpainting(folder: Path) -> None:
    """stable-diffusion-v1-5/stable-diffusion-inpainting."""
    stable_diffusion(folder)
    _unet(folder, channels=9)
    _renamed(folder, pipeline="StableDiffusionInpaintPipeline")


def instruct_pix2pix(folder: Path) -> None:
    """timbrooks/instruct-pix2pix."""
    stable_diffusion(folder)
    _unet(folder, channels=8)
    _renamed(folder, pipeline="StableDiffusionInstructPix2PixPipeline")


def image_variations(folder: Path) -> None:
    """lambdalabs/sd-image-variations-diffusers, v2.0: `.bin` only."""
    stable_diffusion(folder)
    for part in ("unet", "vae"):
        for file in (folder / part).glob("*.safetensors"):
            file.unlink()
    encoder = CLIPVisionModelWithProjection(CLIPVisionConfig(image_size=SIDE, patch_size=8, projection_dim=16, **SIZES))
    write_config(folder / "image_encoder", encoder)
    write_weights(folder / "image_encoder", state_of(encoder), names=("pytorch_model.bin",))
    write(
        folder, "feature_extractor/preprocessor_config.json", {**OLD_CLIP, "image_processor_type": "CLIPImageProcessor"}
    )
    _renamed(
        folder, pipeline="StableDiffusionImageVariationPipeline", text_encoder=None, tokenizer=None,
        image_encoder=["transformers", "CLIPVisionModelWithProjection"],
    )  # fmt: skip


def controlnet(folder: Path) -> None:
    """lllyasviel/sd-controlnet-*."""
    network = ControlNetModel(
        block_out_channels=(8, 16), down_block_types=UNET["down_block_types"], layers_per_block=1,
        cross_attention_dim=16, attention_head_dim=2, norm_num_groups=4,
        conditioning_embedding_out_channels=(8, 16),
    )  # fmt: skip
    # Its last layers begin with zeros: a map would change nothing.
    for layer in (
        *network.controlnet_down_blocks,
        network.controlnet_mid_block,
        network.controlnet_cond_embedding.conv_out,
    ):
        torch.nn.init.normal_(layer.weight, std=0.5)
    settings = {key: value for key, value in network.config.items() if not key.startswith("_")}
    write(folder, "config.json", {**settings, "_class_name": "ControlNetModel", "_diffusers_version": "0.14.0"})
    names = ("diffusion_pytorch_model.bin", "diffusion_pytorch_model.safetensors")
    write_weights(folder, state_of(network), names=names)


def controlnet_without_safetensors(folder: Path) -> None:
    """As one of them might be."""
    controlnet(folder)
    (folder / "diffusion_pytorch_model.safetensors").unlink()


def pixart(folder: Path) -> None:
    """PixArt-alpha/PixArt-XL-2-1024-MS: the transformer under its old name, a tokenizer that is one file."""
    stable_diffusion(folder)
    for part in ("unet", "text_encoder", "tokenizer", "safety_checker", "feature_extractor"):
        for file in sorted((folder / part).glob("*")):
            file.unlink()
    # More words than the vocabulary has, as released.
    text = T5EncoderModel(T5Config(
        vocab_size=512, d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2, feed_forward_proj="gated-gelu",
        tie_word_embeddings=False,
    ))  # fmt: skip
    (folder / "text_encoder" / "config.json").unlink(missing_ok=True)
    text.save_pretrained(folder / "text_encoder", max_shard_size="20KB")
    network = PixArtTransformer2DModel(
        sample_size=8, num_layers=1, attention_head_dim=4, num_attention_heads=2, cross_attention_dim=8,
        caption_channels=16, in_channels=4, out_channels=8, patch_size=2,
    )  # fmt: skip
    settings = {key: value for key, value in network.config.items() if not key.startswith("_")}
    kept = {"_class_name": "Transformer2DModel", "_diffusers_version": "0.22.0.dev0"}
    write(folder, "transformer/config.json", {**settings, **kept})
    write_weights(folder / "transformer", state_of(network), names=("diffusion_pytorch_model.safetensors",))
    (folder / "tokenizer" / "spiece.model").write_bytes(b"for a library that is not here")
    write(folder, "tokenizer/tokenizer_config.json", {"tokenizer_class": "T5Tokenizer"})
    write(folder, "scheduler/scheduler_config.json", {
        "_class_name": "DPMSolverMultistepScheduler", "_diffusers_version": "0.22.0.dev0",
        "algorithm_type": "dpmsolver++", "beta_end": 0.02, "beta_schedule": "linear", "beta_start": 0.0001,
        "num_train_timesteps": 1000, "prediction_type": "epsilon", "solver_order": 2,
    })  # fmt: skip
    write(folder, "model_index.json", {
        "_class_name": "PixArtAlphaPipeline", "_diffusers_version": "0.22.0.dev0",
        "scheduler": ["diffusers", "DPMSolverMultistepScheduler"], "text_encoder": ["transformers", "T5EncoderModel"],
        "tokenizer": ["transformers", "T5Tokenizer"], "transformer": ["diffusers", "Transformer2DModel"],
        "vae": ["diffusers", "AutoencoderKL"],
    })  # fmt: skip
