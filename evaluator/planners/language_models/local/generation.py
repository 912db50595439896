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
"""Additional tokens to decode before a possible stop text, since a character may span several tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """Sampling parameters of a call."""

    temperature: float
    """0: always the most probable token."""
    top_p: float
    seed: int


class DrawingProcessor(LogitsProcessor):  # type: ignore[misc]
    """Samples by the Gumbel-max trick, with a generator per row, so that a call's draws depend on its own seed only.

    (Sampling of `transformers` shares work generator among all rows.)
    """

    def __init__(self, drawings: Sequence[Drawing], *, device: torch.device) -> None:
        self._drawings = drawings
        self._generators = [torch.Generator(device=device).manual_seed(drawing.seed) for drawing in drawings]

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:  # noqa: ARG002 - the protocol of transformers
        """See `LogitsProcessor`. Shapes: (rows, length), (rows, vocabulary)."""
        perturbed = scores.clone()
        for row, (drawing, generator) in enumerate(zip(self._drawings, self._generators, strict=True)):
            if drawing.temperature == 0:
                continue
            logits = torch.log_softmax(scores[row].float() / drawing.temperature, dim=-1)
            if drawing.top_p < 1.0:
                ordered, order = logits.sort(descending=True)
                # The smallest set of tokens whose probabilities reach top_p: those before a token must not reach it.
                before = ordered.exp().cumsum(dim=-1) - ordered.exp()
                logits[order[before >= drawing.top_p]] = -torch.inf
            noise = torch.empty_like(logits).exponential_(generator=generator)
            perturbed[row] = (logits - noise.log()).to(scores.dtype)
        return perturbed


class CallStopping(StoppingCriteria):  # type: ignore[misc]
    """Ends each row at its own length or stop texts."""

    def __init__(
        self,
        *,
        lengths: Sequence[int],
        stops: Sequence[Sequence[str]],
        start: int,
        text: Callable[[Sequence[int]], str],
    ) -> None:
        """Args:
        lengths: maximum number of new tokens of each row.
        stops: stop texts of each row.
        start: number of tokens before the completions.
        text: decodes tokens.
        """
        self._lengths = torch.tensor(lengths)
        self._stops = stops
        self._start = start
        self._text = text
        # A token has at least one byte, so this window holds every stop text that ends in the newest token.
        self._windows = [max((len(stop.encode("utf-8")) for stop in each), default=0) + _STOP_MARGIN for each in stops]
        self._stopped = [False] * len(stops)

    def __call__(self, input_ids: Tensor, scores: object, **_: object) -> Tensor:  # noqa: ARG002 - as above
        """See `StoppingCriteria`. Shape: (rows, length)."""
        written = input_ids.shape[1] - self._start
        if self._lengths.device != input_ids.device:
            self._lengths = self._lengths.to(input_ids.device)
        ended: Tensor = self._lengths <= written
        if not any(self._stops):
            return ended
        # One copy from the device for all rows.
        tails = input_ids[:, max(self._start, input_ids.shape[1] - max(self._windows)) :].tolist()
        for number, (tail, stops, window) in enumerate(zip(tails, self._stops, self._windows, strict=True)):
            if stops and not self._stopped[number]:
                text = self._text(tail[-window:])
                self._stopped[number] = any(stop in text for stop in stops)
        return ended | torch.tensor(self._stopped, device=input_ids.device)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A call with its prompt as tokens."""

    call: GenerateCall
    prompt: Prompt
    room: int
    """Maximum number of new tokens, by the call and the context."""
    grammar: Grammar | None = None

    @property
    def drawing(self) -> Drawing:
        return Drawing(temperature=self.call.temperature, top_p=self.call.top_p, seed=self.call.seed)


def free_completions(*, network: Network, batch: Sequence[Prepared]) -> list[Completion]:
    """Completions of calls without constraint."""
    ids, mask, start = _inputs(network=network, batch=batch)
    processors = LogitsProcessorList([DrawingProcessor([work.drawing for work in batch], device=network.device)])
    stopping = CallStopping(
        lengths=[work.room for work in batch], stops=[work.call.stop for work in batch], start=start, text=network.text
    )
    settings = GenerationConfig(max_new_tokens=max(work.room for work in batch), do_sample=False)
    sequences = _generate(
        network=network, ids=ids, mask=mask, settings=settings, processors=processors, stopping=stopping
    )
    rows = (tuple(row) for row in sequences[:, start:].tolist())
    return [
        completion_of(work, tokens=row[: work.room], network=network) for work, row in zip(batch, rows, strict=True)
    ]


def completion_of(work: Prepared, *, tokens: Tokens, network: Network) -> Completion:
    """The completion that consists of these tokens up to their end."""
    end = next((at for at, token in enumerate(tokens) if token in network.ends), None)
    content = tokens if end is None else tokens[:end]
    text = network.text(content)
    stop = min((at for at in map(text.find, work.call.stop) if at >= 0), default=None)
    return Completion(
        text=text[:stop].strip(),
        usage=Usage(prompt_tokens=len(work.prompt.ids), completion_tokens=len(content) + (end is not None)),
        truncated=end is None and stop is None,
    )


def constrained_completions(*, network: Network, batch: Sequence[Prepared], beams: int) -> list[Completion | Failure]:
    """Completions of calls with constraints, all with the same number of beams."""
    grammars = [work.grammar for work in batch if work.grammar is not None]
    ids, mask, start = _inputs(network=network, batch=batch)
    processor = ConstrainedProcessor(grammars, start=start, end=network.ends[0])
    processors = LogitsProcessorList([processor])
    if beams == 1:
        processors.append(DrawingProcessor([work.drawing for work in batch], device=network.device))
    # Without a length penalty, a beam's score is the sum of its log-probabilities, which only falls: the search ends
    # when no open beam can overtake a finished work.
    searched = {"num_beams": beams, "num_return_sequences": beams, "length_penalty": 0.0} if beams > 1 else {}
    settings = GenerationConfig(
        max_new_tokens=max(work.room for work in batch), do_sample=False, eos_token_id=network.ends[0], **searched
    )
    sequences = _generate(network=network, ids=ids, mask=mask, settings=settings, processors=processors)
    rows = [tuple(row) for row in sequences[:, start:].tolist()]
    read = partial(_constrained, processor=processor, end=network.ends[0])
    return [
        read(work, rows=rows[number * beams : (number + 1) * beams], call=number) for number, work in enumerate(batch)
    ]


def _constrained(
    work: Prepared, *, rows: Sequence[Tokens], call: int, processor: ConstrainedProcessor, end: int
) -> Completion | Failure:
    assert work.grammar is not None
    assert work.call.constraint is not None
    beams: dict[Tokens, tuple[Beam, bool]] = {}
    for row in rows:
        tokens = row[: row.index(end) + 1] if end in row else row
        log_probability = processor.log_probability(tokens, call=call)
        if log_probability > -torch.inf:
            names, is_whole = work.grammar.names(tokens)
            text = work.call.constraint.separator.join(names)
            beams[tokens] = (Beam(text=text, log_probability=min(0.0, log_probability), names=names), is_whole)
    ended = {tokens: beam for tokens, (beam, is_whole) in beams.items() if is_whole}
    results = ended or {tokens: beam for tokens, (beam, _) in beams.items()}
    if not results:
        message = "The constraint led to names after which nothing may follow and the completion may not end."
        return Failure(kind=FailureKind.REFUSED, message=message)
    ranked = tuple(sorted(results.values(), key=lambda beam: (-beam.log_probability, beam.names)))
    return Completion(
        text=ranked[0].text,
        usage=Usage(prompt_tokens=len(work.prompt.ids), completion_tokens=sum(len(tokens) for tokens in results)),
        truncated=not ended,
        beams=ranked,
    )


def _inputs(*, network: Network, batch: Sequence[Prepared]) -> tuple[Tensor, Tensor, int]:
    """Ids, mask, and the number of tokens before the completions."""
    ids, mask = network.padded([work.prompt.ids for work in batch], left=not network.is_seq2seq)
    return ids, mask, len(network.decoder_start) if network.is_seq2seq else ids.shape[1]


def _generate(
    *, network: Network, ids: Tensor, mask: Tensor, settings: Any, processors: Any, stopping: CallStopping | None = None
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
