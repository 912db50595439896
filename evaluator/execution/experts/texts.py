"""Base of language experts: texts to token ids of one fixed length, in batches of one fixed size."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor
from transformers import AutoTokenizer

from evaluator.core.expert import ExpertError, ExpertSpec
from evaluator.core.values import Value
from evaluator.execution.experts.inputs import in_buckets, padded_length, whole_number

_LONGEST = 1_000_000
"""In tokens. Tokenizers without a limit report far more."""


def text_of(item: Mapping[str, Value], *, name: str) -> str:
    """The text input `name`; ExpertError if it is missing or no text."""
    value = item.get(name)
    if not isinstance(value, str):
        kind = "nothing" if value is None else type(value).__name__
        raise ExpertError(f'the input "{name}" must be a text, found {kind}')
    return value


def load_tokenizer(spec: ExpertSpec, *, folder: Path | None = None) -> Any:
    """The tokenizer beside a model's weights, or in `folder`. The end token is the default padding token."""
    tokenizer = AutoTokenizer.from_pretrained(folder or spec.path, local_files_only=True, trust_remote_code=False)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def generate_texts(model: Any, *, tokenizer: Any, pixels: Tensor, longest: int, beams: int = 1) -> list[str]:
    """A text for each picture or clip of a batch, by beam search, of at most `longest` tokens."""
    with torch.inference_mode():
        tokens = model.generate(
            pixel_values=pixels.to(model.dtype),
            do_sample=False,
            num_beams=beams,
            max_new_tokens=longest,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    texts = tokenizer.batch_decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    return [text.strip() for text in texts]


class TextExpert:
    """An expert from texts to a text; subclasses process a batch. The parameter `output` names the output.

    Texts are truncated to `length` tokens and padded to it, or with the parameter `least_length` to the shortest
    `padded_length` that holds them. Texts of one padded length share batches, which are padded to one size.
    """

    inputs: ClassVar[tuple[str, ...]] = ("text",)
    """Names of the inputs, in the tokenizer's order of pairs."""
    special_tokens: ClassVar[bool] = True
    """Whether the tokenizer adds its special tokens."""

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        self.batch_size = spec.batch_size
        self._device = device
        self._output = str(spec.parameters.get("output", "text"))
        self._tokenizer = load_tokenizer(spec)
        self._length = whole_number(spec=spec, name="length", default=self._tokenizer.model_max_length)
        if self._length > _LONGEST:
            raise ExpertError(
                f'the tokenizer of {spec.id} sets no limit to texts; give the parameter "length" in the profile, the '
                "most tokens that its model reads"
            )
        self._least_length = whole_number(spec=spec, name="least_length", default=0)

    def prepared(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        """What the tokenizer reads of an item's texts. By default the texts."""
        return texts

    def answer(self, texts: Sequence[tuple[str, ...]], *, length: int) -> list[str]:
        """The answers for a full batch of prepared texts, padded to `length` tokens."""
        raise NotImplementedError

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        rows = [self.prepared(tuple(text_of(item, name=name) for name in self.inputs)) for item in batch]
        with torch.inference_mode():
            answers = in_buckets(
                rows,
                lengths=self._lengths(rows),
                size=self.batch_size,
                run=lambda texts, length: self.answer(texts, length=length),
            )
        return [{self._output: answer} for answer in answers]

    def encode(self, texts: Sequence[tuple[str, ...]], *, length: int, **settings: object) -> Any:
        """Token ids and masks of shape (batch, length). The longer text of a pair is truncated."""
        encoded = self._tokenizer(
            *(list(column) for column in zip(*texts, strict=True)),
            padding="max_length",
            truncation=True,
            max_length=length,
            add_special_tokens=self.special_tokens,
            return_tensors="pt",
            **settings,
        )
        return encoded.to(self._device)

    def _lengths(self, rows: Sequence[tuple[str, ...]]) -> list[int]:
        """The length to which each item is padded."""
        if not self._least_length or not rows:
            return [self._length] * len(rows)
        encoded = self._tokenizer(
            *(list(column) for column in zip(*rows, strict=True)),
            truncation=True,
            max_length=self._length,
            add_special_tokens=self.special_tokens,
        )
        return [padded_length(len(ids), least=self._least_length, most=self._length) for ids in encoded["input_ids"]]

    def decode(self, ids: Tensor) -> str:
        """A generated text without special tokens."""
        text: str = self._tokenizer.decode(ids, skip_special_tokens=True)
        return text.strip()
