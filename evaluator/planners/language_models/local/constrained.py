"""Constrained decoding (OpenAGI, section 5, conditions 1 and 2), and the probabilities of its completions.

The policy is the model's distribution renormalized, at every token, over the tokens that the constraint allows there.
All log-probabilities of this module are of that policy, at temperature 1 unless stated otherwise; over all allowed
completions, their exponentials sum to 1.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import LogitsProcessor

from evaluator.core.language_model import Constraint, Message
from evaluator.planners.language_models.local.network import Network
from evaluator.planners.language_models.local.scoring import completion_logits
from evaluator.planners.language_models.spelling import Grammar, Tokens


class ConstrainedProcessor(LogitsProcessor):  # type: ignore[misc]
    """Replaces scores with the policy's log-probabilities: minus infinity for tokens that are not allowed.

    Calls of a batch have their own grammars and the same number of beams.
    """

    def __init__(self, grammars: Sequence[Grammar], *, start: int, end: int) -> None:
        """Args:
        grammars: the grammar of each call in the batch.
        start: number of tokens before the completions, including padding.
        end: the token that ends a completion.
        """
        self._grammars = grammars
        self._start = start
        self._end = end
        self._known: dict[tuple[int, Tokens], dict[int, float]] = {}

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """See `LogitsProcessor`. Shapes: (rows, length), (rows, vocabulary)."""
        beams = len(input_ids) // len(self._grammars)
        rows = [(number // beams, tuple(row)) for number, row in enumerate(input_ids[:, self._start :].tolist())]
        allowed = [self._grammars[call].allowed(written) for call, written in rows]
        # Beams that have ended, or that fill up a search with too few candidates, are padded with the end token.
        index, mask = _index([tokens or (self._end,) for tokens in allowed], device=scores.device)
        log_probabilities = _renormalised(scores, index=index, mask=mask)
        for row, tokens, values in zip(rows, allowed, log_probabilities.tolist(), strict=True):
            self._known[row] = dict(zip(tokens, values, strict=False))
        nothing = torch.full_like(scores, -torch.inf)
        return nothing.scatter_reduce(1, index, log_probabilities.to(scores.dtype), "amax")

    def log_probability(self, tokens: Tokens, *, call: int) -> float:
        """Log-probability of tokens generated for a call; minus infinity for other tokens."""
        steps = (self._known.get((call, tokens[:at]), {}).get(token) for at, token in enumerate(tokens))
        return sum(-torch.inf if step is None else step for step in steps)


def constrained_log_probabilities(
    *,
    network: Network,
    prompts: Sequence[Sequence[Message]],
    names: Sequence[Sequence[str]],
    constraints: Sequence[Constraint],
    temperature: float = 1.0,
) -> Tensor:
    """Log-probabilities of completions under the constrained policy, with gradients: log P(s | t) of OpenAGI, eq. 4.

    Args:
        network: in training or not; the caller controls gradients, dropout and precision.
        prompts: the conversation of each completion.
        names: the names of each completion.
        constraints: the constraint of each completion.
        temperature: temperature of the policy, above 0.

    Returns:
        Shape (completions,), float32, each at most 0: the sum over a completion's tokens, including its end.

    Raises:
        ValueError: a constraint does not allow its completion, or a prompt is invalid.
    """
    encoded = [network.prompt(messages) for messages in prompts]
    grammars = [
        network.grammar(constraint, prompt=prompt) for constraint, prompt in zip(constraints, encoded, strict=True)
    ]
    written = [grammar.spelling(tuple(each)) for grammar, each in zip(grammars, names, strict=True)]
    logits = completion_logits(network=network, prompts=[prompt.ids for prompt in encoded], completions=written)
    total = torch.zeros(len(written), device=logits.device, dtype=torch.float32)
    steps = [(row, at) for row, tokens in enumerate(written) for at in range(len(tokens))]
    if not steps:
        return total
    allowed = [grammars[row].allowed(written[row][:at]) for row, at in steps]
    index, mask = _index(allowed, device=logits.device)
    rows = torch.tensor([row for row, _ in steps], device=logits.device)
    places = torch.tensor([at for _, at in steps], device=logits.device)
    policy = _renormalised(logits[rows, places] / temperature, index=index, mask=mask)
    chosen = [tokens.index(written[row][at]) for (row, at), tokens in zip(steps, allowed, strict=True)]
    values = policy.gather(1, torch.tensor(chosen, device=logits.device)[:, None])[:, 0]
    return total.index_add(0, rows, values)


def _index(allowed: Sequence[Tokens], *, device: Any) -> tuple[Tensor, Tensor]:
    """The allowed tokens of each row, padded to one width, and the mask of tokens that are no padding."""
    width = max(len(tokens) for tokens in allowed)
    filled = [[*tokens, *[tokens[0]] * (width - len(tokens))] for tokens in allowed]
    counts = torch.tensor([len(tokens) for tokens in allowed], device=device)
    return torch.tensor(filled, device=device), torch.arange(width, device=device) < counts[:, None]


def _renormalised(scores: Tensor, *, index: Tensor, mask: Tensor) -> Tensor:
    """Log-probabilities over the indexed tokens, in float32, from logits or log-probabilities."""
    chosen = scores.gather(1, index).float()
    if not bool(torch.isfinite(chosen).all()):
        raise ArithmeticError("the model gave scores that are not numbers")
    return torch.log_softmax(chosen.masked_fill(~mask, -torch.inf), dim=-1)
