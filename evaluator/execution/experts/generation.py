"""Experts that write: translation with a T5, summaries with a BART, continuations with a GPT-2. Never by sampling."""

from collections.abc import Sequence
from typing import Any, ClassVar

from torch import Tensor
from transformers import BartForConditionalGeneration, GPT2LMHeadModel, T5ForConditionalGeneration

from evaluator.core.expert import ExpertSpec
from evaluator.execution.experts.pretrained import load_pretrained
from evaluator.execution.experts.texts import TextExpert, whole_number


class SequenceExpert(TextExpert):
    """Reads a text and writes another; a blank text stays blank.

    With the parameter `num_beams` it searches with beams, in the way that the checkpoint's own generation settings say
    (length penalty, least length, forbidden repetitions); without it greedily.
    """

    model_class: ClassVar[Any]

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        super().__init__(spec=spec, device=device)
        self._model = load_pretrained(self.model_class, folder=spec.path, device=device, precision=spec.precision)
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
        given = encoded["attention_mask"].sum(dim=1).tolist()
        return [
            self._continued(text=text, ids=ids[: max(1, self._total - tokens)] if self._total else ids)
            for (text,), ids, tokens in zip(texts, written, given, strict=True)
        ]

    def _continued(self, *, text: str, ids: Tensor) -> str:
        if not text.strip():
            return ""
        continuation: str = self._tokenizer.decode(ids, skip_special_tokens=True)
        return text + continuation
