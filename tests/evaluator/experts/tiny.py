"""Small, randomly initialised checkpoints of the classes that the profile `paper` names, saved as they are released."""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForSequenceClassification,
    CLIPImageProcessorPil,
    DetrConfig,
    DetrForObjectDetection,
    DetrImageProcessorPil,
    DistilBertConfig,
    DistilBertForQuestionAnswering,
    GitConfig,
    GitForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
    ResNetConfig,
    RobertaConfig,
    RobertaForMaskedLM,
    Swin2SRConfig,
    Swin2SRForImageSuperResolution,
    T5Config,
    T5ForConditionalGeneration,
    VisionEncoderDecoderConfig,
    VisionEncoderDecoderModel,
    ViTConfig,
    ViTForImageClassification,
    ViTImageProcessorPil,
)

from evaluator.experts.colorizer import Colorizer, ColorizerConfig
from evaluator.experts.restormer import Restormer, RestormerConfig

SPECIAL = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
VOCABULARY = len(SPECIAL) + 256
IDS = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2}
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
LONGEST = 64


def save_tokenizer(folder: Path, *, pair: bool = True, pads: bool = True) -> None:
    """One token for each byte: any text can be read."""
    vocabulary = {token: index for index, token in enumerate((*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet())))}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    if pair:
        tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    names = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "mask_token": "<mask>"}
    names |= {"sep_token": "</s>", "cls_token": "<s>"} | ({"pad_token": "<pad>"} if pads else {})
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)


def vit_config(**settings) -> ViTConfig:
    return ViTConfig(image_size=32, patch_size=8, **SIZES, **settings)


def _saved(model, folder: Path) -> None:
    model.save_pretrained(folder)


def save_vit(folder: Path) -> None:
    _saved(ViTForImageClassification(vit_config(id2label={0: "tench, Tinca tinca", 1: "goldfish"})), folder)
    ViTImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(folder)


def save_detr(folder: Path) -> None:
    backbone = ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1], out_features=["stage4"]
    )
    config = DetrConfig(
        use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=backbone, d_model=16,
        encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=16,
        decoder_ffn_dim=16, num_queries=5, id2label={0: "N/A", 1: "person", 2: "cat"},
    )  # fmt: skip
    _saved(DetrForObjectDetection(config), folder)
    DetrImageProcessorPil(size={"shortest_edge": 48, "longest_edge": 80}).save_pretrained(folder)


def save_captioner(folder: Path) -> None:
    words = GPT2Config(
        vocab_size=VOCABULARY, n_positions=LONGEST, n_embd=16, n_layer=1, n_head=2, add_cross_attention=True,
        **{**IDS, "pad_token_id": None},
    )  # fmt: skip
    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(vit_config(), words)
    config.decoder_start_token_id = 0
    _saved(VisionEncoderDecoderModel(config), folder)
    ViTImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(folder)
    save_tokenizer(folder, pads=False)


def save_swin2sr(folder: Path) -> None:
    config = Swin2SRConfig(
        image_size=16, embed_dim=12, depths=[1, 1], num_heads=[2, 2], window_size=8, mlp_ratio=2.0, upscale=2,
        upsampler="pixelshuffle",
    )  # fmt: skip
    _saved(Swin2SRForImageSuperResolution(config), folder)


def restormer(*, norm_bias: bool) -> Restormer:
    return Restormer(
        RestormerConfig(
            dim=8, num_blocks=(1, 1, 1, 1), num_refinement_blocks=1, heads=(1, 2, 2, 4), norm_bias=norm_bias
        )
    )


def save_restormer(folder: Path, *, norm_bias: bool) -> None:
    save_file(restormer(norm_bias=norm_bias).state_dict(), folder / "model.safetensors")
    sizes = {"dim": 8, "num_blocks": [1, 1, 1, 1], "num_refinement_blocks": 1, "heads": [1, 2, 2, 4]}
    (folder / "config.json").write_text(json.dumps({**sizes, "norm_bias": norm_bias}))


def save_colorizer(folder: Path) -> None:
    state = Colorizer(ColorizerConfig(widths=(4, 8, 8, 16))).state_dict()
    # The released file also has the classification head.
    save_file({**state, "model_class.0.weight": torch.zeros(3, 8, 1, 1)}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"widths": [4, 8, 8, 16]}))


def save_t5(folder: Path) -> None:
    config = T5Config(
        vocab_size=VOCABULARY, d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2, pad_token_id=1, eos_token_id=2,
        decoder_start_token_id=1,
    )  # fmt: skip
    _saved(T5ForConditionalGeneration(config), folder)
    save_tokenizer(folder)


def save_bart(folder: Path) -> None:
    config = BartConfig(
        vocab_size=VOCABULARY, max_position_embeddings=LONGEST, d_model=16, encoder_layers=1, decoder_layers=1,
        encoder_ffn_dim=16, decoder_ffn_dim=16, encoder_attention_heads=2, decoder_attention_heads=2,
        decoder_start_token_id=2, forced_eos_token_id=2, **IDS,
    )  # fmt: skip
    _saved(BartForConditionalGeneration(config), folder)
    save_tokenizer(folder)


def save_gpt2(folder: Path) -> None:
    config = GPT2Config(
        vocab_size=VOCABULARY, n_positions=LONGEST, n_embd=16, n_layer=1, n_head=2, bos_token_id=2, eos_token_id=2
    )
    _saved(GPT2LMHeadModel(config), folder)
    save_tokenizer(folder, pair=False, pads=False)


def save_roberta(folder: Path) -> None:
    config = RobertaConfig(
        vocab_size=VOCABULARY, max_position_embeddings=LONGEST + 2, type_vocab_size=1, **SIZES, **IDS
    )
    _saved(RobertaForMaskedLM(config), folder)
    save_tokenizer(folder)


def save_distilbert(folder: Path) -> None:
    config = DistilBertConfig(
        vocab_size=VOCABULARY, max_position_embeddings=LONGEST, dim=16, n_layers=1, n_heads=2, hidden_dim=32,
        pad_token_id=1,
    )  # fmt: skip
    _saved(DistilBertForQuestionAnswering(config), folder)
    save_tokenizer(folder)


def save_finbert(folder: Path) -> None:
    labels = {0: "Neutral", 1: "Positive", 2: "Negative"}
    config = BertConfig(
        vocab_size=VOCABULARY, max_position_embeddings=LONGEST, id2label=labels, pad_token_id=1, **SIZES
    )
    _saved(BertForSequenceClassification(config), folder)
    save_tokenizer(folder)


def save_git(folder: Path) -> None:
    config = GitConfig(
        vocab_size=VOCABULARY, max_position_embeddings=LONGEST, **SIZES, **IDS,
        vision_config={"image_size": 32, "patch_size": 8, **SIZES},
    )  # fmt: skip
    _saved(GitForCausalLM(config), folder)
    square = {"height": 32, "width": 32}
    CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size=square).save_pretrained(folder)
    save_tokenizer(folder)


SAVERS = {
    "Image Super Resolution": save_swin2sr,
    "Image Denoising": lambda folder: save_restormer(folder, norm_bias=False),
    "Image Deblurring": lambda folder: save_restormer(folder, norm_bias=True),
    "Colorization": save_colorizer,
    "Image Classification": save_vit,
    "Object Detection": save_detr,
    "Image Captioning": save_captioner,
    "Visual Question Answering": save_git,
    "Machine Translation": save_t5,
    "Text Summarization": save_bart,
    "Text Generation": save_gpt2,
    "Fill Mask": save_roberta,
    "Question Answering": save_distilbert,
    "Sentiment Analysis": save_finbert,
}
"""By tool, what writes a checkpoint of the class that the profile `paper` names for it."""
LANGUAGE = tuple(SAVERS)[8:]


def save_checkpoint(*, tool: str, folder: Path) -> Path:
    """Write the small checkpoint for a tool, always the same."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    SAVERS[tool](folder)
    return folder
