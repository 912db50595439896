"""A language model with its tokenizer for generation, scoring and training: the layout of its sequences."""

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
"""In tokens. Tokenizers without a limit report far more."""

_RELATIVE_LIMIT = 2048
"""Training length, in tokens, of models with relative positions (Chung et al., 2022); their tokenizers report 512."""

_LONGEST_REFUSAL = 300
"""In characters."""
MOST_PROMPT_CHARACTERS = 400_000
MOST_PROMPT_TOKENS = 131_072
"""Limits whatever the model's context: the prompts of all strategies are far shorter."""


class PromptError(ValueError):
    """A conversation cannot be encoded as a prompt of this model. The message is a sentence."""


class PromptTooLongError(PromptError):
    """A conversation is longer than any model reads here."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """An encoded conversation."""

    ids: Tokens
    anchor: str
    """The last character, if the completion continues the same text; otherwise empty."""
    lead: str
    """The separator between the prompt and the first word of a completion: a space or nothing."""


class Network:
    """A causal or sequence-to-sequence model of `transformers` with its tokenizer.

    Replaces the checkpoint's generation settings: completions depend on the call alone.
    """

    def __init__(self, *, module: Any, tokenizer: Any) -> None:
        """Args:
        module: a model with a language modelling head, on its device; it may be in training.
        tokenizer: a fast tokenizer, if completions are constrained or scored.
        """
        self.module = module
        self.tokenizer = tokenizer
        self.guard: Callable[[], AbstractContextManager[object]] = nullcontext
        """Context for running the chat template and tokenizer, which are untrusted programs."""
        self.is_seq2seq = bool(module.config.is_encoder_decoder)
        self.speller = Speller(self._encoded)
        original = module.generation_config
        self._known = int(module.get_input_embeddings().weight.shape[0])
        self.ends = _ends(original, tokenizer=tokenizer, known=self._known)
        """Tokens that end a completion; the first ends constrained completions."""
        pad = tokenizer.pad_token_id
        self.pad = int(pad if pad is not None and pad < self._known else self.ends[0])
        # The special tokens that the tokenizer puts before and after a text.
        plain = list(tokenizer("a", add_special_tokens=False)["input_ids"])
        full = list(tokenizer("a")["input_ids"])
        start = next((at for at in range(len(full)) if full[at : at + len(plain)] == plain), 0)
        self._before, self._after = tuple(full[:start]), tuple(full[start + len(plain) :])
        self.decoder_start: Tokens = ()
        """The hidden beginning of a completion of a sequence-to-sequence model."""
        if self.is_seq2seq:
            configured = getattr(module.config, "decoder_start_token_id", None)
            begin = next(
                int(token) for token in (original.decoder_start_token_id, configured, self.pad) if token is not None
            )
            self.decoder_start = (begin, *(token for token in self._before if token != begin))
        self.context = _context(module.config, tokenizer=tokenizer)
        """Maximum number of tokens, for a causal model including the completion. None: unknown."""
        self._refuse_unknown((*self.ends, *self._before, *self._after, *self.decoder_start))
        self.arguments = frozenset(inspect.signature(module.forward).parameters)
        module.generation_config = GenerationConfig(
            pad_token_id=self.pad,
            eos_token_id=list(self.ends),
            decoder_start_token_id=self.decoder_start[0] if self.is_seq2seq else None,
        )

    @property
    def device(self) -> torch.device:
        device: torch.device = self.module.device
        return device

    @property
    def template_digest(self) -> str | None:
        """SHA-256 of the chat template; None where conversations are plain text."""
        template = getattr(self.tokenizer, "chat_template", None)
        return None if template is None else digest(template)

    def prompt(self, messages: Sequence[Message]) -> Prompt:
        """A conversation as token ids: by the tokenizer's chat template, else the messages separated by blank lines.

        Raises:
            PromptTooLongError: the prompt exceeds the limits for all models.
            PromptError: the template refuses the conversation, or the prompt has tokens that the model does not know.
        """
        templated = self.template_digest is not None
        with self.guard():
            text = self._templated(messages) if templated else "\n\n".join(message.content for message in messages)
            if not self.is_seq2seq and not templated:
                # Tokenizers join a space to the word after it: a trailing one would be spelt as never in training.
                text = text.rstrip(" ")
            if len(text) > MOST_PROMPT_CHARACTERS:
                raise PromptTooLongError(
                    f"The prompt has {len(text)} characters; at most {MOST_PROMPT_CHARACTERS} are read."
                )
            ids = tuple(self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])
        if len(ids) > MOST_PROMPT_TOKENS:
            raise PromptTooLongError(f"The prompt has {len(ids)} tokens; at most {MOST_PROMPT_TOKENS} are read.")
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
        """The text of token ids, without special tokens."""
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
        encoding = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        return encoding["input_ids"], encoding["offset_mapping"]

    def _refuse_unknown(self, ids: Sequence[int]) -> None:
        # On a GPU, a token without an embedding aborts the process.
        if ids and max(ids) >= self._known:
            raise PromptError(
                f"The tokenizer gives the token {max(ids)}, and the model knows {self._known}: they do not belong "
                "together."
            )

    def _templated(self, messages: Sequence[Message]) -> str:
        rows = [{"role": message.role, "content": message.content} for message in messages]
        try:
            return self._apply(rows)
        except Exception as error:  # noqa: BLE001 - a template is an untrusted program
            if [row["role"] for row in rows][:2] != ["system", "user"]:
                raise _refusal(error) from None
        # Some templates refuse system messages: prepend it to the user's message.
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


def _refusal(error: Exception) -> PromptError:
    # The message is the template author's text, of any length.
    reason = " ".join((str(error) or type(error).__name__).split())
    reason = reason if len(reason) <= _LONGEST_REFUSAL else f"{reason[:_LONGEST_REFUSAL]}…"
    return PromptError(f"The model's chat template refuses the conversation: {reason.rstrip('.')}.")


def _ends(original: Any, *, tokenizer: Any, known: int) -> Tokens:
    """Tokens that end a completion. The tokenizer's is left out if the model lacks it and has others."""
    named, own = original.eos_token_id, tokenizer.eos_token_id
    ends = end_tokens(named, own=None if own is None or own >= known else int(own)) or end_tokens(None, own=own)
    if not ends:
        raise PromptError("Neither the model nor its tokenizer says which token ends a text.")
    return ends


_POSITIONS = ("max_position_embeddings", "max_seq_len", "seq_length")
"""Settings for the number of positions; transformers maps others to the first."""


def _context(config: Any, *, tokenizer: Any) -> int | None:
    """The smaller limit of the network's settings and its tokenizer.

    T5 has relative positions and reads longer texts than its tokenizer's 512 tokens, as in instruction tuning (FLAN).
    """
    if hasattr(config, "relative_attention_num_buckets"):
        limit = tokenizer.model_max_length
        return max(_RELATIVE_LIMIT, limit) if limit < _NO_LIMIT else _RELATIVE_LIMIT
    configs = (config, getattr(config, "text_config", None))
    limits: list[Any] = [getattr(each, name, None) for each in configs for name in _POSITIONS] + [
        tokenizer.model_max_length
    ]
    return min((int(limit) for limit in limits if type(limit) in (int, float) and 0 < limit < _NO_LIMIT), default=None)
