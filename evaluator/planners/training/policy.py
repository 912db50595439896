"""A sequence-to-sequence model as a policy over names: drawing from it, and the probability of what was drawn.

Every token that the constraint forbids has probability 0 and the others are renormalised, so that the log-probability
of a completion is the sum over its tokens under the very distribution that it was drawn from.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutput

from evaluator.planners.language_models.protocol import Constraint
from evaluator.planners.language_models.spelling import Grammar, Speller
from evaluator.planners.training.supervised import encode_prompts, padded

LONGEST = 128
"""Tokens of a completion. Ten names take about forty."""


@dataclass(frozen=True, slots=True)
class Question:
    """A prompt, and which names its completion may consist of."""

    prompt: str
    constraint: Constraint


class Policy:
    """The distribution over completions that a model and the constraints of questions define."""

    def __init__(self, *, model: nn.Module, tokenizer: Tokenizer) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self._end: int = model.config.eos_token_id  # type: ignore[union-attr, assignment]
        self._start: int = model.config.decoder_start_token_id  # type: ignore[union-attr, assignment]
        self._speller = Speller(self._encode)

    def grammar(self, question: Question) -> Grammar:
        """What the completions of a question look like in tokens."""
        return Grammar(constraint=question.constraint, speller=self._speller, end=self._end)

    @torch.no_grad()
    def draw(self, questions: Sequence[Question], *, seed: int | None) -> list[tuple[str, ...]]:
        """One completion for each question, as names.

        Args:
            seed: of what is drawn; None: the most probable token each time.
        """
        grammars = [self.grammar(question) for question in questions]
        generator = None if seed is None else torch.Generator().manual_seed(seed)
        memory, mask = self._read(questions)
        written: list[tuple[int, ...]] = [() for _ in questions]
        cache = None
        last = torch.full((len(questions), 1), self._start)
        for _ in range(LONGEST):
            found = self.model(
                encoder_outputs=memory, attention_mask=mask, decoder_input_ids=last, past_key_values=cache, use_cache=True
            )
            cache = found.past_key_values
            allowed = [
                () if grammar.names(tokens)[1] else grammar.allowed(tokens)
                for grammar, tokens in zip(grammars, written, strict=True)
            ]
            if not any(allowed):
                break
            tokens = _chosen(logits=found.logits[:, -1], allowed=allowed, generator=generator)
            written = [(*row, token) if may else row for row, token, may in zip(written, tokens, allowed, strict=True)]
            last = torch.tensor(tokens)[:, None]
        return [grammar.names(tokens)[0] for grammar, tokens in zip(grammars, written, strict=True)]

    def log_probabilities(self, questions: Sequence[Question], names: Sequence[Sequence[str]]) -> Tensor:
        """The log-probability of each completion, differentiable: float32 (questions,), at most 0.

        Raises:
            ValueError: a completion is not allowed.
        """
        grammars = [self.grammar(question) for question in questions]
        written = [grammar.spelling(list(found)) for grammar, found in zip(grammars, names, strict=True)]
        targets = padded([list(row) for row in written], value=self._end)
        memory, mask = self._read(questions)
        inputs = torch.cat([torch.full((len(written), 1), self._start), targets[:, :-1]], dim=1)
        logits = self.model(encoder_outputs=memory, attention_mask=mask, decoder_input_ids=inputs).logits
        allowed = torch.zeros_like(logits, dtype=torch.bool)
        for row, (grammar, tokens) in enumerate(zip(grammars, written, strict=True)):
            for place in range(len(tokens)):
                allowed[row, place, list(grammar.allowed(tokens[:place]))] = True
            # Behind the end only one thing may be written, so that these places add nothing.
            allowed[row, len(tokens) :, self._end] = True
        logs = logits.masked_fill(~allowed, -torch.inf).log_softmax(dim=-1)
        total: Tensor = logs.gather(2, targets[:, :, None])[:, :, 0].sum(dim=1)
        return total

    def _read(self, questions: Sequence[Question]) -> tuple[BaseModelOutput, Tensor]:
        """The prompts as the encoder gives them. Equal prompts are read once."""
        prompts = list(dict.fromkeys(question.prompt for question in questions))
        rows = torch.tensor([prompts.index(question.prompt) for question in questions])
        ids, mask = encode_prompts(tokenizer=self.tokenizer, texts=prompts)
        states = self.model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state  # type: ignore[operator]
        return BaseModelOutput(last_hidden_state=states[rows]), mask[rows]

    def _encode(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        found = self.tokenizer.encode(text, add_special_tokens=False)
        return found.ids, found.offsets


def _chosen(*, logits: Tensor, allowed: Sequence[Sequence[int]], generator: torch.Generator | None) -> list[int]:
    """A token of each row that is allowed there; the first token of all where nothing is."""
    mask = torch.zeros_like(logits, dtype=torch.bool)
    for row, tokens in enumerate(allowed):
        mask[row, list(tokens) or [0]] = True
    logits = logits.masked_fill(~mask, -torch.inf)
    if generator is None:
        return [int(token) for token in logits.argmax(dim=-1)]
    return [int(token) for token in torch.multinomial(logits.softmax(dim=-1), 1, generator=generator)[:, 0]]
