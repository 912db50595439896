"""Small checkpoints in the layouts in which the repositories of the profile `paper` are released.

Sizes are tiny and parameters random; names of files, settings and parameters are those of the hub, with what old
releases have and today's libraries do not write: weights in `.bin` only, further precisions and frameworks beside them,
`position_ids` and attention masks kept as parameters, vocabularies without `tokenizer.json`, sizes given as one number.
Positions are as many as released, so that the profile's own lengths can be used.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
import transformers as hf
from diffusers import AutoencoderKL, UNet2DConditionModel
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor

from evaluator.execution.experts.colorizer import Colorizer, ColorizerConfig
from evaluator.execution.experts.restormer import Restormer, RestormerConfig

State = dict[str, Tensor]
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
SIDE = 32
"""Of the images that encoders take."""
BYTES = sorted(pre_tokenizers.ByteLevel.alphabet())
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789.,?!-"
CLIP_MEAN, CLIP_DEVIATION = [0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]
HALF = [0.5, 0.5, 0.5]
OLD_VIT = {
    "do_normalize": True, "do_resize": True, "feature_extractor_type": "ViTFeatureExtractor", "image_mean": HALF,
    "image_std": HALF, "resample": 2, "size": SIDE,
}  # fmt: skip
OLD_CLIP = {
    "crop_size": SIDE, "do_center_crop": True, "do_normalize": True, "do_resize": True,
    "feature_extractor_type": "CLIPFeatureExtractor", "image_mean": CLIP_MEAN, "image_std": CLIP_DEVIATION,
    "resample": 3, "size": SIDE,
}  # fmt: skip


def write(folder: Path, name: str, content: object) -> None:
    """A JSON file, or a text."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))


def write_weights(folder: Path, state: State, *, names: tuple[str, ...]) -> None:
    """One file for each name; those with `fp16` in half precision, those of other frameworks without content."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        half = {key: value.half() if value.is_floating_point() else value for key, value in state.items()}
        chosen = half if ".fp16." in name else state
        if name.endswith(".safetensors"):
            save_file({key: value.clone() for key, value in chosen.items()}, folder / name, metadata={"format": "pt"})
        elif name.endswith(".bin"):
            torch.save(chosen, folder / name)
        else:
            (folder / name).write_bytes(b"of another framework")


def write_config(folder: Path, model: Any, *, drop: tuple[str, ...] = (), **settings: object) -> None:
    """The configuration as an old version of the library wrote it: without the type of numbers."""
    config = {key: value for key, value in model.config.to_dict().items() if key not in {"dtype", *drop}}
    write(folder, "config.json", {**config, "transformers_version": "4.8.1", **settings})


def write_byte_level(folder: Path, *, specials: tuple[str, ...]) -> int:
    """`vocab.json` and `merges.txt` as GPT-2, RoBERTa and their kin have them; gives the size of the vocabulary."""
    vocabulary = {token: index for index, token in enumerate((*specials, *BYTES, "th"))}
    write(folder, "vocab.json", vocabulary)
    write(folder, "merges.txt", "#version: 0.2\nt h\n")
    return len(vocabulary)


def write_byte_level_tokenizer(folder: Path, *, specials: tuple[str, ...]) -> None:
    """The same as `tokenizer.json`."""
    vocabulary = {token: index for index, token in enumerate((*specials, *BYTES, "th"))}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[("t", "h")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(list(specials))
    tokenizer.save(str(folder / "tokenizer.json"))


def write_word_pieces(folder: Path) -> int:
    """`vocab.txt` as BERT has it; gives the size of the vocabulary."""
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *(f"##{letter}" for letter in LETTERS)]
    write(folder, "vocab.txt", "\n".join(pieces) + "\n")
    return len(pieces)


def write_clip_words(folder: Path) -> int:
    """CLIP's vocabulary: bytes, bytes at the end of a word, a merge, and its two special tokens last."""
    tokens = [*BYTES, *(f"{letter}</w>" for letter in BYTES), "th", "<|startoftext|>", "<|endoftext|>"]
    write(folder, "vocab.json", {token: index for index, token in enumerate(tokens)})
    write(folder, "merges.txt", "#version: 0.2\nt h\n")
    special = {"lstrip": False, "normalized": True, "rstrip": False, "single_word": False}
    start, end = ({"content": f"<|{name}oftext|>", **special} for name in ("start", "end"))
    names = {"bos_token": start, "eos_token": end, "unk_token": end, "pad_token": "<|endoftext|>"}
    write(folder, "special_tokens_map.json", names)
    added = {name: {"__type": "AddedToken", **value} for name, value in names.items() if isinstance(value, dict)}
    settings = {
        "add_prefix_space": False, "do_lower_case": True, "errors": "replace", "model_max_length": 77,
        "name_or_path": "openai/clip-vit-large-patch14", "special_tokens_map_file": "./special_tokens_map.json",
        "tokenizer_class": "CLIPTokenizer",
    }  # fmt: skip
    write(folder, "tokenizer_config.json", {**names, **added, **settings})
    return len(tokens)


def positions(count: int) -> Tensor:
    return torch.arange(count).expand((1, -1)).clone()


def state_of(model: Any, **further: Tensor) -> State:
    """Parameters and buffers, with those that only old releases keep."""
    return {**{name: value.detach().clone() for name, value in model.state_dict().items()}, **further}


def without_repeats(state: State) -> State:
    """As in released safetensors: of parameters that are tied, one is kept."""
    kept: State = {}
    for name, value in state.items():
        if not any(
            value.shape == other.shape and torch.equal(value, other) for other in kept.values() if other.ndim > 1
        ):
            kept[name] = value
    return kept


def stable_diffusion(folder: Path) -> None:
    """CompVis/stable-diffusion-v1-4."""
    write(folder, "model_index.json", {
        "_class_name": "StableDiffusionPipeline", "_diffusers_version": "0.2.2",
        "feature_extractor": ["transformers", "CLIPImageProcessor"],
        "safety_checker": ["stable_diffusion", "StableDiffusionSafetyChecker"],
        "scheduler": ["diffusers", "PNDMScheduler"], "text_encoder": ["transformers", "CLIPTextModel"],
        "tokenizer": ["transformers", "CLIPTokenizer"], "unet": ["diffusers", "UNet2DConditionModel"],
        "vae": ["diffusers", "AutoencoderKL"],
    })  # fmt: skip
    write(folder, "README.md", "---\nlicense: creativeml-openrail-m\n---\n")
    write(folder, "feature_extractor/preprocessor_config.json", OLD_CLIP)
    write(folder, "safety_checker/config.json", {"architectures": ["StableDiffusionSafetyChecker"]})
    of_transformers = ("model.safetensors", "model.fp16.safetensors", "pytorch_model.bin", "pytorch_model.fp16.bin")
    write_weights(folder / "safety_checker", {"concept_embeds": torch.ones(2, 4)}, names=of_transformers)
    write(folder, "scheduler/scheduler_config.json", {
        "_class_name": "PNDMScheduler", "_diffusers_version": "0.7.0.dev0", "beta_end": 0.012,
        "beta_schedule": "scaled_linear", "beta_start": 0.00085, "clip_sample": False, "num_train_timesteps": 1000,
        "set_alpha_to_one": False, "skip_prk_steps": True, "steps_offset": 1, "trained_betas": None,
    })  # fmt: skip
    words = write_clip_words(folder / "tokenizer")
    text = hf.CLIPTextModel(hf.CLIPTextConfig(
        vocab_size=words, max_position_embeddings=77, projection_dim=16, bos_token_id=0, eos_token_id=2, **SIZES
    ))  # fmt: skip
    write_config(folder / "text_encoder", text)
    state = {f"text_model.{name.removeprefix('text_model.')}": value for name, value in state_of(text).items()}
    state["text_model.embeddings.position_ids"] = positions(77)
    write_weights(folder / "text_encoder", state, names=of_transformers)
    unet = UNet2DConditionModel(
        sample_size=8, block_out_channels=(8, 16), down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), layers_per_block=1, cross_attention_dim=16,
        attention_head_dim=2, norm_num_groups=4,
    )  # fmt: skip
    vae = AutoencoderKL(
        block_out_channels=(8, 16), down_block_types=("DownEncoderBlock2D",) * 2, latent_channels=4, norm_num_groups=4,
        up_block_types=("UpDecoderBlock2D",) * 2, sample_size=16,
    )  # fmt: skip
    of_diffusers = tuple(
        f"diffusion_pytorch_model{precision}.{ending}"
        for precision in ("", ".fp16")
        for ending in ("bin", "safetensors")
    )
    for name, part in (("unet", unet), ("vae", vae)):
        # The released file says 0.2.2; with that, `diffusers` takes any size below 64 for an old mistake.
        kept = {"_class_name": type(part).__name__, "_diffusers_version": "0.9.0"}
        settings = {key: value for key, value in part.config.items() if not key.startswith("_")}
        write(folder, f"{name}/config.json", {**settings, **kept})
        state = state_of(part)
        if name == "vae":
            state = {_old_attention(key): value for key, value in state.items()}
        write_weights(folder / name, state, names=of_diffusers)


def _old_attention(name: str) -> str:
    """The decoder's attention as it was named before diffusers 0.13."""
    for new, old in (("to_q", "query"), ("to_k", "key"), ("to_v", "value"), ("to_out.0", "proj_attn")):
        name = name.replace(f"attentions.0.{new}.", f"attentions.0.{old}.")
    return name


def clip(folder: Path) -> None:
    """openai/clip-vit-base-patch16."""
    words = write_clip_words(folder)
    text = {"vocab_size": words, "max_position_embeddings": 77, "bos_token_id": 0, "eos_token_id": 2, **SIZES}
    vision = {"image_size": SIDE, "patch_size": 8, **SIZES}
    model = hf.CLIPModel(hf.CLIPConfig(text_config=text, vision_config=vision, projection_dim=16))
    old = {"text_config_dict": text, "vision_config_dict": vision}
    write_config(folder, model, architectures=["CLIPModel"], **old)
    write(folder, "preprocessor_config.json", OLD_CLIP)
    write(folder, "README.md", "# Model Card: CLIP\n")
    kept = {
        "text_model.embeddings.position_ids": positions(77),
        "vision_model.embeddings.position_ids": positions((SIDE // 8) ** 2 + 1),
    }
    write_weights(folder, state_of(model, **kept), names=("pytorch_model.bin", "tf_model.h5", "flax_model.msgpack"))


def vit_classifier(folder: Path) -> None:
    """google/vit-base-patch16-224."""
    model = hf.ViTForImageClassification(hf.ViTConfig(
        image_size=SIDE, patch_size=8, id2label={0: "tench, Tinca tinca", 1: "goldfish"}, **SIZES
    ))  # fmt: skip
    write_config(folder, model)
    write(folder, "preprocessor_config.json", OLD_VIT)
    write_weights(folder, state_of(model), names=("model.safetensors", "pytorch_model.bin", "tf_model.h5"))


def vit_beans(folder: Path) -> None:
    """nateraw/vit-base-beans: the encoder below a classifier."""
    vit_classifier(folder)
    write_weights(folder, {"args": torch.ones(1)}, names=("training_args.bin",))


def swin2sr(folder: Path) -> None:
    """caidas/swin2SR-classical-sr-x2-64."""
    model = hf.Swin2SRForImageSuperResolution(hf.Swin2SRConfig(
        image_size=16, embed_dim=12, depths=[1, 1], num_heads=[2, 2], window_size=8, mlp_ratio=2.0, upscale=2,
        upsampler="pixelshuffle",
    ))  # fmt: skip
    write_config(folder, model)
    settings = {"do_pad": True, "do_rescale": True, "image_processor_type": "Swin2SRImageProcessor"}
    write(folder, "preprocessor_config.json", {**settings, "pad_size": 8, "rescale_factor": 0.00392156862745098})
    state = state_of(model)
    write_weights(folder, state, names=("pytorch_model.bin",))


def detr(folder: Path) -> None:
    """facebook/detr-resnet-101, branch `no_timm`."""
    backbone = hf.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1], out_features=["stage4"]
    )
    config = hf.DetrConfig(
        use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=backbone, d_model=16,
        encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=16,
        decoder_ffn_dim=16, num_queries=5, id2label={0: "N/A", 1: "person", 2: "cat"},
    )  # fmt: skip
    model = hf.DetrForObjectDetection(config)
    write_config(folder, model)
    write(folder, "preprocessor_config.json", {
        "do_normalize": True, "do_resize": True, "feature_extractor_type": "DetrFeatureExtractor",
        "format": "coco_detection", "image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225],
        "max_size": 80, "size": 48,
    })  # fmt: skip
    write_weights(folder, state_of(model), names=("model.safetensors", "pytorch_model.bin"))


def captioner(folder: Path) -> None:
    """nlpconnect/vit-gpt2-image-captioning: `.bin` only, with GPT-2's masks among the parameters."""
    specials = ("<|endoftext|>",)
    size = write_byte_level(folder, specials=specials)
    write_byte_level_tokenizer(folder, specials=specials)
    end = "<|endoftext|>"
    names = {"bos_token": end, "eos_token": end, "unk_token": end, "pad_token": end}
    write(folder, "special_tokens_map.json", names)
    write(folder, "tokenizer_config.json", {
        **names, "add_prefix_space": False, "model_max_length": 1024, "tokenizer_class": "GPT2Tokenizer"
    })  # fmt: skip
    words = hf.GPT2Config(
        vocab_size=size, n_positions=1024, n_embd=16, n_layer=1, n_head=2, add_cross_attention=True, bos_token_id=0,
        eos_token_id=0,
    )  # fmt: skip
    config = hf.VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        hf.ViTConfig(image_size=SIDE, patch_size=8, **SIZES), words
    )
    config.decoder_start_token_id = config.pad_token_id = config.eos_token_id = config.bos_token_id = 0
    model = hf.VisionEncoderDecoderModel(config)
    write_config(folder, model)
    write(folder, "preprocessor_config.json", OLD_VIT)
    mask = torch.tril(torch.ones(1024, 1024, dtype=torch.uint8)).view(1, 1, 1024, 1024)
    kept = {
        f"decoder.transformer.h.0.{part}.{name}": value
        for part in ("attn", "crossattention")
        for name, value in (("bias", mask), ("masked_bias", torch.tensor(-10000.0)))
    }
    write_weights(folder, state_of(model, **kept), names=("pytorch_model.bin",))


def git(folder: Path) -> None:
    """microsoft/git-base-textvqa."""
    size = write_word_pieces(folder)
    write(folder, "tokenizer_config.json", {
        "cls_token": "[CLS]", "do_lower_case": True, "mask_token": "[MASK]", "model_max_length": 512,
        "pad_token": "[PAD]", "sep_token": "[SEP]", "tokenizer_class": "BertTokenizer", "unk_token": "[UNK]",
    })  # fmt: skip
    write(folder, "preprocessor_config.json", {
        "crop_size": {"height": SIDE, "width": SIDE}, "do_center_crop": True, "do_convert_rgb": True,
        "do_normalize": True, "do_rescale": True, "do_resize": True, "image_mean": CLIP_MEAN,
        "image_processor_type": "CLIPImageProcessor", "image_std": CLIP_DEVIATION, "processor_class": "GitProcessor",
        "resample": 3, "rescale_factor": 0.00392156862745098, "size": {"shortest_edge": SIDE},
    })  # fmt: skip
    model = hf.GitForCausalLM(hf.GitConfig(
        vocab_size=size, max_position_embeddings=1024, pad_token_id=0, bos_token_id=2, eos_token_id=3,
        vision_config={"image_size": SIDE, "patch_size": 8, **SIZES}, **SIZES,
    ))  # fmt: skip
    write_config(folder, model)
    write(folder, "generation_config.json", {"_from_model_config": True, "bos_token_id": 2, "eos_token_id": 3})
    kept = {
        "git.embeddings.position_ids": positions(1024),
        "git.image_encoder.vision_model.embeddings.position_ids": positions((SIDE // 8) ** 2 + 1),
    }
    write_weights(folder, state_of(model, **kept), names=("pytorch_model.bin",))


def finbert(folder: Path) -> None:
    """yiyanghkust/finbert-tone: a vocabulary without settings of a tokenizer, and `.bin` only."""
    size = write_word_pieces(folder)
    model = hf.BertForSequenceClassification(hf.BertConfig(
        vocab_size=size, max_position_embeddings=512, id2label={0: "Neutral", 1: "Positive", 2: "Negative"}, **SIZES
    ))  # fmt: skip
    write_config(folder, model)
    kept = {"bert.embeddings.position_ids": positions(512)}
    write_weights(folder, state_of(model, **kept), names=("pytorch_model.bin", "tf_model.h5"))


def bart(folder: Path) -> None:
    """facebook/bart-large-cnn: a vocabulary without settings of a tokenizer, and tied parameters kept once."""
    specials = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
    size = write_byte_level(folder, specials=specials)
    write_byte_level_tokenizer(folder, specials=specials)
    model = hf.BartForConditionalGeneration(hf.BartConfig(
        vocab_size=size, max_position_embeddings=1024, d_model=16, encoder_layers=1, decoder_layers=1,
        encoder_ffn_dim=16, decoder_ffn_dim=16, encoder_attention_heads=2, decoder_attention_heads=2,
        bos_token_id=0, pad_token_id=1, eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=2,
    ))  # fmt: skip
    write_config(folder, model)
    write(folder, "generation_config.json", {
        "bos_token_id": 0, "decoder_start_token_id": 2, "early_stopping": True, "eos_token_id": 2,
        "forced_bos_token_id": 0, "forced_eos_token_id": 2, "length_penalty": 2.0, "max_length": 142,
        "min_length": 56, "no_repeat_ngram_size": 3, "num_beams": 4, "pad_token_id": 1,
    })  # fmt: skip
    state = without_repeats(state_of(model))
    write_weights(
        folder, state, names=("model.safetensors", "pytorch_model.bin", "rust_model.ot", "flax_model.msgpack")
    )


def t5(folder: Path) -> None:
    """google-t5/t5-base, with a parameter that the decoder never uses."""
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", -2.0), ("▁", -2.0)]
    pieces += [(letter, -3.0) for letter in LETTERS + LETTERS[:26].upper() + ":"]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=2))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens(["<pad>", "</s>", "<unk>"])
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "spiece.model").write_bytes(b"the same for another library")
    names = {"eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    write(folder, "tokenizer_config.json", {**names, "extra_ids": 0, "model_max_length": 512})
    model = hf.T5ForConditionalGeneration(hf.T5Config(
        vocab_size=len(pieces), d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2, pad_token_id=0, eos_token_id=1,
        decoder_start_token_id=0,
    ))  # fmt: skip
    write_config(folder, model)
    write(folder, "generation_config.json", {"decoder_start_token_id": 0, "eos_token_id": 1, "pad_token_id": 0})
    unused = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
    state = without_repeats(state_of(model, **{unused: torch.full((32, 2), 7.0)}))
    write_weights(folder, state, names=("model.safetensors", "pytorch_model.bin", "tf_model.h5", "rust_model.ot"))


def roberta(folder: Path) -> None:
    """distilbert/distilroberta-base."""
    specials = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
    size = write_byte_level(folder, specials=specials)
    write_byte_level_tokenizer(folder, specials=specials)
    write(folder, "tokenizer_config.json", {"model_max_length": 512})
    model = hf.RobertaForMaskedLM(hf.RobertaConfig(
        vocab_size=size, max_position_embeddings=514, type_vocab_size=1, bos_token_id=0, pad_token_id=1,
        eos_token_id=2, **SIZES,
    ))  # fmt: skip
    write_config(folder, model)
    kept = {"roberta.embeddings.position_ids": positions(514), "roberta.pooler.dense.weight": torch.eye(16)}
    state = without_repeats(state_of(model, **kept))
    write_weights(folder, state, names=("model.safetensors", "pytorch_model.bin", "tf_model.h5"))


def distilbert(folder: Path) -> None:
    """distilbert/distilbert-base-cased-distilled-squad."""
    size = write_word_pieces(folder)
    write(folder, "tokenizer_config.json", {"do_lower_case": False, "model_max_length": 512})
    model = hf.DistilBertForQuestionAnswering(hf.DistilBertConfig(
        vocab_size=size, max_position_embeddings=512, dim=16, n_layers=1, n_heads=2, hidden_dim=32
    ))  # fmt: skip
    write_config(folder, model)
    write_weights(folder, state_of(model), names=("model.safetensors", "pytorch_model.bin", "saved_model.tar.gz"))


def gpt2(folder: Path) -> None:
    """openai-community/gpt2: saved without its head, so that no name begins with `transformer.`, and with masks."""
    specials = ("<|endoftext|>",)
    size = write_byte_level(folder, specials=specials)
    write_byte_level_tokenizer(folder, specials=specials)
    write(folder, "tokenizer_config.json", {"model_max_length": 1024})
    model = hf.GPT2LMHeadModel(hf.GPT2Config(
        vocab_size=size, n_positions=1024, n_embd=16, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0
    ))  # fmt: skip
    write_config(folder, model)
    write(folder, "generation_config.json", {"_from_model_config": True, "bos_token_id": 0, "eos_token_id": 0})
    mask = torch.tril(torch.ones(1024, 1024)).view(1, 1, 1024, 1024)
    state = {
        name.removeprefix("transformer."): value for name, value in state_of(model).items() if name != "lm_head.weight"
    }
    write_weights(
        folder, {**state, "h.0.attn.bias": mask}, names=("model.safetensors", "pytorch_model.bin", "64.tflite")
    )


def deberta(folder: Path) -> None:
    """microsoft/deberta-xlarge-mnli: below a classifier, `.bin` only, and 48 layers of which the score takes 40."""
    specials = ("[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]")
    size = write_byte_level(folder, specials=specials)
    write(folder, "tokenizer_config.json", {"do_lower_case": False, "vocab_type": "gpt2"})
    (folder / "bpe_encoder.bin").write_bytes(b"the same for another library")
    model = hf.DebertaForSequenceClassification(hf.DebertaConfig(
        vocab_size=size, max_position_embeddings=512, relative_attention=True, pos_att_type=["c2p", "p2c"],
        position_biased_input=False, type_vocab_size=0, max_relative_positions=-1, pad_token_id=1, num_labels=3,
        **{**SIZES, "num_hidden_layers": 48},
    ))  # fmt: skip
    write_config(folder, model, pos_att_type="c2p|p2c")
    write_weights(folder, state_of(model), names=("pytorch_model.bin",))


BUILDERS: Mapping[str, Callable[[Path], None]] = {
    "super-resolution": swin2sr,
    "classification": vit_classifier,
    "detection": detr,
    "captioning": captioner,
    "visual-questions": git,
    "text-to-image": stable_diffusion,
    "sentiment": finbert,
    "summarization": bart,
    "machine-translation": t5,
    "fill-mask": roberta,
    "question-answering": distilbert,
    "text-generation": gpt2,
    "vit-score": vit_beans,
    "bert-score": deberta,
    "clip-score": clip,
    "reference-translation": t5,
}
"""By the name of the profile's checkpoint, what writes its repository."""

_RESTORER = {"dim": 8, "num_blocks": [1, 1, 1, 1], "num_refinement_blocks": 1, "heads": [1, 2, 2, 4]}
SINGLE_FILES: Mapping[str, dict[str, Any]] = {
    "denoising": {**_RESTORER, "norm_bias": False},
    "deblurring": {**_RESTORER, "norm_bias": True},
    "colorization": {"widths": [4, 8, 8, 16]},
}
"""Checkpoints that are one file of parameters, with settings in the place of the profile's."""


def save_single_file(name: str, path: Path) -> None:
    """A released file of parameters, as small as its settings say."""
    path.parent.mkdir(parents=True, exist_ok=True)
    settings = {key: tuple(value) if isinstance(value, list) else value for key, value in SINGLE_FILES[name].items()}
    if name == "colorization":
        # The released file also has the classification head.
        state = {**Colorizer(ColorizerConfig(**settings)).state_dict(), "model_class.0.weight": torch.zeros(3, 8, 1, 1)}
        torch.save(state, path)
    else:
        torch.save({"params": Restormer(RestormerConfig(**settings)).state_dict()}, path)
