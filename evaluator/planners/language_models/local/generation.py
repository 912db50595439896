"""Batches of calls through `generate` of `transformers`: free completions, and constrained ones with beams."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig, LogitsProcessor, LogitsProcessorList, StoppingCriteria, StoppingCriteriaList

from evaluator.core.language_model import Beam, Completion, Failure, FailureKind, GenerateCall, Usage
from evaluator.planners.language_models.local.constrained import ConstrainedProcessor
from evaluator.planners.language_models.local.network import Network, Prompt
from evaluator.planners.language_models.spelling import Grammar, Tokens

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A call as the model reads it."""

    call: GenerateCall
    prompt: Prompt
    room: int
    """Tokens that it may add: what was asked for, or what the context leaves."""
    grammar: Grammar | None = None

    @property
    def drawing(self) -> Drawing:
        """How its tokens are drawn."""
        return Drawing(temperature=self.call.temperature, top_p=self.call.top_p, seed=self.call.seed)


def free_completions(*, network: Network, batch: Sequence[Prepared]) -> list[Completion]:
    """Completions of calls without constraint."""
    ids, mask, start = _inputs(network=network, batch=batch)
    processors = LogitsProcessorList([DrawingProcessor([one.drawing for one in batch], device=network.device)])
    stopping = CallStopping(
        lengths=[one.room for one in batch],
        stops=[one.call.stop for one in batch],
        start=start,
        text=network.text,
    )
    settings = GenerationConfig(max_new_tokens=max(one.room for one in batch), do_sample=False)
    sequences = _generate(
        network=network, ids=ids, mask=mask, settings=settings, processors=processors, stopping=stopping
    )
    rows = (tuple(row) for row in sequences[:, start:].tolist())
    return [completion_of(one, tokens=row[: one.room], network=network) for one, row in zip(batch, rows, strict=True)]


def completion_of(one: Prepared, *, tokens: Tokens, network: Network) -> Completion:
    """What the tokens of a completion say; what stands behind their end does not count."""
    end = next((at for at, token in enumerate(tokens) if token in network.ends), None)
    kept = tokens if end is None else tokens[:end]
    text, stopped = before_stops(network.text(kept), stops=one.call.stop)
    used = len(kept) + (end is not None)
    return Completion(
        text=text.strip(),
        usage=Usage(prompt_tokens=len(one.prompt.ids), completion_tokens=used),
        truncated=end is None and not stopped,
    )


def constrained_completions(*, network: Network, batch: Sequence[Prepared], beams: int) -> list[Completion | Failure]:
    """Completions of calls with constraints, all with so many beams."""
    grammars = [one.grammar for one in batch if one.grammar is not None]
    ids, mask, start = _inputs(network=network, batch=batch)
    processor = ConstrainedProcessor(grammars, start=start, end=network.ends[0])
    processors = LogitsProcessorList([processor])
    if beams == 1:
        processors.append(DrawingProcessor([one.drawing for one in batch], device=network.device))
    # Without a penalty a beam's score is the plain sum of its log-probabilities, which only falls: the search ends
    # when no open beam can overtake a finished one any more.
    searched = {"num_beams": beams, "num_return_sequences": beams, "length_penalty": 0.0} if beams > 1 else {}
    settings = GenerationConfig(
        max_new_tokens=max(one.room for one in batch), do_sample=False, eos_token_id=network.ends[0], **searched
    )
    sequences = _generate(network=network, ids=ids, mask=mask, settings=settings, processors=processors)
    rows = [tuple(row) for row in sequences[:, start:].tolist()]
    read = partial(_constrained, processor=processor, end=network.ends[0])
    return [
        read(one, rows=rows[number * beams : (number + 1) * beams], call=number) for number, one in enumerate(batch)
    ]


def _constrained(
    one: Prepared, *, rows: Sequence[Tokens], call: int, processor: ConstrainedProcessor, end: int
) -> Completion | Failure:
    assert one.grammar is not None
    assert one.call.constraint is not None
    found: dict[Tokens, tuple[Beam, bool]] = {}
    for row in rows:
        tokens = row[: row.index(end) + 1] if end in row else row
        log_probability = processor.log_probability(tokens, call=call)
        if log_probability > -torch.inf:
            names, is_whole = one.grammar.names(tokens)
            text = one.call.constraint.separator.join(names)
            found[tokens] = (Beam(text=text, log_probability=min(0.0, log_probability), names=names), is_whole)
    ended = {tokens: beam for tokens, (beam, is_whole) in found.items() if is_whole}
    kept = ended or {tokens: beam for tokens, (beam, _) in found.items()}
    if not kept:
        message = "The constraint led to names after which nothing may follow and the completion may not end."
        return Failure(kind=FailureKind.REFUSED, message=message)
    beams = tuple(sorted(kept.values(), key=lambda beam: (-beam.log_probability, beam.names)))
    return Completion(
        text=beams[0].text,
        usage=Usage(prompt_tokens=len(one.prompt.ids), completion_tokens=sum(len(tokens) for tokens in kept)),
        truncated=not ended,
        beams=beams,
    )


def _inputs(*, network: Network, batch: Sequence[Prepared]) -> tuple[Tensor, Tensor, int]:
    """Ids, mask, and how many tokens stand before the completions."""
    ids, mask = network.padded([one.prompt.ids for one in batch], left=not network.is_seq2seq)
    return ids, mask, len(network.decoder_start) if network.is_seq2seq else ids.shape[1]


def _generate(
    *,
    network: Network,
    ids: Tensor,
    mask: Tensor,
    settings: Any,
    processors: Any,
    stopping: CallStopping | None = None,
) -> Tensor:
    more: dict[str, Any] = {}
    if network.is_seq2seq:
        more["decoder_input_ids"] = torch.tensor([network.decoder_start] * len(ids), device=ids.device)
    if stopping is not None:
        more["stopping_criteria"] = StoppingCriteriaList([stopping])
    with torch.inference_mode():
        sequences: Tensor = network.module.generate(
            input_ids=ids, attention_mask=mask, generation_config=settings, logits_processor=processors, **more
        )
    return sequences
