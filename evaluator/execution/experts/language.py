"""Language experts: translation, summaries, continuations, tags, masked words, answers in documents, sentiment.

Generation is greedy or by beams, never by sampling.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
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
from evaluator.execution.experts.inputs import whole_number
from evaluator.execution.experts.pretrained import load_model
from evaluator.execution.experts.texts import TextExpert


class SequenceExpert(TextExpert):
    """Reads a text and writes another; a blank text stays blank.

    With the parameter `num_beams` it searches with beams, in the way that the checkpoint's own generation settings say
    (length penalty, least length, forbidden repetitions); without it greedily.
    """

    model_class: ClassVar[Any]

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_model(self.model_class, spec=spec, device=device)
        self._new = whole_number(spec=spec, name="max_new_tokens", default=64)
        self._beams = whole_number(spec=spec, name="num_beams", default=1)
        self._prefix = str(spec.parameters.get("prefix", ""))

    def answer(self, texts: Sequence[tuple[str, ...]]) -> list[str]:
        encoded = self.encode([(self._prefix + text,) for (text,) in texts])
        written = self.write(ids=self._known(encoded["input_ids"]), mask=encoded["attention_mask"])
        pairs = zip(texts, written, strict=True)
        return [self.decode(ids) if text.strip() else "" for (text,), ids in pairs]

    def _known(self, ids: Tensor) -> Tensor:
        """Ids with the unknown token for tokens that the tokenizer's settings add and the model never learnt."""
        unknown = self._tokenizer.unk_token_id
        return ids if unknown is None else ids.where(ids < self._model.get_input_embeddings().num_embeddings, unknown)

    def write(self, *, ids: Tensor, mask: Tensor) -> Tensor:
        """Token ids after the search, (batch, tokens)."""
        settings = {"do_sample": False, "num_beams": self._beams, "max_new_tokens": self._new}
        written: Tensor = self._model.generate(input_ids=ids, attention_mask=mask, **settings)
        return written


class T5Expert(SequenceExpert):
    """Translates; the parameter `prefix` says what a general T5 is to do."""

    model_class: ClassVar[Any] = T5ForConditionalGeneration


class BartExpert(SequenceExpert):
    """Summarises."""

    model_class: ClassVar[Any] = BartForConditionalGeneration


class GPT2Expert(SequenceExpert):
    """Gives the text back with its continuation.

    With the parameter `max_tokens` text and continuation together have at most so many tokens. A longer text is
    continued by one, as released code does.
    """

    model_class: ClassVar[Any] = GPT2LMHeadModel

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._total = whole_number(spec=spec, name="max_tokens", default=0)
        self._new = self._total - 1 if self._total else self._new
        # The continuation must follow the text directly, and of a long text the end matters.
        self._tokenizer.padding_side = self._tokenizer.truncation_side = "left"
        self._length = min(self._length, int(self._model.config.n_positions) - self._new)
        # Released checkpoints have no padding of their own; the mask hides what stands there.
        self._model.generation_config.pad_token_id = self._tokenizer.pad_token_id

    def answer(self, texts: Sequence[tuple[str, ...]]) -> list[str]:
        encoded = self.encode(texts, add_special_tokens=False)
        written = self.write(ids=encoded["input_ids"], mask=encoded["attention_mask"])[:, self._length :]
        lengths = encoded["attention_mask"].sum(dim=1).tolist()
        answers = []
        for (text,), ids, tokens in zip(texts, written, lengths, strict=True):
            new = ids[: max(1, self._total - tokens)] if self._total else ids
            answers.append(text + self._tokenizer.decode(new, skip_special_tokens=True) if text.strip() else "")
        return answers


SEPARATOR = ", "
"""Between the items of a list."""


class TagsExpert(T5Expert):
    """A text in, a list of labels out, in the order in which the model writes them; each once."""

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        outputs: list[Mapping[str, Value]] = []
        for item in super().run(batch):
            tags = {name: [tag.strip() for tag in str(text).split(SEPARATOR.strip())] for name, text in item.items()}
            outputs.append(
                {name: Labels(tuple(Label(tag) for tag in dict.fromkeys(own) if tag)) for name, own in tags.items()}
            )
        return outputs


class FillMaskExpert(TextExpert):
    """Puts the most likely word in the place of every mask; a text without one stays as it is."""

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_model(RobertaForMaskedLM, spec=spec, device=device)
        self._mask: str = self._tokenizer.mask_token

    def answer(self, texts: Sequence[tuple[str, ...]]) -> list[str]:
        # Texts may spell the mask like this, whatever the tokenizer calls it.
        masked_texts = [text.replace("[MASK]", self._mask).replace("<mask>", self._mask) for (text,) in texts]
        encoded = self.encode([(text,) for text in masked_texts])
        logits = self._model(input_ids=encoded["input_ids"], attention_mask=encoded["attention_mask"]).logits
        logits[..., self._tokenizer.all_special_ids] = -torch.inf
        masked = encoded["input_ids"] == self._tokenizer.mask_token_id
        guesses = logits.argmax(dim=-1)
        answers = []
        for text, row, where in zip(masked_texts, guesses, masked, strict=True):
            # Masks behind the end of what the model reads stay.
            for word in row[where].tolist():
                text = text.replace(self._mask, self._tokenizer.decode([word]).strip(), 1)
            answers.append(text)
        return answers


class AnswerExpert(TextExpert):
    """Answers a query with a span of a document; from a blank document nothing can be answered."""

    inputs: ClassVar[tuple[str, ...]] = ("query", "document")

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_model(DistilBertForQuestionAnswering, spec=spec, device=device)
        self._longest = whole_number(spec=spec, name="max_answer_tokens", default=12)

    def answer(self, texts: Sequence[tuple[str, ...]]) -> list[str]:
        encoded = self.encode(texts, return_offsets_mapping=True)
        output = self._model(input_ids=encoded["input_ids"], attention_mask=encoded["attention_mask"])
        answers = []
        for row, (_, document) in enumerate(texts):
            inside = torch.tensor([sequence == 1 for sequence in encoded.sequence_ids(row)])
            if not inside.any():
                answers.append("")
                continue
            start, end = self._span(
                starts=output.start_logits[row].float().cpu(), ends=output.end_logits[row].float().cpu(), inside=inside
            )
            offsets = encoded["offset_mapping"][row]
            answers.append(document[int(offsets[start, 0]) : int(offsets[end, 1])])
        return answers

    def _span(self, *, starts: Tensor, ends: Tensor, inside: Tensor) -> tuple[int, int]:
        """The most likely first and last token of at most `max_answer_tokens` in the document; all (tokens,)."""
        scores = (starts[:, None] + ends[None, :]).masked_fill(~(inside[:, None] & inside[None, :]), -torch.inf)
        allowed = torch.ones_like(scores, dtype=torch.bool).triu().tril(self._longest - 1)
        best = int(scores.masked_fill(~allowed, -torch.inf).argmax())
        return best // len(starts), best % len(starts)


class SentimentExpert(TextExpert):
    """Says `positive` or `negative`, or what else the checkpoint's labels are, in small letters."""

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_model(BertForSequenceClassification, spec=spec, device=device)
        self._names: dict[int, str] = {int(k): str(v).lower() for k, v in self._model.config.id2label.items()}

    def answer(self, texts: Sequence[tuple[str, ...]]) -> list[str]:
        encoded = self.encode(texts)
        logits = self._model(input_ids=encoded["input_ids"], attention_mask=encoded["attention_mask"]).logits
        return [self._names[index] for index in logits.argmax(dim=-1).tolist()]
