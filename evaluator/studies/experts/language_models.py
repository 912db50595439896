"""The language experts as they begin: small members of the classes of the paper profile, and how they are written."""

from collections.abc import Callable
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import nn
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForSequenceClassification,
    DistilBertConfig,
    DistilBertForQuestionAnswering,
    GPT2Config,
    GPT2LMHeadModel,
    RobertaConfig,
    RobertaForMaskedLM,
    T5Config,
    T5ForConditionalGeneration,
)

from evaluator.studies.experts.answering import AnswerModel
from evaluator.studies.experts.data.tokenizers import (
    BEGIN_ID,
    END_ID,
    PAD_ID,
    bilingual_tokenizer,
    english_tokenizer,
    write_tokenizer,
)
from evaluator.training.export import write_config, write_weights

LENGTH = 96
"""Longest text in tokens; the longest of the grammar has about 75 with a query before it."""


@torch.no_grad()
def begin_with_sinusoids(positions: nn.Parameter) -> None:
    """Set learnt positions to sinusoids (Vaswani et al., 2017) at first, as large as other embeddings begin.

    To look at the word before or after is then nearly a linear map, which a short training finds much sooner.
    """
    count, width = positions.shape
    frequencies = 10_000.0 ** (-torch.arange(0, width, 2) / width)
    angles = torch.arange(count)[:, None] * frequencies
    positions.copy_(torch.cat([angles.sin(), angles.cos()], dim=1) * 0.03)


@torch.no_grad()
def begin_by_matching(*, model: nn.Module, layer: str, names: tuple[str, str]) -> None:
    """Let half of a layer's heads attend to equal words at first.

    That a name in the query and the same name in the document belong together is otherwise what takes longest to learn.
    """
    for name in names:
        weight = model.get_parameter(f"{layer}.{name}.weight")
        half = weight.shape[0] // 2
        weight[:half] += torch.eye(weight.shape[0])[:half]


def translator() -> nn.Module:
    """English to German."""
    model: nn.Module = T5ForConditionalGeneration(
        T5Config(
            vocab_size=bilingual_tokenizer().get_vocab_size(),
            d_model=96,
            d_kv=24,
            d_ff=256,
            num_layers=2,
            num_decoder_layers=2,
            num_heads=4,
            # Enough buckets to tell neighbouring positions apart throughout a list of four objects.
            relative_attention_num_buckets=64,
            relative_attention_max_distance=64,
            dropout_rate=0.0,
            pad_token_id=PAD_ID,
            eos_token_id=END_ID,
            decoder_start_token_id=PAD_ID,
        )
    )
    return model


def summariser() -> nn.Module:
    """A story to one sentence."""
    model: nn.Module = BartForConditionalGeneration(
        BartConfig(
            vocab_size=english_tokenizer().get_vocab_size(),
            d_model=96,
            encoder_layers=2,
            decoder_layers=2,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=256,
            decoder_ffn_dim=256,
            max_position_embeddings=LENGTH,
            dropout=0.0,
            attention_dropout=0.0,
            activation_dropout=0.0,
            pad_token_id=PAD_ID,
            bos_token_id=BEGIN_ID,
            eos_token_id=END_ID,
            decoder_start_token_id=END_ID,
            forced_eos_token_id=None,
        )
    )
    for part in ("encoder", "decoder"):
        begin_with_sinusoids(model.get_parameter(f"model.{part}.embed_positions.weight"))
    return model


def filler() -> nn.Module:
    """Guesses masked words."""
    model: nn.Module = RobertaForMaskedLM(
        RobertaConfig(
            vocab_size=english_tokenizer().get_vocab_size(),
            hidden_size=96,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=256,
            max_position_embeddings=LENGTH + 2,
            type_vocab_size=1,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            pad_token_id=PAD_ID,
            bos_token_id=BEGIN_ID,
            eos_token_id=END_ID,
        )
    )
    begin_with_sinusoids(model.get_parameter("roberta.embeddings.position_embeddings.weight"))
    return model


def answerer() -> nn.Module:
    """Finds answers in documents."""
    model = DistilBertForQuestionAnswering(
        DistilBertConfig(
            vocab_size=english_tokenizer().get_vocab_size(),
            dim=96,
            n_layers=3,
            n_heads=4,
            hidden_dim=256,
            max_position_embeddings=LENGTH,
            dropout=0.0,
            attention_dropout=0.0,
            qa_dropout=0.0,
            pad_token_id=PAD_ID,
        )
    )
    begin_with_sinusoids(model.get_parameter("distilbert.embeddings.position_embeddings.weight"))
    begin_by_matching(model=model, layer="distilbert.transformer.layer.0.attention", names=("q_lin", "k_lin"))
    return AnswerModel(model)


def judge_of_sentiment() -> nn.Module:
    """Positive or negative."""
    model: nn.Module = BertForSequenceClassification(
        BertConfig(
            vocab_size=english_tokenizer().get_vocab_size(),
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            max_position_embeddings=LENGTH,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            pad_token_id=PAD_ID,
            id2label={0: "negative", 1: "positive"},
            label2id={"negative": 0, "positive": 1},
        )
    )
    return model


def continuer() -> nn.Module:
    """Continues a text."""
    model: nn.Module = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=english_tokenizer().get_vocab_size(),
            n_positions=LENGTH,
            n_embd=96,
            n_layer=2,
            n_head=4,
            n_inner=256,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            pad_token_id=PAD_ID,
            bos_token_id=BEGIN_ID,
            eos_token_id=END_ID,
        )
    )
    begin_with_sinusoids(model.get_parameter("transformer.wpe.weight"))
    return model


def exporter(tokenizer: Callable[[], Tokenizer], *, begins: bool = True) -> Callable[[nn.Module, Path], None]:
    """Writes configuration, weights and tokenizer into a folder."""

    def export(model: nn.Module, folder: Path) -> None:
        model = model.answerer if isinstance(model, AnswerModel) else model
        config: dict[str, object] = model.config.to_dict()  # type: ignore[operator, union-attr]
        # The library's version is no part of the model: the digest must not change with it.
        config.pop("transformers_version", None)
        write_config(config={**config, "dtype": "float32", "architectures": [type(model).__name__]}, folder=folder)
        write_weights(model=model, folder=folder)
        write_tokenizer(tokenizer=tokenizer(), folder=folder, length=LENGTH, begins=begins)

    return export
