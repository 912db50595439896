"""The networks of `transformers` in the profile `paper`, from their published configurations or in small."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
import transformers as hf
from transformers.models.bark.generation_configuration_bark import (
    BarkCoarseGenerationConfig,
    BarkFineGenerationConfig,
    BarkSemanticGenerationConfig,
)

from evaluator.execution.random_weights.vocabularies import (
    END,
    MASKING,
    write_byte_pairs,
    write_clip_words,
    write_json,
    write_sentence_pieces,
    write_word_pieces,
)

SMALL: Mapping[str, Any] = MappingProxyType(
    {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
)
"""Sizes of a small transformer."""
SMALL_SIDE = 32
"""Side of the square that small encoders of images see, in pixels, with patches of 8."""
SMALL_WORDS = 600
"""Tokens of small models."""
_CLIP = {"image_mean": [0.48145466, 0.4578275, 0.40821073], "image_std": [0.26862954, 0.26130258, 0.27577711]}
_IMAGENET = {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}
_HALF = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3}
_USUAL = {"do_normalize": True, "do_resize": True, "do_rescale": True, "rescale_factor": 1 / 255}
_MASKING_NAMES = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>",
                  "mask_token": "<mask>", "cls_token": "<s>", "sep_token": "</s>"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Network:
    """How to build the checkpoint of a network."""

    model: Callable[[], Any]
    """Creates the network, with random weights, on torch's default device in its default dtype."""
    files: Callable[[Path], None] = lambda _: None
    """Writes the other files of its folder: settings of tokenizer, images and generation."""


Builder = Callable[[bool], Network]
"""From whether the network is to be small."""


def clip_images(side: int) -> dict[str, Any]:
    """Settings of CLIP's image processor."""
    return {
        **_USUAL, **_CLIP, "crop_size": {"height": side, "width": side}, "do_center_crop": True,
        "do_convert_rgb": True, "image_processor_type": "CLIPImageProcessor", "resample": 3,
        "size": {"shortest_edge": side},
    }  # fmt: skip


def _images(folder: Path, **settings: object) -> None:
    write_json(folder / "preprocessor_config.json", settings)


def _vit_images(folder: Path, *, small: bool) -> None:
    side = SMALL_SIDE if small else 224
    kind = "ViTFeatureExtractor"
    _images(folder, **{**_USUAL, **_HALF, "feature_extractor_type": kind, "resample": 2, "size": side})


def _detr_images(folder: Path, *, small: bool, form: str) -> None:
    sizes = {"size": 48, "max_size": 80} if small else {"size": 800, "max_size": 1333}
    _images(
        folder, **{**_USUAL, **_IMAGENET, "feature_extractor_type": "DetrFeatureExtractor", "format": form, **sizes}
    )


def _vision(small: bool, **real: object) -> dict[str, Any]:
    """Sizes of an encoder of images."""
    return {"image_size": SMALL_SIDE, "patch_size": 8, **SMALL} if small else real


def _swin2sr(small: bool) -> Network:
    sizes: dict[str, Any] = {"image_size": 64, "embed_dim": 180, "depths": [6] * 6, "num_heads": [6] * 6}
    if small:
        sizes = {"image_size": 16, "embed_dim": 12, "depths": [1, 1], "num_heads": [2, 2]}
    config = hf.Swin2SRConfig(window_size=8, mlp_ratio=2.0, upscale=2, upsampler="pixelshuffle", **sizes)
    settings = {"do_pad": True, "do_rescale": True, "pad_size": 8, "rescale_factor": 1 / 255}
    return Network(
        lambda: hf.Swin2SRForImageSuperResolution(config),
        lambda folder: _images(folder, image_processor_type="Swin2SRImageProcessor", **settings),
    )


def _vit(small: bool, *, classes: int) -> Network:
    config = hf.ViTConfig(id2label={number: f"class {number}" for number in range(classes)}, **_vision(small))
    return Network(lambda: hf.ViTForImageClassification(config), lambda folder: _vit_images(folder, small=small))


def _detr_config(small: bool, *, depths: list[int], classes: int, **small_sizes: int) -> Any:
    stages = ["stage1", "stage2", "stage3", "stage4"] if classes > 91 else ["stage4"]
    sizes: dict[str, Any] = {"depths": depths}
    if small:
        sizes = {"embedding_size": 8, "hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1]}
    names = {number: "person" if number == 1 else f"thing {number}" for number in range(6 if small else classes)}
    few = {"encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "num_queries": 5}
    return hf.DetrConfig(
        use_timm_backbone=False, use_pretrained_backbone=False, backbone=None,
        backbone_config=hf.ResNetConfig(out_features=stages, **sizes), id2label=names,
        **({**few, **small_sizes} if small else {}),
    )  # fmt: skip


def _detr(small: bool, *, depths: list[int]) -> Network:
    heads = {"d_model": 16, "encoder_attention_heads": 2, "decoder_attention_heads": 2}
    config = _detr_config(small, depths=depths, classes=91, **heads)
    return Network(
        lambda: hf.DetrForObjectDetection(config),
        lambda folder: _detr_images(folder, small=small, form="coco_detection"),
    )


def _panoptic(small: bool) -> Network:
    config = _detr_config(small, depths=[3, 4, 6, 3], classes=250, d_model=128)
    return Network(
        lambda: hf.DetrForSegmentation(config), lambda folder: _detr_images(folder, small=small, form="coco_panoptic")
    )


def _gpt2_config(small: bool, **settings: object) -> Any:
    sizes: dict[str, Any] = {"vocab_size": SMALL_WORDS, "n_embd": 16, "n_layer": 1, "n_head": 2} if small else {}
    return hf.GPT2Config(bos_token_id=0, eos_token_id=0, **sizes, **settings)


def _gpt2_words(folder: Path, *, small: bool, **names: object) -> None:
    given = {"bos_token": END, "eos_token": END, "unk_token": END, "model_max_length": 1024, **names}
    write_byte_pairs(folder, count=SMALL_WORDS if small else 50257, specials=(END,), **given)


def _gpt2(small: bool) -> Network:
    config = _gpt2_config(small)
    return Network(lambda: hf.GPT2LMHeadModel(config), lambda folder: _gpt2_words(folder, small=small))


def _describing(small: bool, *, encoder: Any) -> Callable[[], Any]:
    """A GPT-2 that describes what an encoder sees."""
    words = _gpt2_config(small, add_cross_attention=True, is_decoder=True)
    config = hf.VisionEncoderDecoderConfig.from_encoder_decoder_configs(encoder, words)
    config.decoder_start_token_id = config.pad_token_id = config.eos_token_id = config.bos_token_id = 0
    return lambda: hf.VisionEncoderDecoderModel(config)


def _captioner(small: bool) -> Network:
    def files(folder: Path) -> None:
        _vit_images(folder, small=small)
        _gpt2_words(folder, small=small, pad_token=END)

    return Network(_describing(small, encoder=hf.ViTConfig(**_vision(small))), files)


def _timesformer(small: bool) -> Network:
    sizes = {**_vision(small), "num_frames": 4} if small else {}
    return Network(_describing(small, encoder=hf.TimesformerConfig(**sizes)))


def _git(small: bool) -> Network:
    words = SMALL_WORDS if small else 30522
    sizes: dict[str, Any] = dict(SMALL) if small else {"num_hidden_layers": 6}
    config = hf.GitConfig(
        vocab_size=words, max_position_embeddings=1024, pad_token_id=0, bos_token_id=2, eos_token_id=3,
        vision_config=_vision(small, image_size=480), **sizes,
    )  # fmt: skip

    def files(folder: Path) -> None:
        write_json(folder / "preprocessor_config.json", clip_images(SMALL_SIDE if small else 480))
        write_word_pieces(folder, count=words, lowers=True)

    return Network(lambda: hf.GitForCausalLM(config), files)


def _finbert(small: bool) -> Network:
    words = SMALL_WORDS if small else 30873
    names = {0: "Neutral", 1: "Positive", 2: "Negative"}
    config = hf.BertConfig(vocab_size=words, id2label=names, **(SMALL if small else {}))
    return Network(
        lambda: hf.BertForSequenceClassification(config),
        lambda folder: write_word_pieces(folder, count=words, lowers=True),
    )


def _bart(small: bool) -> Network:
    words = SMALL_WORDS if small else 50264
    sizes: dict[str, Any] = {"d_model": 1024, "encoder_layers": 12, "decoder_layers": 12}
    if small:
        sizes = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16,
                 "encoder_attention_heads": 2, "decoder_attention_heads": 2}  # fmt: skip
    config = hf.BartConfig(vocab_size=words, max_position_embeddings=1024, forced_eos_token_id=2, **sizes)

    def files(folder: Path) -> None:
        write_byte_pairs(folder, count=words, specials=MASKING, model_max_length=1024, **_MASKING_NAMES)
        write_json(folder / "generation_config.json", {
            "bos_token_id": 0, "decoder_start_token_id": 2, "early_stopping": True, "eos_token_id": 2,
            "forced_bos_token_id": 0, "forced_eos_token_id": 2, "length_penalty": 2.0, "max_length": 142,
            "min_length": 56, "no_repeat_ngram_size": 3, "num_beams": 4, "pad_token_id": 1,
        })  # fmt: skip

    return Network(lambda: hf.BartForConditionalGeneration(config), files)


def t5_config(small: bool, **settings: Any) -> Any:
    """The configuration of a T5: `base`, or another with these settings."""
    sizes: dict[str, Any] = {"d_model": 768, "d_ff": 3072, "d_kv": 64, "num_layers": 12, "num_heads": 12, **settings}
    if small:
        sizes |= {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2}
    return hf.T5Config(
        vocab_size=SMALL_WORDS if small else 32128, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0, **sizes
    )


def _t5(small: bool, **settings: Any) -> Network:
    config = t5_config(small, **settings)

    def model() -> Any:
        network: Any = hf.T5ForConditionalGeneration(config)
        if not settings.get("tie_word_embeddings", True):
            # `transformers` ties the head of every new T5 to its embeddings, and tells only by the values whether the
            # head of a loaded one is another.
            network.lm_head = torch.nn.Linear(config.d_model, config.vocab_size, bias=False)
            network.config.tie_word_embeddings = False
        return network

    def files(folder: Path) -> None:
        write_sentence_pieces(folder, count=config.vocab_size)
        special = {"decoder_start_token_id": 0, "eos_token_id": 1, "pad_token_id": 0}
        write_json(folder / "generation_config.json", special)

    return Network(model, files)


def _roberta(small: bool) -> Network:
    words = SMALL_WORDS if small else 50265
    sizes: dict[str, Any] = dict(SMALL) if small else {"num_hidden_layers": 6}
    config = hf.RobertaConfig(vocab_size=words, max_position_embeddings=514, type_vocab_size=1, **sizes)
    return Network(
        lambda: hf.RobertaForMaskedLM(config),
        lambda folder: write_byte_pairs(
            folder, count=words, specials=MASKING, model_max_length=512, **_MASKING_NAMES
        ),
    )  # fmt: skip


def _distilbert(small: bool) -> Network:
    words = SMALL_WORDS if small else 28996
    sizes: dict[str, Any] = {"dim": 16, "n_layers": 1, "n_heads": 2, "hidden_dim": 32} if small else {}
    config = hf.DistilBertConfig(vocab_size=words, **sizes)
    return Network(
        lambda: hf.DistilBertForQuestionAnswering(config),
        lambda folder: write_word_pieces(folder, count=words, lowers=False),
    )


def _deberta(small: bool) -> Network:
    words = SMALL_WORDS if small else 50265
    sizes: dict[str, Any] = {**(SMALL if small else {"hidden_size": 1024, "num_attention_heads": 16,
                             "intermediate_size": 4096}), "num_hidden_layers": 48}  # fmt: skip
    config = hf.DebertaConfig(
        vocab_size=words, relative_attention=True, pos_att_type=["c2p", "p2c"], position_biased_input=False,
        type_vocab_size=0, max_relative_positions=-1, max_position_embeddings=512, pad_token_id=1, num_labels=3,
        **sizes,
    )  # fmt: skip
    names = {"cls_token": "[CLS]", "pad_token": "[PAD]", "sep_token": "[SEP]", "unk_token": "[UNK]",
             "mask_token": "[MASK]"}  # fmt: skip
    return Network(
        lambda: hf.DebertaForSequenceClassification(config),
        lambda folder: write_byte_pairs(
            folder, count=words, specials=tuple(names.values()), model_max_length=512, **names
        ),
    )  # fmt: skip


def _clip(small: bool) -> Network:
    words = SMALL_WORDS if small else 49408
    text = {"vocab_size": words, "bos_token_id": words - 2, "eos_token_id": words - 1, **(SMALL if small else {})}
    config = hf.CLIPConfig(
        text_config=text, vision_config=_vision(small, patch_size=16), projection_dim=16 if small else 512
    )

    def files(folder: Path) -> None:
        write_json(folder / "preprocessor_config.json", clip_images(SMALL_SIDE if small else 224))
        write_clip_words(folder, count=words)

    return Network(lambda: hf.CLIPModel(config), files)


def _llava(small: bool) -> Network:
    words = SMALL_WORDS if small else 32064
    sizes: dict[str, Any] = {"hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
                             "num_attention_heads": 32}  # fmt: skip
    text = hf.LlamaConfig(
        vocab_size=words, max_position_embeddings=4096, rms_norm_eps=1e-5, bos_token_id=0, eos_token_id=1,
        pad_token_id=4, **(SMALL if small else sizes),
    )  # fmt: skip
    large = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16}
    vision = hf.CLIPVisionConfig(
        projection_dim=16 if small else 768, **_vision(small, image_size=336, patch_size=14, **large)
    )
    config = hf.LlavaConfig(vision_config=vision, text_config=text, image_token_index=3)
    names = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}

    def files(folder: Path) -> None:
        write_json(folder / "preprocessor_config.json", clip_images(SMALL_SIDE if small else 336))
        specials = ("<s>", "</s>", "<unk>", "<image>", "<pad>")
        write_byte_pairs(folder, count=words, specials=specials, model_max_length=4096, **names)

    return Network(lambda: hf.LlavaForConditionalGeneration(config), files)


def _sam(small: bool) -> Network:
    config = hf.SamConfig(vision_config={
        "hidden_size": 1280, "num_hidden_layers": 32, "num_attention_heads": 16, "mlp_dim": 5120,
        "global_attn_indexes": [7, 15, 23, 31], "output_channels": 256,
    })  # fmt: skip
    if small:
        config = hf.SamConfig(
            vision_config={
                "hidden_size": 16, "output_channels": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
                "image_size": 64, "patch_size": 8, "window_size": 4, "global_attn_indexes": [1], "mlp_dim": 32,
                "num_pos_feats": 8,
            },
            prompt_encoder_config={"hidden_size": 16, "image_size": 64, "patch_size": 8, "mask_input_channels": 8},
            mask_decoder_config={"hidden_size": 16, "mlp_dim": 16, "num_attention_heads": 2,
                                 "iou_head_hidden_dim": 16},
        )  # fmt: skip
    side = 64 if small else 1024
    settings = {
        **_USUAL, **_IMAGENET, "do_convert_rgb": True, "do_pad": True, "image_processor_type": "SamImageProcessor",
        "pad_size": {"height": side, "width": side}, "resample": 2, "size": {"longest_edge": side},
    }  # fmt: skip
    return Network(lambda: hf.SamModel(config), lambda folder: _images(folder, **settings))


def _grounding(small: bool) -> Network:
    words = SMALL_WORDS if small else 30522
    stages = ["stage2", "stage3", "stage4"]
    if small:
        swin = hf.SwinConfig(image_size=64, patch_size=4, embed_dim=8, depths=[1, 1, 1, 1], num_heads=[1, 1, 2, 2],
                             window_size=2, out_features=stages)  # fmt: skip
        config = hf.GroundingDinoConfig(
            backbone_config=swin, text_config=hf.BertConfig(vocab_size=words, max_position_embeddings=64, **SMALL),
            d_model=32, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2,
            encoder_ffn_dim=16, decoder_ffn_dim=16, num_queries=5, max_text_len=64,
        )  # fmt: skip
    else:
        swin = hf.SwinConfig(image_size=224, embed_dim=96, depths=[2, 2, 6, 2], num_heads=[3, 6, 12, 24],
                             window_size=7, out_features=stages)  # fmt: skip
        config = hf.GroundingDinoConfig(backbone_config=swin)
    sizes = {"longest_edge": 192, "shortest_edge": 128} if small else {"longest_edge": 1333, "shortest_edge": 800}

    def files(folder: Path) -> None:
        write_word_pieces(folder, count=words, lowers=True)
        kind = "GroundingDinoImageProcessor"
        more = {"do_pad": True, "format": "coco_detection", "image_processor_type": kind, "resample": 2, "size": sizes}
        _images(folder, **{**_USUAL, **_IMAGENET, **more})

    return Network(lambda: hf.GroundingDinoForObjectDetection(config), files)


def _dpt_images(folder: Path, *, small: bool) -> None:
    kind, side = "DPTFeatureExtractor", SMALL_SIDE if small else 384
    more = {"ensure_multiple_of": 1, "feature_extractor_type": kind, "keep_aspect_ratio": False, "resample": 2}
    _images(folder, **{**_USUAL, **_HALF, **more, "size": side})


def _dpt_large(small: bool) -> Network:
    sizes: dict[str, Any] = {
        "hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16, "num_hidden_layers": 24,
        "backbone_out_indices": [5, 11, 17, 23], "neck_hidden_sizes": [256, 512, 1024, 1024], "image_size": 384,
        "patch_size": 16,
    }  # fmt: skip
    if small:
        sizes = {**_vision(small), "num_hidden_layers": 4, "backbone_out_indices": [0, 1, 2, 3],
                 "neck_hidden_sizes": [8, 8, 16, 16], "fusion_hidden_size": 8}  # fmt: skip
    config = hf.DPTConfig(**sizes)
    return Network(lambda: hf.DPTForDepthEstimation(config), lambda folder: _dpt_images(folder, small=small))


def _dpt_hybrid(small: bool) -> Network:
    sizes: dict[str, Any] = {
        "image_size": 384, "neck_hidden_sizes": [256, 512, 768, 768], "backbone_out_indices": [2, 5, 8, 11],
        "backbone_featmap_shape": [1, 1024, 24, 24], "reassemble_factors": [1, 1, 1, 0.5],
    }  # fmt: skip
    if small:
        sizes = {
            **_vision(small), "patch_size": 16, "num_hidden_layers": 4, "backbone_featmap_shape": [1, 16, 2, 2],
            "backbone_out_indices": [0, 1, 2, 3], "neck_hidden_sizes": [8, 8, 16, 16], "fusion_hidden_size": 8,
            "backbone_config": hf.BitConfig(
                embedding_size=8, hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1], num_groups=2, layer_type="bottleneck",
                global_padding="same", embedding_dynamic_padding=True, out_features=["stage1", "stage2", "stage3"],
            ),
        }  # fmt: skip
    config = hf.DPTConfig(is_hybrid=True, neck_ignore_stages=[0, 1], readout_type="project", **sizes)
    return Network(lambda: hf.DPTForDepthEstimation(config), lambda folder: _dpt_images(folder, small=small))


def _vitpose(small: bool) -> Network:
    sizes: dict[str, Any] = {"image_size": [256, 192], "patch_size": [16, 16], "hidden_size": 768,
                             "num_hidden_layers": 12, "num_attention_heads": 12, "out_indices": [12]}  # fmt: skip
    if small:
        sizes = {"image_size": [32, 24], "patch_size": [8, 8], "hidden_size": 16, "num_hidden_layers": 2,
                 "num_attention_heads": 2, "out_indices": [2]}  # fmt: skip
    config = hf.VitPoseConfig(backbone_config=hf.VitPoseBackboneConfig(**sizes), num_labels=17, use_simple_decoder=True)
    return Network(lambda: hf.VitPoseForPoseEstimation(config))


def _videomae(small: bool) -> Network:
    sizes = {**_vision(small), "num_frames": 4} if small else {}
    names = {number: f"action {number}" for number in range(7 if small else 400)}
    config = hf.VideoMAEConfig(id2label=names, **sizes)
    return Network(lambda: hf.VideoMAEForVideoClassification(config))


def _flan_t5(small: bool) -> Network:
    return _t5(small, d_ff=2048, feed_forward_proj="gated-gelu", tie_word_embeddings=False)


def _whisper(small: bool) -> Network:
    words = SMALL_WORDS if small else 51865
    width, layers, heads = (16, 1, 2) if small else (512, 6, 8)
    both = {"layers": layers, "attention_heads": heads, "ffn_dim": 2 * width if small else 4 * width}
    sizes = {f"{part}_{name}": size for part in ("encoder", "decoder") for name, size in both.items()}
    specials = (END, "<|startoftranscript|>", "<|en|>", "<|de|>", "<|translate|>", "<|transcribe|>", "<|notimestamps|>")
    config = hf.WhisperConfig(
        vocab_size=words, bos_token_id=0, eos_token_id=0, pad_token_id=0, decoder_start_token_id=1,
        suppress_tokens=None, begin_suppress_tokens=None, d_model=width, **sizes,
    )  # fmt: skip

    def model() -> Any:
        network = hf.WhisperForConditionalGeneration(config)
        settings = network.generation_config
        settings.is_multilingual, settings.lang_to_id = True, {"<|en|>": 2, "<|de|>": 3}
        settings.task_to_id, settings.no_timestamps_token_id = {"translate": 4, "transcribe": 5}, 6
        # Otherwise it is derived from the model's configuration again, without these.
        settings._from_model_config = False
        return network

    def files(folder: Path) -> None:
        write_byte_pairs(folder, count=words, specials=specials, eos_token=END, pad_token=END, model_max_length=448)
        settings = {"chunk_length": 30, "feature_size": 80, "hop_length": 160, "n_fft": 400, "n_samples": 480000}
        more = {"nb_max_frames": 3000, "padding_side": "right", "padding_value": 0.0, "sampling_rate": 16000}
        _images(folder, feature_extractor_type="WhisperFeatureExtractor", **settings, **more)

    return Network(model, files)


def _wav2vec2(small: bool) -> Network:
    sizes: dict[str, Any] = {"classifier_proj_size": 256}
    if small:
        sizes = {**SMALL, "classifier_proj_size": 8, "conv_dim": (8,) * 7, "num_conv_pos_embeddings": 16,
                 "num_conv_pos_embedding_groups": 2}  # fmt: skip
    names = {number: f"word {number}" for number in range(12)}
    config = hf.Wav2Vec2Config(id2label=names, use_weighted_layer_sum=True, **sizes)
    settings = {"do_normalize": True, "feature_size": 1, "padding_side": "right", "padding_value": 0.0}
    kind = "Wav2Vec2FeatureExtractor"
    return Network(
        lambda: hf.Wav2Vec2ForSequenceClassification(config),
        lambda folder: _images(folder, feature_extractor_type=kind, sampling_rate=16000, **settings),
    )


def _with_codes(network: Any) -> Any:
    """A network with an EnCodec whose codes differ: they begin as zeros, with which all codes would sound alike."""
    for name, codes in network.named_buffers():
        if name.endswith("codebook.embed"):
            torch.nn.init.normal_(codes)
    return network


def _musicgen(small: bool) -> Network:
    codes = 64 if small else 2048
    codec: dict[str, Any] = {"num_filters": 64, "codebook_dim": 128, "target_bandwidths": [2.2]}
    sizes: dict[str, Any] = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "ffn_dim": 4096}
    if small:
        codec = {"num_filters": 2, "codebook_dim": 16, "hidden_size": 16, "target_bandwidths": [1.2]}
        sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "ffn_dim": 32}
    text = t5_config(small, d_model=768, d_ff=3072, num_layers=12, num_heads=12)
    config = hf.MusicgenConfig(
        text_encoder=text,
        audio_encoder=hf.EncodecConfig(
            sampling_rate=32000, upsampling_ratios=[8, 5, 4, 4], codebook_size=codes, use_causal_conv=False, **codec
        ),
        decoder=hf.MusicgenDecoderConfig(
            vocab_size=codes, num_codebooks=4, pad_token_id=codes, bos_token_id=codes, **sizes
        ),
    )

    def model() -> Any:
        network = hf.MusicgenForConditionalGeneration(config)
        settings = network.generation_config
        settings.decoder_start_token_id = settings.pad_token_id = settings.bos_token_id = codes
        return _with_codes(network)

    return Network(model, lambda folder: write_sentence_pieces(folder, count=text.vocab_size))


def _bark(small: bool) -> Network:
    sizes: dict[str, Any] = {"hidden_size": 1024, "num_layers": 24, "num_heads": 16, "bias": False, "block_size": 1024}
    codec: dict[str, Any] = {}
    if small:
        sizes = {"hidden_size": 16, "num_layers": 1, "num_heads": 2, "bias": False, "block_size": 1024}
        codec = {"num_filters": 2, "codebook_dim": 16, "hidden_size": 16}
    # The vocabularies are those that generation counts on, also in small.
    config = hf.BarkConfig(
        semantic_config={"input_vocab_size": 129600, "output_vocab_size": 10048, **sizes},
        coarse_acoustics_config={"input_vocab_size": 12096, "output_vocab_size": 12096, **sizes},
        fine_acoustics_config={"input_vocab_size": 1056, "output_vocab_size": 1056, **sizes},
        codec_config={"model_type": "encodec", **codec},
    )

    def files(folder: Path) -> None:
        # Their defaults are Bark's; this release of transformers cannot save them itself.
        parts = {"semantic_config": BarkSemanticGenerationConfig(), "fine_acoustics_config": BarkFineGenerationConfig(),
                 "coarse_acoustics_config": BarkCoarseGenerationConfig()}  # fmt: skip
        settings = {name: part.to_diff_dict() for name, part in parts.items()}
        write_json(folder / "generation_config.json", {"codebook_size": 1024, "sample_rate": 24000, **settings})
        write_word_pieces(folder, count=SMALL_WORDS if small else 119547, lowers=False)

    return Network(lambda: _with_codes(hf.BarkModel(config)), files)


NETWORKS: Mapping[str, Builder] = MappingProxyType(
    {
        "super-resolution": _swin2sr,
        "classification": lambda small: _vit(small, classes=1000),
        "detection": lambda small: _detr(small, depths=[3, 4, 23, 3]),
        "captioning": _captioner,
        "visual-questions": _git,
        "sentiment": _finbert,
        "summarization": _bart,
        "machine-translation": _t5,
        "fill-mask": _roberta,
        "question-answering": _distilbert,
        "text-generation": _gpt2,
        "llava": _llava,
        "detection-boxes": lambda small: _detr(small, depths=[3, 4, 6, 3]),
        "panoptic-segmentation": _panoptic,
        "segment-anything": _sam,
        "visual-grounding": _grounding,
        "depth": _dpt_large,
        "normals": _dpt_hybrid,
        "people": _vitpose,
        "video-classification": _videomae,
        "video-captioning": _timesformer,
        "text-to-text": _flan_t5,
        "speech-to-text": _whisper,
        "sound-classification": _wav2vec2,
        "text-to-music": _musicgen,
        "text-to-speech": _bark,
        "vit-score": lambda small: _vit(small, classes=3),
        "bert-score": _deberta,
        "clip-score": _clip,
        "reference-translation": lambda small: _t5(small, d_model=1024, d_ff=4096, num_layers=24, num_heads=16),
    }
)
"""By the name of the profile's checkpoint."""
