"""Small checkpoints in the layouts in which the models of ControlLLM's services are released, as in `released.py`."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
import transformers as hf
from safetensors.torch import load_file, save_file

from evaluator.execution.experts.released_maps import EdgeAnnotator
from tests.evaluator.execution.experts.paper.media import MEDIA_BUILDERS
from tests.evaluator.execution.experts.paper.pipelines import (
    controlnet,
    controlnet_without_safetensors,
    image_variations,
    inpainting,
    instruct_pix2pix,
    pixart,
)
from tests.evaluator.execution.experts.released import (
    BYTES,
    CLIP_DEVIATION,
    CLIP_MEAN,
    HALF,
    SIDE,
    SIZES,
    detr,
    stable_diffusion,
    state_of,
    t5,
    write,
    write_byte_level_tokenizer,
    write_config,
    write_weights,
    write_word_pieces,
)

IMAGENET_MEAN, IMAGENET_DEVIATION = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def llava(folder: Path) -> None:
    """llava-hf/llava-1.5-7b-hf: weights in parts, with an index."""
    specials = ("<s>", "</s>", "<unk>", "<image>", "<pad>")
    folder.mkdir(parents=True, exist_ok=True)
    write_byte_level_tokenizer(folder, specials=specials)
    names = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    write(folder, "tokenizer_config.json", {**names, "model_max_length": 4096})
    text = hf.LlamaConfig(
        vocab_size=len(BYTES) + 6, num_key_value_heads=2, max_position_embeddings=4096, bos_token_id=0, eos_token_id=1,
        pad_token_id=4, **SIZES,
    )  # fmt: skip
    vision = hf.CLIPVisionConfig(image_size=SIDE, patch_size=8, projection_dim=16, **SIZES)
    model = hf.LlavaForConditionalGeneration(
        hf.LlavaConfig(vision_config=vision, text_config=text, image_token_index=3)
    )
    model.save_pretrained(folder, max_shard_size="40KB")
    _with_vision_model(folder)
    write(folder, "preprocessor_config.json", {
        "crop_size": {"height": SIDE, "width": SIDE}, "do_center_crop": True, "do_convert_rgb": True,
        "do_normalize": True, "do_rescale": True, "do_resize": True, "image_mean": CLIP_MEAN,
        "image_processor_type": "CLIPImageProcessor", "image_std": CLIP_DEVIATION, "processor_class": "LlavaProcessor",
        "resample": 3, "rescale_factor": 0.00392156862745098, "size": {"shortest_edge": SIDE},
    })  # fmt: skip


def _with_vision_model(folder: Path) -> None:
    """Name the parameters of the vision tower as they are released, in the parts and in their index."""

    def old(name: str) -> str:
        return name.replace("vision_tower.", "vision_tower.vision_model.")

    index = json.loads((folder / "model.safetensors.index.json").read_text())
    assert any(old(name) != name for name in index["weight_map"])
    renamed = {old(name): file for name, file in index["weight_map"].items()}
    write(folder, "model.safetensors.index.json", {**index, "weight_map": renamed})
    for path in folder.glob("*.safetensors"):
        state = {old(name): value.clone() for name, value in load_file(path).items()}
        save_file(state, path, metadata={"format": "pt"})


def panoptic(folder: Path) -> None:
    """facebook/detr-resnet-50-panoptic: `.bin` only, with the names that timm gives to the ResNet's parameters."""
    backbone = hf.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16, 24, 32], depths=[2, 1, 1, 1],
        out_features=["stage1", "stage2", "stage3", "stage4"],
    )  # fmt: skip
    model = hf.DetrForSegmentation(hf.DetrConfig(
        backbone_config=backbone, d_model=128, encoder_layers=1, decoder_layers=1, encoder_attention_heads=8,
        decoder_attention_heads=8, encoder_ffn_dim=16, decoder_ffn_dim=16, num_queries=5,
        id2label={0: "N/A", 1: "person", 2: "cat", 3: "sky"},
    ))  # fmt: skip
    model.save_pretrained(folder)
    saved = folder / "model.safetensors"
    state = {_as_in_timm(name): value for name, value in load_file(saved).items()}
    saved.unlink()
    write_config(folder, model)
    write(folder, "preprocessor_config.json", {
        "do_normalize": True, "do_resize": True, "feature_extractor_type": "DetrFeatureExtractor",
        "format": "coco_panoptic", "image_mean": IMAGENET_MEAN, "image_std": IMAGENET_DEVIATION, "max_size": 80,
        "size": 48,
    })  # fmt: skip
    write_weights(folder, state, names=("pytorch_model.bin",))


def _as_in_timm(name: str) -> str:
    """What timm calls a parameter of `transformers`' ResNet."""
    name = name.replace("embedder.embedder.convolution", "conv1").replace("embedder.embedder.normalization", "bn1")
    name = name.replace("shortcut.convolution", "downsample.0").replace("shortcut.normalization", "downsample.1")
    name = re.sub(r"encoder\.stages\.(\d)\.layers\.", lambda found: f"layer{int(found[1]) + 1}.", name)
    for part, short in (("convolution", "conv"), ("normalization", "bn")):
        name = re.sub(rf"\.layer\.(\d)\.{part}\.", lambda found, s=short: f".{s}{int(found[1]) + 1}.", name)
    return name


def sam(folder: Path) -> None:
    """facebook/sam-vit-huge."""
    model = hf.SamModel(hf.SamConfig(
        vision_config={
            "hidden_size": 16, "output_channels": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
            "image_size": 64, "patch_size": 8, "window_size": 4, "global_attn_indexes": [1], "mlp_dim": 32,
            "num_pos_feats": 8,
        },
        prompt_encoder_config={"hidden_size": 16, "image_size": 64, "patch_size": 8, "mask_input_channels": 8},
        mask_decoder_config={
            "hidden_size": 16, "mlp_dim": 16, "num_attention_heads": 2, "iou_head_hidden_dim": 16,
        },
    ))  # fmt: skip
    write_config(folder, model)
    write(folder, "preprocessor_config.json", {
        "do_convert_rgb": True, "do_normalize": True, "do_pad": True, "do_rescale": True, "do_resize": True,
        "image_mean": IMAGENET_MEAN, "image_processor_type": "SamImageProcessor", "image_std": IMAGENET_DEVIATION,
        "pad_size": {"height": 64, "width": 64}, "processor_class": "SamProcessor", "resample": 2,
        "rescale_factor": 0.00392156862745098, "size": {"longest_edge": 64},
    })  # fmt: skip
    write_weights(folder, state_of(model), names=("model.safetensors", "pytorch_model.bin"))


def grounding_dino(folder: Path) -> None:
    """IDEA-Research/grounding-dino-tiny."""
    words = write_word_pieces(folder)
    write(folder, "tokenizer_config.json", {
        "do_lower_case": True, "model_max_length": 512, "tokenizer_class": "BertTokenizer"
    })  # fmt: skip
    model = hf.GroundingDinoForObjectDetection(hf.GroundingDinoConfig(
        backbone_config=hf.SwinConfig(
            image_size=64, patch_size=4, embed_dim=8, depths=[1, 1, 1, 1], num_heads=[1, 1, 2, 2], window_size=2,
            out_features=["stage2", "stage3", "stage4"],
        ),
        text_config=hf.BertConfig(vocab_size=words, max_position_embeddings=64, **SIZES),
        d_model=32, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2,
        encoder_ffn_dim=16, decoder_ffn_dim=16, num_queries=5, max_text_len=64,
    ))  # fmt: skip
    model.save_pretrained(folder)
    write(folder, "preprocessor_config.json", {
        "do_convert_annotations": True, "do_normalize": True, "do_pad": True, "do_rescale": True, "do_resize": True,
        "format": "coco_detection", "image_mean": IMAGENET_MEAN, "image_processor_type": "GroundingDinoImageProcessor",
        "image_std": IMAGENET_DEVIATION, "pad_size": None, "resample": 2, "rescale_factor": 0.00392156862745098,
        "size": {"longest_edge": 192, "shortest_edge": 128},
    })  # fmt: skip


def _dpt_settings(folder: Path) -> None:
    write(folder, "preprocessor_config.json", {
        "do_normalize": True, "do_resize": True, "ensure_multiple_of": 1, "feature_extractor_type":
        "DPTFeatureExtractor", "image_mean": HALF, "image_std": HALF, "keep_aspect_ratio": False, "resample": 2,
        "size": SIDE,
    })  # fmt: skip


def dpt_large(folder: Path) -> None:
    """Intel/dpt-large."""
    model = hf.DPTForDepthEstimation(hf.DPTConfig(
        image_size=SIDE, patch_size=8, backbone_out_indices=[0, 1, 2, 3], neck_hidden_sizes=[8, 8, 16, 16],
        fusion_hidden_size=8, **{**SIZES, "num_hidden_layers": 4},
    ))  # fmt: skip
    write_config(folder, model)
    _dpt_settings(folder)
    write_weights(folder, state_of(model), names=("pytorch_model.bin",))


def dpt_hybrid(folder: Path) -> None:
    """Intel/dpt-hybrid-midas, whose first layers are convolutions."""
    backbone = hf.BitConfig(
        embedding_size=8, hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1], num_groups=2, layer_type="bottleneck",
        global_padding="same", embedding_dynamic_padding=True, out_features=["stage1", "stage2", "stage3"],
    )  # fmt: skip
    model = hf.DPTForDepthEstimation(hf.DPTConfig(
        image_size=SIDE, patch_size=16, is_hybrid=True, backbone_config=backbone,
        backbone_featmap_shape=[1, 16, 2, 2], backbone_out_indices=[0, 1, 2, 3], neck_hidden_sizes=[8, 8, 16, 16],
        neck_ignore_stages=[0, 1], readout_type="project", fusion_hidden_size=8,
        **{**SIZES, "num_hidden_layers": 4},
    ))  # fmt: skip
    write_config(folder, model)
    _dpt_settings(folder)
    write_weights(folder, state_of(model), names=("model.safetensors", "pytorch_model.bin"))


def vitpose(folder: Path) -> None:
    """usyd-community/vitpose-base-simple."""
    model = hf.VitPoseForPoseEstimation(hf.VitPoseConfig(
        backbone_config=hf.VitPoseBackboneConfig(
            image_size=[32, 24], patch_size=[8, 8], hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
            out_indices=[2],
        ),
        num_labels=17, use_simple_decoder=True,
    ))  # fmt: skip
    write_config(folder, model)
    write_weights(folder, state_of(model), names=("model.safetensors",))


def videomae(folder: Path) -> None:
    """MCG-NJU/videomae-base-finetuned-kinetics."""
    labels = {0: "abseiling", 1: "air drumming", 2: "juggling balls", 3: "archery", 4: "zumba", 5: "yoga", 6: "tai chi"}
    model = hf.VideoMAEForVideoClassification(hf.VideoMAEConfig(
        image_size=SIDE, patch_size=8, num_frames=4, id2label=labels, **SIZES
    ))  # fmt: skip
    # Saved with the names of the release, `q_bias` and `v_bias`.
    model.save_pretrained(folder)
    assert any(name.endswith(".q_bias") for name in load_file(folder / "model.safetensors"))
    write_config(folder, model)


def timesformer_gpt2(folder: Path) -> None:
    """Neleac/timesformer-gpt2-video-captioning: without a tokenizer."""
    words = hf.GPT2Config(
        vocab_size=len(BYTES) + 2, n_positions=1024, n_embd=16, n_layer=1, n_head=2, add_cross_attention=True,
        bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    config = hf.VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        hf.TimesformerConfig(image_size=SIDE, patch_size=8, num_frames=4, **SIZES), words
    )
    config.decoder_start_token_id = config.pad_token_id = config.eos_token_id = config.bos_token_id = 0
    model = hf.VisionEncoderDecoderModel(config)
    model.save_pretrained(folder)


def flan_t5(folder: Path) -> None:
    """google/flan-t5-base: a T5 of the second kind, whose head is no copy of its embeddings."""
    t5(folder)
    config = json.loads((folder / "config.json").read_text())
    model = hf.T5ForConditionalGeneration(hf.T5Config(
        vocab_size=config["vocab_size"], d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2, pad_token_id=0,
        eos_token_id=1, decoder_start_token_id=0, feed_forward_proj="gated-gelu", tie_word_embeddings=False,
    ))  # fmt: skip
    write_config(folder, model, tie_word_embeddings=False)
    state = state_of(model)
    state |= {"lm_head.weight": torch.randn_like(state["shared.weight"])}
    write_weights(folder, state, names=("model.safetensors", "pytorch_model.bin", "tf_model.h5"))


TOOL_BUILDERS: Mapping[str, Callable[[Path], None]] = {
    "llava": llava,
    "detection-boxes": detr,
    "panoptic-segmentation": panoptic,
    "segment-anything": sam,
    "visual-grounding": grounding_dino,
    "depth": dpt_large,
    "normals": dpt_hybrid,
    "people": vitpose,
    "video-classification": videomae,
    "video-captioning": timesformer_gpt2,
    "pixart": pixart,
    "image-variations": image_variations,
    "stable-diffusion-15": stable_diffusion,
    "inpainting": inpainting,
    "instruction-editing": instruct_pix2pix,
    "text-to-text": flan_t5,
    "controlnet-mlsd": controlnet_without_safetensors,
    **MEDIA_BUILDERS,
    **{f"controlnet-{name}": controlnet for name in ("hed", "scribble", "openpose", "seg", "canny", "depth", "normal")},
}
"""By the name of the profile's checkpoint, what writes its repository."""
TOOL_FILES = ("soft-edges",)
"""Checkpoints that are single files."""
WIDTHS = [4, 8, 8, 8, 8]


def save_edge_annotator(path: Path) -> None:
    """lllyasviel/Annotators' ControlNetHED.pth, in half precision."""
    state = EdgeAnnotator(tuple(WIDTHS)).state_dict()
    torch.save({name: value.half() for name, value in state.items()}, path)
