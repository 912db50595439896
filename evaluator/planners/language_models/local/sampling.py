"""Drawing and stopping per call: calls of one batch may differ in temperature, seed, length and stop texts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import LogitsProcessor, StoppingCriteria

_STOP_MARGIN = 8
"""Tokens that are decoded before those that a stop text may take: a character may be spread over several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """How the tokens of a call are drawn."""

    temperature: float
    """0: always the most probable."""
    top_p: float
    seed: int


class DrawingProcessor(LogitsProcessor):  # type: ignore[misc]
    """Makes the most probable token one that was drawn, so that what a call gets depends on its own seed only.

    The token of the greatest log-probability plus Gumbel noise is a draw from the distribution; the noise of each row
    comes from a generator of its own. (A search that draws by itself shares one generator among all rows.)
    """

    def __init__(self, drawings: Sequence[Drawing], *, device: torch.device) -> None:
        self._drawings = drawings
        self._generators = [torch.Generator(device=device).manual_seed(drawing.seed) for drawing in drawings]

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:  # noqa: ARG002 - the protocol of transformers
        """See `LogitsProcessor`. Shapes: (rows, length), (rows, vocabulary)."""
        drawn = scores.clone()
        for row, (drawing, generator) in enumerate(zip(self._drawings, self._generators, strict=True)):
            if drawing.temperature > 0:
                drawn[row] = _drawn(scores[row], drawing=drawing, generator=generator)
        return drawn


def _drawn(scores: Tensor, *, drawing: Drawing, generator: torch.Generator) -> Tensor:
    logits = torch.log_softmax(scores.float() / drawing.temperature, dim=-1)
    if drawing.top_p < 1.0:
        ordered, order = logits.sort(descending=True)
        # The smallest set of tokens whose probabilities reach top_p: what is before a token must not have reached it.
        before = ordered.exp().cumsum(dim=-1) - ordered.exp()
        logits[order[before >= drawing.top_p]] = -torch.inf
    noise = torch.empty_like(logits).exponential_(generator=generator)
    return (logits - noise.log()).to(scores.dtype)


class CallStopping(StoppingCriteria):  # type: ignore[misc]
    """Ends each row when its own length or one of its own stop texts is reached."""

    def __init__(
        self,
        *,
        lengths: Sequence[int],
        stops: Sequence[Sequence[str]],
        start: int,
        text: Callable[[Sequence[int]], str],
    ) -> None:
        """Args:
        lengths: tokens that each row may add.
        stops: texts that end each row.
        start: how many tokens stand before the completions.
        text: what tokens say.
        """
        self._lengths = lengths
        self._stops = stops
        self._start = start
        self._text = text

    def __call__(self, input_ids: Tensor, scores: object, **_: object) -> Tensor:  # noqa: ARG002 - as above
        """See `StoppingCriteria`. Shape: (rows, length)."""
        written = input_ids.shape[1] - self._start
        ended = [
            written >= length or (bool(stops) and self._stopped(row, stops=stops))
            for row, length, stops in zip(input_ids, self._lengths, self._stops, strict=True)
        ]
        return torch.tensor(ended, device=input_ids.device)

    def _stopped(self, row: Tensor, *, stops: Sequence[str]) -> bool:
        # No token is shorter than a byte, so that this many hold every stop text that ends in the newest one.
        window = max(len(stop.encode("utf-8")) for stop in stops) + _STOP_MARGIN
        tail = self._text(row[max(self._start, row.shape[0] - window) :].tolist())
        return any(stop in tail for stop in stops)


def before_stops(text: str, *, stops: Sequence[str]) -> tuple[str, bool]:
    """The text before the first of the stop texts, and whether there was one."""
    found = [at for at in (text.find(stop) for stop in stops) if at >= 0]
    return (text[: min(found)], True) if found else (text, False)
