"""The pipelines and ControlNets of the profile `paper`, from their published configurations or in small."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import diffusers
import torch
import transformers as hf

from evaluator.execution.random_weights.networks import SMALL, SMALL_SIDE, SMALL_WORDS, clip_images, t5_config
from evaluator.execution.random_weights.vocabularies import write_clip_words, write_json

Part = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """How to build the checkpoint of a pipeline."""

    name: str
    """Name of its class in `diffusers`."""
    parts: Mapping[str, Part]
    """Networks by their folders."""
    classes: Mapping[str, tuple[str, str]]
    """By folder, library and class as `model_index.json` gives them."""
    scheduler: Mapping[str, object]
    files: Callable[[Path], None] = field(default=lambda _: None)
    """Writes the settings of tokenizer and images."""

    def write(self, folder: Path) -> None:
        """Write all files but those of the networks."""
        index: dict[str, object] = {"_class_name": self.name, "_diffusers_version": "0.22.0"}
        index["scheduler"] = ["diffusers", str(self.scheduler["_class_name"])]
        index |= {name: list(kind) for name, kind in self.classes.items()}
        write_json(folder / "model_index.json", index)
        write_json(folder / "scheduler" / "scheduler_config.json", {"_diffusers_version": "0.22.0", **self.scheduler})
        self.files(folder)


_PNDM: Mapping[str, object] = MappingProxyType(
    {
        "_class_name": "PNDMScheduler", "beta_end": 0.012, "beta_schedule": "scaled_linear", "beta_start": 0.00085,
        "clip_sample": False, "num_train_timesteps": 1000, "set_alpha_to_one": False, "skip_prk_steps": True,
        "steps_offset": 1, "trained_betas": None,
    }
)  # fmt: skip
_SOLVER: Mapping[str, object] = MappingProxyType(
    {
        "_class_name": "DPMSolverMultistepScheduler", "algorithm_type": "dpmsolver++", "beta_end": 0.02,
        "beta_schedule": "linear", "beta_start": 0.0001, "num_train_timesteps": 1000, "prediction_type": "epsilon",
        "solver_order": 2,
    }
)  # fmt: skip


def _blocks(small: bool) -> dict[str, Any]:
    """Settings that UNets and ControlNets share."""
    if small:
        return {"block_out_channels": (8, 16), "layers_per_block": 1, "cross_attention_dim": 16,
                "attention_head_dim": 2, "norm_num_groups": 4,
                "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D")}  # fmt: skip
    return {"block_out_channels": (320, 640, 1280, 1280), "layers_per_block": 2, "cross_attention_dim": 768,
            "attention_head_dim": 8, "down_block_types": ("CrossAttnDownBlock2D",) * 3 + ("DownBlock2D",)}  # fmt: skip


def _unet(small: bool, *, channels: int) -> Part:
    up = "CrossAttnUpBlock2D"
    settings = {"sample_size": 8 if small else 64, "up_block_types": ("UpBlock2D", *(up,) * (1 if small else 3))}
    return lambda: diffusers.UNet2DConditionModel(in_channels=channels, **settings, **_blocks(small))


def _autoencoder(small: bool) -> Part:
    sizes: dict[str, Any] = {"block_out_channels": (128, 256, 512, 512), "layers_per_block": 2, "sample_size": 512}
    if small:
        sizes = {"block_out_channels": (8, 16), "norm_num_groups": 4, "sample_size": 16}
    count = len(sizes["block_out_channels"])
    down, up = ("DownEncoderBlock2D",) * count, ("UpDecoderBlock2D",) * count
    return lambda: diffusers.AutoencoderKL(down_block_types=down, up_block_types=up, latent_channels=4, **sizes)


def _text_encoder(small: bool) -> Part:
    sizes: Mapping[str, Any] = {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12,
                                "num_attention_heads": 12}  # fmt: skip
    words = _words(small)
    config = hf.CLIPTextConfig(
        vocab_size=words, max_position_embeddings=77, projection_dim=16 if small else 768, bos_token_id=words - 2,
        eos_token_id=words - 1, **(SMALL if small else sizes),
    )  # fmt: skip
    return lambda: hf.CLIPTextModel(config)


def _words(small: bool) -> int:
    return SMALL_WORDS if small else 49408


def _stable_diffusion(small: bool, *, name: str = "StableDiffusionPipeline", channels: int = 4) -> Pipeline:
    return Pipeline(
        name=name,
        parts={"unet": _unet(small, channels=channels), "vae": _autoencoder(small),
               "text_encoder": _text_encoder(small)},
        classes={"text_encoder": ("transformers", "CLIPTextModel"), "tokenizer": ("transformers", "CLIPTokenizer"),
                 "unet": ("diffusers", "UNet2DConditionModel"), "vae": ("diffusers", "AutoencoderKL")},
        scheduler=_PNDM,
        files=lambda folder: write_clip_words(folder / "tokenizer", count=_words(small)),
    )  # fmt: skip


def _variations(small: bool) -> Pipeline:
    sizes: dict[str, Any] = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24,
                             "num_attention_heads": 16, "patch_size": 14, "projection_dim": 768}  # fmt: skip
    if small:
        sizes = {**SMALL, "image_size": SMALL_SIDE, "patch_size": 8, "projection_dim": 16}
    config, kind = hf.CLIPVisionConfig(**sizes), "CLIPVisionModelWithProjection"
    settings = clip_images(SMALL_SIDE if small else 224)
    return Pipeline(
        name="StableDiffusionImageVariationPipeline",
        parts={"unet": _unet(small, channels=4), "vae": _autoencoder(small),
               "image_encoder": lambda: hf.CLIPVisionModelWithProjection(config)},
        classes={"image_encoder": ("transformers", kind), "unet": ("diffusers", "UNet2DConditionModel"),
                 "vae": ("diffusers", "AutoencoderKL")},
        scheduler=_PNDM,
        files=lambda folder: write_json(folder / "feature_extractor" / "preprocessor_config.json", settings),
    )  # fmt: skip


def _pixart(small: bool) -> Pipeline:
    config = t5_config(small, d_model=4096, d_ff=10240, num_layers=24, num_heads=64, feed_forward_proj="gated-gelu",
                       tie_word_embeddings=False)  # fmt: skip
    sizes: dict[str, Any] = {"sample_size": 128, "num_layers": 28, "attention_head_dim": 72,
                             "num_attention_heads": 16, "cross_attention_dim": 1152}  # fmt: skip
    if small:
        sizes = {"sample_size": 8, "num_layers": 1, "attention_head_dim": 4, "num_attention_heads": 2,
                 "cross_attention_dim": 8}  # fmt: skip
    shape = {"caption_channels": config.d_model, "in_channels": 4, "out_channels": 8, "patch_size": 2}
    return Pipeline(
        name="PixArtAlphaPipeline",
        parts={"transformer": lambda: diffusers.PixArtTransformer2DModel(**sizes, **shape),
               "vae": _autoencoder(small), "text_encoder": lambda: hf.T5EncoderModel(config)},
        classes={"text_encoder": ("transformers", "T5EncoderModel"), "tokenizer": ("transformers", "T5Tokenizer"),
                 "transformer": ("diffusers", "PixArtTransformer2DModel"), "vae": ("diffusers", "AutoencoderKL")},
        scheduler=_SOLVER,
    )  # fmt: skip


_DDIM: Mapping[str, object] = MappingProxyType(
    {
        "_class_name": "DDIMScheduler", "beta_end": 0.012, "beta_schedule": "scaled_linear", "beta_start": 0.00085,
        "clip_sample": False, "num_train_timesteps": 1000, "set_alpha_to_one": False, "steps_offset": 1,
    }
)  # fmt: skip


def _clip_text(small: bool, *, layers: int) -> Part:
    """The text encoder of OpenCLIP's ViT-H."""
    sizes: Mapping[str, Any] = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": layers,
                                "num_attention_heads": 16}  # fmt: skip
    words = _words(small)
    config = hf.CLIPTextConfig(
        vocab_size=words, max_position_embeddings=77, hidden_act="gelu", projection_dim=16 if small else 1024,
        bos_token_id=words - 2, eos_token_id=words - 1, **(SMALL if small else sizes),
    )  # fmt: skip
    return lambda: hf.CLIPTextModel(config)


def _clip_blocks(small: bool) -> dict[str, Any]:
    """Settings of UNets for clips; the released ones are the defaults of `diffusers`."""
    if not small:
        return {"sample_size": 32}
    return {"sample_size": 8, "block_out_channels": (8, 16), "layers_per_block": 1, "cross_attention_dim": 16,
            "attention_head_dim": 4, "norm_num_groups": 4,
            "down_block_types": ("CrossAttnDownBlock3D", "DownBlock3D"),
            "up_block_types": ("UpBlock3D", "CrossAttnUpBlock3D")}  # fmt: skip


def _text_to_video(small: bool) -> Pipeline:
    return Pipeline(
        name="TextToVideoSDPipeline",
        parts={"unet": lambda: diffusers.UNet3DConditionModel(**_clip_blocks(small)), "vae": _autoencoder(small),
               "text_encoder": _clip_text(small, layers=23)},
        classes={"text_encoder": ("transformers", "CLIPTextModel"), "tokenizer": ("transformers", "CLIPTokenizer"),
                 "unet": ("diffusers", "UNet3DConditionModel"), "vae": ("diffusers", "AutoencoderKL")},
        scheduler=_DDIM,
        files=lambda folder: write_clip_words(folder / "tokenizer", count=_words(small)),
    )  # fmt: skip


def _image_to_video(small: bool) -> Pipeline:
    sizes: dict[str, Any] = {"hidden_size": 1280, "intermediate_size": 5120, "num_hidden_layers": 32,
                             "num_attention_heads": 16, "patch_size": 14, "projection_dim": 1024,
                             "hidden_act": "gelu"}  # fmt: skip
    if small:
        sizes = {**SMALL, "image_size": SMALL_SIDE, "patch_size": 8, "projection_dim": 16}
    config, settings = hf.CLIPVisionConfig(**sizes), clip_images(SMALL_SIDE if small else 224)

    def files(folder: Path) -> None:
        write_clip_words(folder / "tokenizer", count=_words(small))
        write_json(folder / "feature_extractor" / "preprocessor_config.json", settings)

    return Pipeline(
        name="I2VGenXLPipeline",
        parts={"unet": lambda: diffusers.I2VGenXLUNet(**_clip_blocks(small)), "vae": _autoencoder(small),
               "text_encoder": _clip_text(small, layers=24),
               "image_encoder": lambda: hf.CLIPVisionModelWithProjection(config)},
        classes={"text_encoder": ("transformers", "CLIPTextModel"), "tokenizer": ("transformers", "CLIPTokenizer"),
                 "image_encoder": ("transformers", "CLIPVisionModelWithProjection"),
                 "feature_extractor": ("transformers", "CLIPImageProcessor"),
                 "unet": ("diffusers", "I2VGenXLUNet"), "vae": ("diffusers", "AutoencoderKL")},
        scheduler=_DDIM,
        files=files,
    )  # fmt: skip


def controlnet(small: bool) -> Any:
    """A ControlNet. Its last layers begin with zeros, with which a map would change nothing: here, they do not."""
    channels = {"conditioning_embedding_out_channels": (8, 16)} if small else {}
    network = diffusers.ControlNetModel(**_blocks(small), **channels)
    last = (*network.controlnet_down_blocks, network.controlnet_mid_block, network.controlnet_cond_embedding.conv_out)
    for layer in last:
        torch.nn.init.normal_(layer.weight, std=0.5 if small else 0.02)
    return network


PIPELINES: Mapping[str, Callable[[bool], Pipeline]] = MappingProxyType(
    {
        "text-to-image": _stable_diffusion,
        "stable-diffusion-15": _stable_diffusion,
        "inpainting": lambda small: _stable_diffusion(small, name="StableDiffusionInpaintPipeline", channels=9),
        "instruction-editing": lambda small: _stable_diffusion(
            small, name="StableDiffusionInstructPix2PixPipeline", channels=8
        ),
        "image-variations": _variations,
        "pixart": _pixart,
        "text-to-video": _text_to_video,
        "image-to-video": _image_to_video,
    }
)
"""By the name of the profile's checkpoint, from whether it is to be small."""
