"""Experts that read: masked words with a RoBERTa, answers in documents with a DistilBERT, sentiment with a BERT."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor
from transformers import BertForSequenceClassification, DistilBertForQuestionAnswering, RobertaForMaskedLM

from evaluator.core.expert import ExpertSpec
from evaluator.execution.experts.pretrained import load_pretrained
from evaluator.execution.experts.texts import TextExpert, whole_number

_MASKS = ("[MASK]", "<mask>")
"""How texts may spell the mask, whatever the tokenizer calls it."""


class FillMaskExpert(TextExpert):
    """Puts the most likely word in the place of every mask; a text without one stays as it is."""

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_pretrained(RobertaForMaskedLM, folder=spec.path, device=device, precision=spec.precision)
        self._mask: str = self._tokenizer.mask_token

    def answer(self, texts: Sequence[tuple[str, ...]]) -> list[str]:
        spelt = [self._spelt(text) for (text,) in texts]
        encoded = self.encode([(text,) for text in spelt])
        logits = self._model(input_ids=encoded["input_ids"], attention_mask=encoded["attention_mask"]).logits
        logits[..., self._tokenizer.all_special_ids] = -torch.inf
        masked = encoded["input_ids"] == self._tokenizer.mask_token_id
        guesses = logits.argmax(dim=-1)
        rows = zip(spelt, guesses, masked, strict=True)
        return [self._filled(text=text, words=row[where]) for text, row, where in rows]

    def _spelt(self, text: str) -> str:
        for mask in _MASKS:
            text = text.replace(mask, self._mask)
        return text

    def _filled(self, *, text: str, words: Tensor) -> str:
        """The text with its first masks replaced; those behind the end of what the model reads stay."""
        for word in words.tolist():
            text = text.replace(self._mask, self._tokenizer.decode([word]).strip(), 1)
        return text


class AnswerExpert(TextExpert):
    """Answers a query with a span of a document; from a blank document nothing can be answered."""

    inputs: ClassVar[tuple[str, ...]] = ("query", "document")

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_pretrained(
            DistilBertForQuestionAnswering, folder=spec.path, device=device, precision=spec.precision
        )
        self._longest = whole_number(spec=spec, name="max_answer_tokens", default=12)

    def answer(self, texts: Sequence[tuple[str, ...]]) -> list[str]:
        encoded = self.encode(texts, return_offsets_mapping=True)
        found = self._model(input_ids=encoded["input_ids"], attention_mask=encoded["attention_mask"])
        answers = []
        for row, (_, document) in enumerate(texts):
            inside = torch.tensor([sequence == 1 for sequence in encoded.sequence_ids(row)])
            if not inside.any():
                answers.append("")
                continue
            start, end = self._span(
                starts=found.start_logits[row].float().cpu(), ends=found.end_logits[row].float().cpu(), inside=inside
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
        self._model = load_pretrained(
            BertForSequenceClassification, folder=spec.path, device=device, precision=spec.precision
        )
        self._names: dict[int, str] = {int(k): str(v).lower() for k, v in self._model.config.id2label.items()}

    def answer(self, texts: Sequence[tuple[str, ...]]) -> list[str]:
        encoded = self.encode(texts)
        logits = self._model(input_ids=encoded["input_ids"], attention_mask=encoded["attention_mask"]).logits
        return [self._names[index] for index in logits.argmax(dim=-1).tolist()]
