"""Training of the language experts: small models of the same classes as in the paper profile.

Examples are drawn once from the grammar, batches from the random stream of each step.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor, nn
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

from evaluator.miniature.grammar.documents import Document, DocumentQuestion, draw_document, draw_document_question
from evaluator.miniature.grammar.reviews import draw_review
from evaluator.studies.experts.data.corpus import draw_english, draw_maskable, draw_pair, stream
from evaluator.studies.experts.data.tokenizers import (
    BEGIN_ID,
    END_ID,
    MASK_ID,
    PAD_ID,
    bilingual_tokenizer,
    encode,
    english_tokenizer,
    write_tokenizer,
)
from evaluator.training.export import export_transformers

_IGNORED = -100
Ids = Sequence[int]


def padded(rows: Sequence[Ids], *, value: int = PAD_ID) -> Tensor:
    """Rows of token ids, padded on the right to one length: int64 of shape (rows, length)."""
    width = max(len(row) for row in rows)
    return torch.tensor([[*row, *[value] * (width - len(row))] for row in rows])


@dataclass(frozen=True, slots=True)
class SequenceObjective:
    """Generate the target from the source; both end with the end token."""

    examples: Sequence[tuple[Ids, Ids]]
    batch: int = 32

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        rows = [self.examples[i] for i in rng.integers(len(self.examples), size=self.batch)]
        sources = padded([source for source, _ in rows])
        targets = padded([target for _, target in rows], value=_IGNORED)
        loss: Tensor = model(input_ids=sources, attention_mask=(sources != PAD_ID).long(), labels=targets).loss
        return loss


def translation_objective(*, texts: int) -> SequenceObjective:
    """English to German."""
    tokenizer, examples = bilingual_tokenizer(), []
    for index in range(texts):
        pair = draw_pair(stream(index=index, purpose="translation"))
        source, target = (encode(tokenizer=tokenizer, text=text) for text in (pair.english, pair.german))
        examples.append(([*source, END_ID], [*target, END_ID]))
    return SequenceObjective(examples)


def summary_objective(*, texts: int) -> SequenceObjective:
    """A story to its summary."""
    tokenizer, examples = english_tokenizer(), []
    for index in range(texts):
        document = draw_document(stream(index=index, purpose="summary"))
        source, target = (
            encode(tokenizer=tokenizer, text=text) for text in (document.text.english, document.summary.english)
        )
        examples.append(([BEGIN_ID, *source, END_ID], [*target, END_ID]))
    return SequenceObjective(examples)


@dataclass(frozen=True, slots=True)
class FillExample:
    """A text and the positions of the words that can be inferred from the rest."""

    ids: Ids
    places: Ids


@dataclass(frozen=True, slots=True)
class FillObjective:
    """Predict masked words. The text determines each of them, so no two neighbours are masked."""

    examples: Sequence[FillExample]
    batch: int = 48

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        rows = [self.examples[i] for i in rng.integers(len(self.examples), size=self.batch)]
        tokens = padded([row.ids for row in rows])
        masked = torch.zeros_like(tokens, dtype=torch.bool)
        for index, row in enumerate(rows):
            for place in rng.permutation(row.places)[: 1 + len(row.places) // 2]:
                masked[index, place] = not masked[index, place - 1] and not masked[index, place + 1]
        inputs = torch.where(masked, torch.tensor(MASK_ID), tokens)
        hidden = model.roberta(input_ids=inputs, attention_mask=(tokens != PAD_ID).long()).last_hidden_state  # type: ignore[operator]
        return F.cross_entropy(model.lm_head(hidden[masked]), tokens[masked])  # type: ignore[operator]


def fill_objective(*, texts: int) -> FillObjective:
    """English texts of all kinds."""
    tokenizer = english_tokenizer()
    examples = []
    for index in range(texts):
        source = draw_maskable(stream(index=index, purpose="fill"))
        encoded = tokenizer.encode(source.text, add_special_tokens=False)
        first = {source.text.index(word) for word in source.recoverable if word in source.text}
        places = [1 + i for i, (start, _) in enumerate(encoded.offsets) if start in first]
        examples.append(FillExample([BEGIN_ID, *encoded.ids, END_ID], places))
    return FillObjective(examples)


@dataclass(frozen=True, slots=True)
class GenerationObjective:
    """Predict each next word."""

    texts: Sequence[Ids]
    batch: int = 32

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        tokens = padded([self.texts[i] for i in rng.integers(len(self.texts), size=self.batch)])
        logits: Tensor = model(input_ids=tokens, attention_mask=(tokens != PAD_ID).long()).logits
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=PAD_ID)


def generation_objective(*, texts: int) -> GenerationObjective:
    """English texts of all kinds, each ending with the end token."""
    tokenizer = english_tokenizer()
    drawn = (draw_english(stream(index=index, purpose="generation")) for index in range(texts))
    return GenerationObjective([[BEGIN_ID, *encode(tokenizer=tokenizer, text=text), END_ID] for text in drawn])


@dataclass(frozen=True, slots=True)
class SentimentObjective:
    """Positive or negative."""

    texts: Sequence[Ids]
    positive: Sequence[int]
    batch: int = 48

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        chosen = rng.integers(len(self.texts), size=self.batch)
        tokens = padded([self.texts[i] for i in chosen])
        logits: Tensor = model(input_ids=tokens, attention_mask=(tokens != PAD_ID).long()).logits
        return F.cross_entropy(logits, torch.tensor([self.positive[i] for i in chosen]))


def sentiment_objective(*, texts: int) -> SentimentObjective:
    """Reviews with their sentiments."""
    tokenizer = english_tokenizer()
    reviews = [draw_review(stream(index=index, purpose="sentiment")) for index in range(texts)]
    return SentimentObjective(
        texts=[[BEGIN_ID, *encode(tokenizer=tokenizer, text=r.text.english), END_ID] for r in reviews],
        positive=[int(review.positive) for review in reviews],
    )


_AUXILIARY = 1.0
"""Weight of each of the two auxiliary losses."""


class AnswerModel(nn.Module):
    """The question answerer with auxiliary heads, which are not exported.

    After the first layer a head predicts which words of the document are in the query, after the second which of them
    describe the event in question. Without these losses a short training learns neither and guesses between events.
    """

    def __init__(self, answerer: DistilBertForQuestionAnswering) -> None:
        super().__init__()
        self.answerer = answerer
        self.shared = nn.Linear(answerer.config.dim, 1)
        self.relevant = nn.Linear(answerer.config.dim, 1)


@dataclass(frozen=True, slots=True)
class AnswerExample:
    """A query and a document as one sequence, with the span of the answer."""

    ids: Ids
    start: int
    end: int
    """Last token of the span, inclusive."""
    shared: Ids
    """1 for tokens of the document that are also in the query."""
    relevant: Ids
    """1 for tokens that describe the event in question."""


def answer_example(*, tokenizer: Tokenizer, document: Document, query: DocumentQuestion) -> AnswerExample:
    """Begin, query, end, document, end, as RoBERTa and DistilBERT pair texts."""
    text, answer, event = document.text.english, query.question.answer.english, query.event
    encoded = tokenizer.encode(text, add_special_tokens=False)
    tokens = encode(tokenizer=tokenizer, text=query.question.text)
    first, last = text.index(answer), text.index(answer) + len(answer)
    span = [i for i, (start, end) in enumerate(encoded.offsets) if start >= first and end <= last]
    sentences = [s.english for s in (event.sentence, event.price_sentence) if s.english in text]
    ranges = [range(text.index(s), text.index(s) + len(s)) for s in sentences]
    head = [BEGIN_ID, *tokens, END_ID]
    zeros = [0] * len(head)
    return AnswerExample(
        ids=[*head, *encoded.ids, END_ID],
        start=len(head) + span[0],
        end=len(head) + span[-1],
        shared=[*zeros, *(int(token in tokens) for token in encoded.ids), 0],
        relevant=[*zeros, *(int(any(start in r for r in ranges)) for start, _ in encoded.offsets), 0],
    )


@dataclass(frozen=True, slots=True)
class AnswerObjective:
    """Predict the first and the last token of the answer."""

    examples: Sequence[AnswerExample] = field(repr=False)
    batch: int = 32

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        assert isinstance(model, AnswerModel)
        rows = [self.examples[i] for i in rng.integers(len(self.examples), size=self.batch)]
        tokens = padded([row.ids for row in rows])
        mask = tokens != PAD_ID
        output = model.answerer(input_ids=tokens, attention_mask=mask.long(), output_hidden_states=True)
        starts, ends = (torch.tensor(values) for values in zip(*((r.start, r.end) for r in rows), strict=True))
        loss = F.cross_entropy(output.start_logits, starts) + F.cross_entropy(output.end_logits, ends)
        for head, layer, marks in (
            (model.shared, 1, [row.shared for row in rows]),
            (model.relevant, 2, [row.relevant for row in rows]),
        ):
            logits = head(output.hidden_states[layer])[..., 0]
            loss = loss + _AUXILIARY * F.binary_cross_entropy_with_logits(logits[mask], padded(marks)[mask].float())
        return loss


def answer_objective(*, texts: int) -> AnswerObjective:
    """Stories with questions."""
    tokenizer = english_tokenizer()
    examples = []
    for index in range(texts):
        rng = stream(index=index, purpose="answer")
        document = draw_document(rng)
        query = draw_document_question(document=document, rng=rng)
        examples.append(answer_example(tokenizer=tokenizer, document=document, query=query))
    return AnswerObjective(examples)


LENGTH = 96
"""Longest text in tokens; the longest of the grammar has about 75, query included."""


@torch.no_grad()
def begin_with_sinusoids(positions: nn.Parameter) -> None:
    """Initialise learnt positions with sinusoids (Vaswani et al., 2017), at the scale of the other embeddings.

    Attending to the previous or next word is then nearly a linear map, which a short training learns much sooner.
    """
    count, width = positions.shape
    frequencies = 10_000.0 ** (-torch.arange(0, width, 2) / width)
    angles = torch.arange(count)[:, None] * frequencies
    positions.copy_(torch.cat([angles.sin(), angles.cos()], dim=1) * 0.03)


@torch.no_grad()
def begin_by_matching(*, model: nn.Module, layer: str, names: tuple[str, str]) -> None:
    """Initialise half of a layer's heads to attend to equal words.

    Matching a name in the query with the same name in the document otherwise takes longest to learn.
    """
    for name in names:
        weight = model.get_parameter(f"{layer}.{name}.weight")
        half = weight.shape[0] // 2
        weight[:half] += torch.eye(weight.shape[0])[:half]


def translator() -> nn.Module:
    """English to German."""
    return small_t5(words=bilingual_tokenizer().get_vocab_size(), width=96, inner=256)


def small_t5(*, words: int, width: int, inner: int) -> nn.Module:
    """A T5 with two layers in encoder and decoder and four heads."""
    model: nn.Module = T5ForConditionalGeneration(
        T5Config(
            vocab_size=words,
            d_model=width,
            d_kv=width // 4,
            d_ff=inner,
            num_layers=2,
            num_decoder_layers=2,
            num_heads=4,
            # Enough buckets to distinguish neighbouring positions throughout a list of four objects.
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
    """Predicts masked words."""
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


def export(model: nn.Module, folder: Path) -> None:
    """Write a model of English with its tokenizer."""
    write_language_model(model=model, tokenizer=english_tokenizer(), folder=folder)


def export_translator(model: nn.Module, folder: Path) -> None:
    """Write the translator with its tokenizer."""
    # T5 is the only class without a begin token.
    write_language_model(model=model, tokenizer=bilingual_tokenizer(), folder=folder, begins=False)


def write_language_model(*, model: nn.Module, tokenizer: Tokenizer, folder: Path, begins: bool = True) -> None:
    """Write configuration, weights and tokenizer; `begins` as in `write_tokenizer`."""
    export_transformers(model.answerer if isinstance(model, AnswerModel) else model, folder)
    write_tokenizer(tokenizer=tokenizer, folder=folder, length=LENGTH, begins=begins)
