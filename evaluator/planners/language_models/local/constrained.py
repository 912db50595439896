"""Constrained decoding (OpenAGI, section 5, conditions 1 and 2), and the probability of what it may write.

The policy is the model's distribution renormalised, at every token, over the tokens that the constraint allows there.
All log-probabilities of this module are of that policy, at temperature 1 unless said otherwise; over all completions
that a constraint allows, their exponentials sum to 1.
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
    """Sets the log-probability of every token to that of the policy: minus infinity where it is not allowed.

    Serves several calls in one batch, each with its own grammar and with the same number of beams.
    """

    def __init__(self, grammars: Sequence[Grammar], *, start: int, end: int) -> None:
        """Args:
        grammars: of each call in the batch.
        start: how many tokens stand before a completion, padding included.
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
        # Beams that have ended, or that fill up a search with too few candidates, are only carried along.
        index, mask = _index([tokens or (self._end,) for tokens in allowed], device=scores.device)
        log_probabilities = _renormalised(scores, index=index, mask=mask)
        for row, tokens, values in zip(rows, allowed, log_probabilities.tolist(), strict=True):
            self._known[row] = dict(zip(tokens, values, strict=False))
        nothing = torch.full_like(scores, -torch.inf)
        return nothing.scatter_reduce(1, index, log_probabilities.to(scores.dtype), "amax")

    def log_probability(self, tokens: Tokens, *, call: int) -> float:
        """Of tokens that were written for a call, as the sum over all of them; minus infinity if they were not."""
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
        network: in training or not; the caller decides on gradients, dropout and precision.
        prompts: the conversation of each completion.
        names: what each completion consists of.
        constraints: under which each was written.
        temperature: of the policy, above 0.

    Returns:
        Shape (completions,), float32, each at most 0: the sum over a completion's tokens, its end included.

    Raises:
        ValueError: a constraint does not allow its completion, or a prompt cannot be read.
    """
    made = [network.prompt(messages) for messages in prompts]
    grammars = [
        network.grammar(constraint, prompt=prompt) for constraint, prompt in zip(constraints, made, strict=True)
    ]
    written = [grammar.spelling(tuple(one)) for grammar, one in zip(grammars, names, strict=True)]
    logits = completion_logits(network=network, prompts=[prompt.ids for prompt in made], completions=written)
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
    """The allowed tokens of each row, filled up to one width, and which of them are no filling."""
    width = max(len(tokens) for tokens in allowed)
    filled = [[*tokens, *[tokens[0]] * (width - len(tokens))] for tokens in allowed]
    counts = torch.tensor([len(tokens) for tokens in allowed], device=device)
    return torch.tensor(filled, device=device), torch.arange(width, device=device) < counts[:, None]


def _renormalised(scores: Tensor, *, index: Tensor, mask: Tensor) -> Tensor:
    """Log-probabilities over the indexed tokens alone, in float32; logits and log-probabilities give the same.

    Raises:
        ArithmeticError: the model's scores are not numbers.
    """
    chosen = scores.gather(1, index).float()
    if not bool(torch.isfinite(chosen).all()):
        raise ArithmeticError("the model gave scores that are not numbers")
    return torch.log_softmax(chosen.masked_fill(~mask, -torch.inf), dim=-1)
