"""Language experts: translation, summaries, continuations, tags, masked words, answers in documents, sentiment.

Generation is greedy or by beams, never by sampling.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import (
    BartForConditionalGeneration,
    BertForSequenceClassification,
    DistilBertForQuestionAnswering,
    GPT2LMHeadModel,
    RobertaForMaskedLM,
    T5ForConditionalGeneration,
)

from evaluator.core.expert import ExpertSpec
from evaluator.core.values import Label, Labels, Value
from evaluator.execution.experts.devices import repeatable_attention
from evaluator.execution.experts.inputs import whole_number
from evaluator.execution.experts.pretrained import load_model
from evaluator.execution.experts.texts import TextExpert


class SequenceExpert(TextExpert):
    """From a text to a text; a blank text stays blank.

    Decodes greedily or, with the parameter `num_beams`, by beam search with the checkpoint's own generation settings
    (length penalty, minimum length, forbidden repetitions).
    """

    model_class: ClassVar[Any]

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_model(self.model_class, spec=spec, device=device)
        self._new = whole_number(spec=spec, name="max_new_tokens", default=64)
        self._beams = whole_number(spec=spec, name="num_beams", default=1)
        self._prefix = str(spec.parameters.get("prefix", ""))

    def prepared(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        (text,) = texts
        return (self._prefix + text,)

    def answer(self, texts: Sequence[tuple[str, ...]], *, length: int) -> list[str]:
        encoded = self.encode(texts, length=length)
        ids, unknown = encoded["input_ids"], self._tokenizer.unk_token_id
        if unknown is not None:
            # The tokenizer's settings may add tokens that the model does not have.
            ids = ids.where(ids < self._model.get_input_embeddings().num_embeddings, unknown)
        pairs = zip(texts, self.write(ids=ids, mask=encoded["attention_mask"]), strict=True)
        return [self.decode(written) if text[len(self._prefix) :].strip() else "" for (text,), written in pairs]

    def write(self, *, ids: Tensor, mask: Tensor) -> Tensor:
        """Generated token ids, (batch, tokens)."""
        settings = {"do_sample": False, "num_beams": self._beams, "max_new_tokens": self._new}
        written: Tensor = self._model.generate(input_ids=ids, attention_mask=mask, **settings)
        return written


class T5Expert(SequenceExpert):
    """Translates; the parameter `prefix` is the instruction for a general T5."""

    model_class: ClassVar[Any] = T5ForConditionalGeneration


class BartExpert(SequenceExpert):
    """Summarises."""

    model_class: ClassVar[Any] = BartForConditionalGeneration

    def write(self, *, ids: Tensor, mask: Tensor) -> Tensor:
        # With fused kernels, one of eight texts differs now and then when a batch in bfloat16 is repeated.
        with repeatable_attention(self._device):
            return super().write(ids=ids, mask=mask)


class GPT2Expert(SequenceExpert):
    """Returns the text with its continuation.

    The parameter `max_tokens` limits the tokens of text and continuation together. As in the released code, a longer
    text is continued by one token.
    """

    model_class: ClassVar[Any] = GPT2LMHeadModel
    special_tokens: ClassVar[bool] = False

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._total = whole_number(spec=spec, name="max_tokens", default=0)
        self._new = self._total - 1 if self._total else self._new
        # The continuation must follow the text directly, and the end of a long text is the relevant part.
        self._tokenizer.padding_side = self._tokenizer.truncation_side = "left"
        self._length = min(self._length, int(self._model.config.n_positions) - self._new)
        # Released checkpoints have no padding token; the mask hides the padding.
        self._model.generation_config.pad_token_id = self._tokenizer.pad_token_id

    def answer(self, texts: Sequence[tuple[str, ...]], *, length: int) -> list[str]:
        encoded = self.encode(texts, length=length)
        written = self.write(ids=encoded["input_ids"], mask=encoded["attention_mask"])[:, length:]
        lengths = encoded["attention_mask"].sum(dim=1).tolist()
        answers = []
        for (prefixed,), ids, tokens in zip(texts, written, lengths, strict=True):
            text = prefixed[len(self._prefix) :]
            new = ids[: max(1, self._total - tokens)] if self._total else ids
            answers.append(text + self._tokenizer.decode(new, skip_special_tokens=True) if text.strip() else "")
        return answers


SEPARATOR = ", "
"""Between the items of a list."""


class TagsExpert(T5Expert):
    """From a text to a list of distinct labels, in the order of the model's output."""

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        outputs: list[Mapping[str, Value]] = []
        for item in super().run(batch):
            ((name, text),) = item.items()
            tags = dict.fromkeys(tag.strip() for tag in str(text).split(SEPARATOR.strip()))
            outputs.append({name: Labels(tuple(Label(tag) for tag in tags if tag))})
        return outputs


class FillMaskExpert(TextExpert):
    """Replaces every mask by the most likely word; a text without masks is unchanged."""

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_model(RobertaForMaskedLM, spec=spec, device=device)
        self._mask: str = self._tokenizer.mask_token

    def prepared(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        # Texts may use these masks, whatever the tokenizer's.
        (text,) = texts
        return (text.replace("[MASK]", self._mask).replace("<mask>", self._mask),)

    def answer(self, texts: Sequence[tuple[str, ...]], *, length: int) -> list[str]:
        encoded = self.encode(texts, length=length)
        logits = self._model(input_ids=encoded["input_ids"], attention_mask=encoded["attention_mask"]).logits
        logits[..., self._tokenizer.all_special_ids] = -torch.inf
        masked = encoded["input_ids"] == self._tokenizer.mask_token_id
        guesses = logits.argmax(dim=-1)
        answers = []
        for (text,), row, where in zip(texts, guesses, masked, strict=True):
            # Masks beyond the model's limit remain.
            for word in row[where].tolist():
                text = text.replace(self._mask, self._tokenizer.decode([word]).strip(), 1)
            answers.append(text)
        return answers


class AnswerExpert(TextExpert):
    """Answers a query with a span of a document, empty for a blank document."""

    inputs: ClassVar[tuple[str, ...]] = ("query", "document")

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_model(DistilBertForQuestionAnswering, spec=spec, device=device)
        self._longest = whole_number(spec=spec, name="max_answer_tokens", default=12)

    def answer(self, texts: Sequence[tuple[str, ...]], *, length: int) -> list[str]:
        encoded = self.encode(texts, length=length, return_offsets_mapping=True)
        output = self._model(input_ids=encoded["input_ids"], attention_mask=encoded["attention_mask"])
        rows = [[sequence == 1 for sequence in encoded.sequence_ids(row)] for row in range(len(texts))]
        inside = torch.tensor(rows, device=output.start_logits.device)
        spans = best_spans(
            starts=output.start_logits.float(), ends=output.end_logits.float(), inside=inside, longest=self._longest
        )
        answers = []
        for (_, document), offsets, tokens, span in zip(
            texts, encoded["offset_mapping"].tolist(), rows, spans.tolist(), strict=True
        ):
            start, end = span
            answers.append(document[offsets[start][0] : offsets[end][1]] if any(tokens) else "")
        return answers


def best_spans(*, starts: Tensor, ends: Tensor, inside: Tensor, longest: int) -> Tensor:
    """The span of each row with the largest sum of its first token's start and its last token's end; of equal ones the
    first. Takes time and memory in proportion to the tokens times `longest`.

    Args:
        starts: scores of a first token, (batch, tokens).
        ends: scores of a last token, (batch, tokens).
        inside: which tokens a span may begin and end with, (batch, tokens).
        longest: most tokens of a span, at least 1.

    Returns:
        First and last token, (batch, 2); any span for rows where none is allowed.
    """
    starts, ends = (scores.masked_fill(~inside, -torch.inf) for scores in (starts, ends))
    # By first token and length: (batch, tokens, longest).
    sums = starts[..., None] + F.pad(ends, (0, longest - 1), value=-torch.inf).unfold(-1, longest, 1)
    best = sums.flatten(1).argmax(dim=-1)
    first = best // longest
    return torch.stack([first, first + best % longest], dim=-1)


class SentimentExpert(TextExpert):
    """Returns `positive` or `negative`, or another label of the checkpoint in lower case."""

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_model(BertForSequenceClassification, spec=spec, device=device)
        self._names: dict[int, str] = {int(k): str(v).lower() for k, v in self._model.config.id2label.items()}

    def answer(self, texts: Sequence[tuple[str, ...]], *, length: int) -> list[str]:
        encoded = self.encode(texts, length=length)
        logits = self._model(input_ids=encoded["input_ids"], attention_mask=encoded["attention_mask"]).logits
        return [self._names[index] for index in logits.argmax(dim=-1).tolist()]
