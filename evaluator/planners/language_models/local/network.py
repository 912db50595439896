"""A language model with its tokenizer, as generating, scoring and training use it: what stands where in a sequence."""

import inspect
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig

from evaluator.core.canonical_json import digest
from evaluator.core.language_model import Constraint, Message
from evaluator.planners.language_models.spelling import Grammar, Speller, Tokens
from evaluator.sandbox.admission.rules import end_tokens

_NO_LIMIT = 1_000_000
"""Tokens. A tokenizer that knows no limit says something far above."""

_RELATIVE_LIMIT = 2048
"""Tokens that models with relative positions were trained on (Chung et al., 2022), where tokenizers still say 512."""


_LONGEST_REFUSAL = 300
"""Characters."""
MOST_PROMPT_CHARACTERS = 400_000
MOST_PROMPT_TOKENS = 131_072
"""Whatever the model says that it reads: the prompts of all strategies are far below."""


class PromptError(ValueError):
    """A conversation cannot be made a prompt of this model; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A conversation as the model reads it."""

    ids: Tokens
    anchor: str
    """The last character where the completion continues the same text, else empty."""
    lead: str
    """What stands between this prompt and the first word of a completion: a space or nothing."""


class Network:
    """A causal or sequence-to-sequence model of `transformers` with its tokenizer.

    Generation settings that came with the checkpoint are replaced: completions depend on the call alone.
    """

    def __init__(self, *, module: Any, tokenizer: Any) -> None:
        """Args:
        module: a model with a language modelling head, on its device; it may be in training.
        tokenizer: a fast one where completions are constrained or scored.
        """
        self.module = module
        self.tokenizer = tokenizer
        self.guard: Callable[[], AbstractContextManager[object]] = nullcontext
        """Entered while the template and the tokenizer, which are foreign programs, make a prompt."""
        self.is_seq2seq = bool(module.config.is_encoder_decoder)
        self.speller = Speller(self._encoded)
        came_with = module.generation_config
        self._known = int(module.get_input_embeddings().weight.shape[0])
        self.ends = _ends(came_with, tokenizer=tokenizer, known=self._known)
        """Tokens that end a completion; the first one ends constrained ones."""
        pad = tokenizer.pad_token_id
        self.pad = int(pad if pad is not None and pad < self._known else self.ends[0])
        self._before, self._after = _specials(tokenizer)
        self.decoder_start = self._decoder_start(came_with) if self.is_seq2seq else ()
        """What a completion of a sequence-to-sequence model begins with, unseen."""
        self.context = _context(module.config, tokenizer=tokenizer)
        """Tokens that it reads at most; of a causal model with those that it adds. None: no limit is known."""
        self._refuse_unknown((*self.ends, *self._before, *self._after, *self.decoder_start))
        self.arguments = frozenset(inspect.signature(module.forward).parameters)
        module.generation_config = GenerationConfig(
            pad_token_id=self.pad,
            eos_token_id=list(self.ends),
            decoder_start_token_id=self.decoder_start[0] if self.is_seq2seq else None,
        )

    @property
    def device(self) -> torch.device:
        """Where the model's input belongs."""
        device: torch.device = self.module.device
        return device

    @property
    def template_digest(self) -> str | None:
        """SHA-256 of the chat template; None where conversations are plain text."""
        template = getattr(self.tokenizer, "chat_template", None)
        return None if template is None else digest(template)

    def prompt(self, messages: Sequence[Message]) -> Prompt:
        """A conversation as token ids: by the tokenizer's chat template, else the messages with a blank line between.

        Raises:
            PromptError: the template refuses the conversation, or the prompt is longer than any that is read here, or
                has tokens that the model does not know.
        """
        with self.guard():
            return self._prompt(messages)

    def _prompt(self, messages: Sequence[Message]) -> Prompt:
        templated = self.template_digest is not None
        text = self._templated(messages) if templated else "\n\n".join(message.content for message in messages)
        if not self.is_seq2seq and not templated:
            # Tokenizers join a space to the word after it; one at the end would be spelt as it never was in training.
            text = text.rstrip(" ")
        if len(text) > MOST_PROMPT_CHARACTERS:
            raise PromptError(f"The prompt has {len(text)} characters; at most {MOST_PROMPT_CHARACTERS} are read.")
        ids = tuple(self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])
        if len(ids) > MOST_PROMPT_TOKENS:
            raise PromptError(f"The prompt has {len(ids)} tokens; at most {MOST_PROMPT_TOKENS} are read.")
        self._refuse_unknown(ids)
        if self.is_seq2seq:
            return Prompt(ids=(*self._before, *ids, *self._after), anchor="", lead="")
        lead = "" if not text or text[-1].isspace() else " "
        return Prompt(ids=ids if templated else (*self._before, *ids), anchor=text[-1:], lead=lead)

    def continuation(self, text: str, *, prompt: Prompt) -> Tokens:
        """Token ids of a text that continues a prompt, without an end."""
        lead = "" if text[:1].isspace() else prompt.lead
        ids = self.speller.spell(prompt.anchor, lead + text)[0] if text else ()
        self._refuse_unknown(ids)
        return ids

    def grammar(self, constraint: Constraint, *, prompt: Prompt) -> Grammar:
        """The completions of a prompt that a constraint allows."""
        if not self.tokenizer.is_fast:
            raise PromptError("The model's tokenizer does not say where its tokens stand, so it cannot be constrained.")
        return Grammar(
            constraint=constraint, speller=self.speller, end=self.ends[0], anchor=prompt.anchor, lead=prompt.lead
        )

    def text(self, ids: Sequence[int]) -> str:
        """What token ids say, without special tokens."""
        decoded: str = self.tokenizer.decode(list(ids), skip_special_tokens=True)
        return decoded

    def padded(self, rows: Sequence[Sequence[int]], *, left: bool) -> tuple[Tensor, Tensor]:
        """Ids and mask (1: a token, 0: padding) of shape (rows, longest row), on the model's device."""
        width = max(len(row) for row in rows)
        fill = [[self.pad] * (width - len(row)) for row in rows]
        ids = [[*more, *row] if left else [*row, *more] for row, more in zip(rows, fill, strict=True)]
        ones = [[0] * len(more) + [1] * len(row) if left else [1] * len(row) + [0] * len(more)
                for row, more in zip(rows, fill, strict=True)]  # fmt: skip
        return torch.tensor(ids, device=self.device), torch.tensor(ones, device=self.device)

    def _encoded(self, text: str) -> tuple[Sequence[int], Sequence[tuple[int, int]]]:
        found = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        return found["input_ids"], found["offset_mapping"]

    def _refuse_unknown(self, ids: Sequence[int]) -> None:
        """A token without a row in the table of embeddings ends a GPU's process."""
        if ids and max(ids) >= self._known:
            raise PromptError(
                f"The tokenizer gives the token {max(ids)}, and the model knows {self._known}: they do not belong "
                "together."
            )

    def _templated(self, messages: Sequence[Message]) -> str:
        rows = [{"role": message.role, "content": message.content} for message in messages]
        try:
            return self._apply(rows)
        except Exception as error:  # noqa: BLE001 - a template is a foreign program and raises what it likes
            if [row["role"] for row in rows][:2] != ["system", "user"]:
                raise _refusal(error) from None
        # Some templates know no system's message; then it is the beginning of the user's.
        joined = {"role": "user", "content": f"{rows[0]['content']}\n\n{rows[1]['content']}"}
        try:
            return self._apply([joined, *rows[2:]])
        except Exception as error:  # noqa: BLE001
            raise _refusal(error) from None

    def _apply(self, rows: Sequence[dict[str, str]]) -> str:
        continues = bool(rows) and rows[-1]["role"] == "assistant"
        text: str = self.tokenizer.apply_chat_template(
            rows, tokenize=False, add_generation_prompt=not continues, continue_final_message=continues
        )
        return text

    def _decoder_start(self, came_with: Any) -> Tokens:
        config = self.module.config
        found = [came_with.decoder_start_token_id, getattr(config, "decoder_start_token_id", None), self.pad]
        start = next(int(token) for token in found if token is not None)
        return (start, *(token for token in self._before if token != start))


def _refusal(error: Exception) -> PromptError:
    # What a template raises is its author's text, of any length.
    said = " ".join((str(error) or type(error).__name__).split())
    said = said if len(said) <= _LONGEST_REFUSAL else f"{said[:_LONGEST_REFUSAL]}…"
    return PromptError(f"The model's chat template refuses the conversation: {said.rstrip('.')}.")


def _ends(came_with: Any, *, tokenizer: Any, known: int) -> Tokens:
    """What ends a completion. A token of the tokenizer that the model cannot give is left out if there are others."""
    named, own = came_with.eos_token_id, tokenizer.eos_token_id
    ends = end_tokens(named, own=None if own is None or own >= known else int(own)) or end_tokens(None, own=own)
    if not ends:
        raise PromptError("Neither the model nor its tokenizer says which token ends a text.")
    return ends


def _specials(tokenizer: Any) -> tuple[Tokens, Tokens]:
    """What the tokenizer puts before and after a text."""
    plain = list(tokenizer("a", add_special_tokens=False)["input_ids"])
    full = list(tokenizer("a")["input_ids"])
    start = next((at for at in range(len(full)) if full[at : at + len(plain)] == plain), 0)
    return tuple(full[:start]), tuple(full[start + len(plain) :])


_POSITIONS = ("max_position_embeddings", "max_seq_len", "seq_length")
"""Settings of networks that bound their positions; others are mapped to the first by transformers."""


def _context(config: Any, *, tokenizer: Any) -> int | None:
    """The smaller of what the network's settings and its tokenizer say: neither knows what the other can do.

    T5 knows distances only and reads what is longer than its tokenizer's 512, as in instruction tuning (FLAN).
    """
    if hasattr(config, "relative_attention_num_buckets"):
        known = tokenizer.model_max_length
        return max(_RELATIVE_LIMIT, known) if known < _NO_LIMIT else _RELATIVE_LIMIT
    configs = (config, getattr(config, "text_config", None))
    limits: list[Any] = [getattr(one, name, None) for one in configs for name in _POSITIONS] + [
        tokenizer.model_max_length
    ]
    return min((int(limit) for limit in limits if type(limit) in (int, float) and 0 < limit < _NO_LIMIT), default=None)
