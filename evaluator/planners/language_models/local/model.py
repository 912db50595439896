"""Language models on this machine: causal and sequence-to-sequence checkpoints of `transformers`, from a folder.

Safetensors only; code that comes with a checkpoint is never run.
"""

import errno
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import (
    Ability,
    Answer,
    Call,
    Failure,
    FailureKind,
    GenerateCall,
    ScoreCall,
    Scores,
    Usage,
)
from evaluator.execution.experts.devices import is_out_of_memory, release_memory
from evaluator.execution.experts.weights import WeightsError, weights_digest
from evaluator.planners.language_models import ModelError, ModelUnusableError
from evaluator.planners.language_models.local.generation import Prepared, constrained_completions, free_completions
from evaluator.planners.language_models.local.model_loading import (
    TokenizerPanicError,
    load_module,
    load_tokenizer,
    read_settings,
    refuse_oversized,
)
from evaluator.planners.language_models.local.network import Network, Prompt, PromptError, PromptTooLongError
from evaluator.planners.language_models.local.scoring import continuation_scores
from evaluator.planners.language_models.spelling import Tokens, UnspellableError
from evaluator.sandbox.admission.rules import ModelRefusedError

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Size of a call in a batch."""

    prompt: int
    """In tokens."""
    new: int
    """Maximum number of new tokens."""
    rows: int = 1
    """Number of beams."""


def batches(sizes: Sequence[Size], *, rows: int, context: int | None) -> list[list[int]]:
    """Positions of the calls in batches of similar length, longest first, so that a lack of memory shows at once.

    Args:
        sizes: size of each call.
        rows: maximum per batch; a larger call forms its own batch.
        context: limit of a batch's longest prompt plus its longest addition, unless a single call exceeds it:
            the positions of a row that ends early continue until the end of the batch.
    """
    groups: list[list[int]] = []
    taken = prompt = new = 0
    for position in sorted(range(len(sizes)), key=lambda at: (-sizes[at].prompt, -sizes[at].new, at)):
        size = sizes[position]
        longer, more = max(prompt, size.prompt), max(new, size.new)
        if not groups or taken + size.rows > rows or (context is not None and longer + more > context):
            groups.append([])
            taken, longer, more = 0, size.prompt, size.new
        groups[-1].append(position)
        taken, prompt, new = taken + size.rows, longer, more
    return groups


def isolated(
    items: Sequence[Item],
    *,
    run: Callable[[Sequence[Item]], Sequence[Result]],
    failed: Callable[[Item, Exception], Result],
    recover: Callable[[Exception], None],
) -> list[Result]:
    """The results of a batch. A failing batch is bisected until single items fail.

    Args:
        items: at least one.
        run: returns one result per item, or raises.
        failed: makes the result of an item that fails alone.
        recover: called after each failure, when nothing refers to the memory of the batch any more.
    """
    problem: Exception
    try:
        return list(run(items))
    except Exception as error:  # noqa: BLE001 - an item must not fail the others, whatever its effect on the model
        # Frames in the traceback would keep the tensors of the failed batch alive.
        problem = error.with_traceback(None)
        problem.__context__ = problem.__cause__ = None
    recover(problem)
    if len(items) == 1:
        return [failed(items[0], problem)]
    middle = (len(items) + 1) // 2
    halves = (items[:middle], items[middle:])
    return [result for half in halves for result in isolated(half, run=run, failed=failed, recover=recover)]


logger = logging.getLogger(__name__)

CPU_ROWS, GPU_ROWS = 16, 128
"""Sequences in a batch."""


class _Scored:
    """A `ScoreCall` as tokens."""

    __slots__ = ("continuations", "prompt")

    def __init__(self, *, prompt: Prompt, continuations: tuple[Tokens, ...]) -> None:
        self.prompt = prompt
        self.continuations = continuations


_Work = Prepared | _Scored
_Result = Answer | Failure


class LocalModel:
    """A `LanguageModel` of a network on this machine."""

    abilities = frozenset({Ability.GENERATE, Ability.SCORE, Ability.CONSTRAIN})

    def __init__(
        self,
        *,
        network: Network,
        name: str,
        identity: Mapping[str, JsonValue] | None = None,
        rows: int | None = None,
    ) -> None:
        """Args:
        network: the model with its tokenizer; in evaluation mode while it answers.
        name: name of the model.
        identity: origin of its weights, for `identity`.
        rows: maximum number of sequences in a batch; halved permanently when memory runs out.
        """
        self.name = name
        self.network = network
        self._identity = dict(identity or {})
        self._rows = rows or (CPU_ROWS if network.device.type == "cpu" else GPU_ROWS)

    @classmethod
    def from_folder(
        cls,
        folder: Path,
        *,
        name: str | None = None,
        device: str = "cpu",
        precision: str | None = None,
        rows: int | None = None,
        source: Mapping[str, JsonValue] | None = None,
    ) -> "LocalModel":
        """The model whose configuration, tokenizer and safetensors are in a folder.

        Args:
            folder: as written by `save_pretrained`.
            name: name of the model; by default the folder.
            device: torch device.
            precision: `float32`, `bfloat16` or `float16`; by default float32 on a CPU and bfloat16 elsewhere.
            rows: see above.
            source: origin of the folder, for `identity`.

        Raises:
            ModelUnusableError: the folder contains no valid model, or one that needs its own code.
            ModelError: this machine cannot load it, for lack of memory or because of its disk.
        """
        precision = precision or ("float32" if device == "cpu" else "bfloat16")
        try:
            digest = weights_digest(folder)
            settings = read_settings(folder)
            refuse_oversized(folder, settings=settings, device=device, precision=precision)
            module = load_module(folder, settings=settings, device=device, precision=precision)
            network = Network(module=module, tokenizer=load_tokenizer(folder))
        except ModelError:
            raise
        except ModelRefusedError as error:
            raise ModelUnusableError(str(error)) from None
        except (WeightsError, PromptError) as error:
            raise ModelUnusableError(f"{str(error)[:1].upper()}{str(error)[1:].rstrip('.')}.") from None
        except Exception as error:  # the settings of a submitted model can cause any exception
            # Out of memory, or a disk fault. Problems that `transformers` finds in a folder are OSErrors without
            # number.
            is_local = is_out_of_memory(error) or (
                isinstance(error, OSError) and error.errno not in {None, errno.ENOENT}
            )
            kind = ModelError if is_local else ModelUnusableError
            why = str(error) or type(error).__name__
            raise kind(f"The language model in {folder} cannot be loaded: {why.rstrip('.')}.") from error
        identity = {**(source or {"folder": folder.name}), "weights_digest": digest, "precision": precision}
        return cls(network=network, name=name or f"dir:{folder}", identity=identity, rows=rows)

    def answer(self, calls: Sequence[Call]) -> list[Answer | Failure]:
        answers: list[_Result | None] = [None] * len(calls)
        groups: dict[tuple[str, int, int], list[tuple[int, _Work]]] = {}
        for position, call in enumerate(calls):
            work = self._prepared(call)
            if isinstance(work, Failure):
                answers[position] = work
            else:
                # Beams of a batch are searched to one length.
                kind = ("score", 1, 0) if isinstance(work, _Scored) else ("free", 1, 0)
                if isinstance(work, Prepared) and work.grammar is not None:
                    kind = ("constrained", work.call.beams, work.room)
                groups.setdefault(kind, []).append((position, work))
        training = self.network.module.training
        self.network.module.eval()
        try:
            for group in groups.values():
                results = self._group([work for _, work in group])
                for (position, _), result in zip(group, results, strict=True):
                    answers[position] = result
        finally:
            self.network.module.train(training)
        return [answer for answer in answers if answer is not None]

    def count_tokens(self, text: str) -> int:
        """Tokens of a text, without special ones."""
        return len(self.network.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    def identity(self) -> Mapping[str, JsonValue]:
        return {
            "kind": "local",
            "name": self.name,
            **self._identity,
            "architecture": type(self.network.module).__name__,
            "template_digest": self.network.template_digest,
            "device": self.network.device.type,
            "batching": "padded",
        }

    def _prepared(self, call: Call) -> _Work | Failure:
        try:
            prompt = self.network.prompt(call.messages)
            # What the context leaves for a completion.
            room = None if self.network.context is None else self.network.context - len(prompt.ids)
            if room is not None and room < (0 if self.network.is_seq2seq else 1):
                return _too_long(tokens=len(prompt.ids), limit=self.network.context or 0)
            if isinstance(call, ScoreCall):
                continuations = tuple(self.network.continuation(text, prompt=prompt) for text in call.continuations)
                longest = max(map(len, continuations), default=0)
                if room is not None and not self.network.is_seq2seq and longest > room:
                    return _too_long(tokens=len(prompt.ids) + longest, limit=self.network.context or 0)
                return _Scored(prompt=prompt, continuations=continuations)
            return self._generated(call, prompt=prompt, room=room)
        except PromptTooLongError as error:
            return Failure(kind=FailureKind.PROMPT_TOO_LONG, message=str(error))
        except (PromptError, UnspellableError) as error:
            return _refused(str(error))
        except Exception as error:  # noqa: BLE001 - a constraint is a strategy's code
            return _failed_alone(call, error)

    def _generated(self, call: GenerateCall, *, prompt: Prompt, room: int | None) -> Prepared | Failure:
        problem = call.problem()
        if problem is not None:
            return _refused(problem)
        bounded = call.max_tokens if room is None or self.network.is_seq2seq else min(room, call.max_tokens)
        if call.constraint is None:
            return Prepared(call=call, prompt=prompt, room=bounded)
        grammar = self.network.grammar(call.constraint, prompt=prompt)
        if not grammar.allowed(()):
            return _refused("The constraint allows no completion at all.")
        return Prepared(call=call, prompt=prompt, room=bounded, grammar=grammar)

    def _group(self, works: Sequence[_Work]) -> list[_Result]:
        answers: dict[int, _Result] = {}
        waiting = batches(
            [_size(work) for work in works],
            rows=self._rows,
            context=None if self.network.is_seq2seq else self.network.context,
        )
        for batch in waiting:
            answers.update(zip(batch, self._batch([works[at] for at in batch]), strict=True))
        return [answers[at] for at in range(len(works))]

    def _batch(self, batch: Sequence[_Work]) -> list[_Result]:
        # The limit of rows may have fallen since the batches were made.
        most = max(1, self._rows // max(_size(work).rows for work in batch))
        return [
            answer
            for start in range(0, len(batch), most)
            for answer in isolated(
                batch[start : start + most],
                run=self._run,
                failed=_failed_alone,
                recover=partial(self._recover, size=min(most, len(batch))),
            )
        ]

    def _run(self, batch: Sequence[_Work]) -> Sequence[_Result]:
        generated = [work for work in batch if isinstance(work, Prepared)]
        if not generated:
            return self._scores([work for work in batch if isinstance(work, _Scored)])
        if generated[0].grammar is None:
            return free_completions(network=self.network, batch=generated)
        return constrained_completions(network=self.network, batch=generated, beams=generated[0].call.beams)

    def _scores(self, batch: Sequence[_Scored]) -> list[Scores]:
        scores = continuation_scores(
            network=self.network,
            prompts=[work.prompt.ids for work in batch],
            continuations=[work.continuations for work in batch],
        )
        return [
            Scores(
                log_probabilities=values,
                usage=Usage(prompt_tokens=len(work.prompt.ids) + sum(map(len, work.continuations))),
            )
            for work, values in zip(batch, scores, strict=True)
        ]

    def _recover(self, problem: Exception, *, size: int) -> None:
        release_memory(str(self.network.device))
        if is_out_of_memory(problem) and size > 1:
            self._rows = max(1, self._rows // 2)
            logger.warning("%s: out of memory; batches have at most %d rows from now on", self.name, self._rows)
        elif not is_out_of_memory(problem):
            logger.warning("%s: a batch failed: %s: %s", self.name, type(problem).__name__, problem)


def _size(work: _Work) -> Size:
    if isinstance(work, _Scored):
        longest = max(map(len, work.continuations), default=0)
        return Size(prompt=len(work.prompt.ids), new=longest, rows=max(1, len(work.continuations)))
    return Size(prompt=len(work.prompt.ids), new=work.room, rows=work.call.beams)


def _too_long(*, tokens: int, limit: int) -> Failure:
    message = f"The prompt has {tokens} tokens; the language model reads at most {limit}, its completion included."
    return Failure(kind=FailureKind.PROMPT_TOO_LONG, message=message)


def _refused(message: str) -> Failure:
    return Failure(kind=FailureKind.REFUSED, message=message)


def _failed_alone(work: object, error: Exception) -> Failure:
    """The failure of a call that fails in a batch of its own."""
    del work
    if isinstance(error, UnspellableError):
        return _refused(str(error))
    if isinstance(error, TokenizerPanicError):
        return Failure(kind=FailureKind.BROKEN, message=f"The language model cannot read or write this text: {error}.")
    what = "ran out of memory" if is_out_of_memory(error) else f"failed: {type(error).__name__}: {error}"
    return Failure(kind=FailureKind.UNAVAILABLE, message=f"The language model {what}, with this call alone."[:2000])
