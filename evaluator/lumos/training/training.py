"""Training a base, and modules and baselines from it, to folders that a strategy can name as `dir:FOLDER`.

As LUMOS's modules all begin as LLaMA-2, all networks begin as one base, whatever their seed. It has learnt from the
conversations of all forms together: it knows the words, and looks up names and numbers in what it reads. The base
without the held-out group comes first; the base of the other modules goes on from it.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors.torch import load_model
from tokenizers import Tokenizer
from transformers import LlamaForCausalLM

from evaluator.core.canonical_json import JsonValue
from evaluator.execution.experts.weights import weights_digest
from evaluator.lumos.training.conversations import read_conversations
from evaluator.lumos.training.tokens import lumos_tokenizer
from evaluator.training.causal import ConversationsObjective, Shape, lessons_of, new_network
from evaluator.training.export import checkpoint_of, export_transformers, write_record, write_tokenizer
from evaluator.training.loop import Progress, Schedule, fit
from evaluator.training.runs import ChoiceError, begin


@dataclass(frozen=True, slots=True)
class Recipe:
    """How long and how fast to train."""

    steps: int
    learning_rate: float


FIRST = Recipe(7000, 2e-3)
"""Of a network that begins with random weights."""
BASE = Recipe(2500, 1e-3)
"""Of a base that begins as another."""
MODULE = Recipe(300, 5e-4)

_TIED = {"lm_head.weight"}
"""Weights that are those of the embeddings, and stored once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to train, and where to."""

    data: tuple[Path, ...]
    """Files of conversations."""
    out: Path
    base: Path | None = None
    """Folder of the network to begin with; None: random weights."""
    recipe: Recipe = FIRST
    seed: int = 0
    datasets: tuple[str, ...] = ()
    """Learn only from conversations of these; none: from all."""
    without: tuple[str, ...] = ()
    """Learn from no conversation of these."""
    shape: Shape = field(default_factory=Shape)
    resume: bool = False
    stop_after: int | None = None

    @property
    def schedule(self) -> Schedule:
        """The recipe for the loop."""
        steps, rate = self.recipe.steps, self.recipe.learning_rate
        return Schedule(steps=steps, learning_rate=rate, seed=self.seed, checkpoint_every=100)


def train_module(order: Order, *, report: Callable[[Progress], None] | None = None) -> Path | None:
    """Train a module and return its folder, or None if it stopped before the end. The checkpoint lies beside it.

    Raises:
        DataError: the data cannot be read.
        ChoiceError: no conversation is left to learn from.
        SettingsError: the checkpoint is of another run.
    """
    begin(checkpoint=checkpoint_of(order.out), settings=_record(order), resume=order.resume)
    wanted = {"datasets": order.datasets, "without": order.without}
    conversations = [one for path in order.data for one in read_conversations(path, **wanted)]
    if not conversations:
        files = ", ".join(map(str, order.data))
        raise ChoiceError(f"{files} has no conversation of {', '.join(order.datasets) or 'any data set'}")
    tokenizer = _tokenizer(order)
    model = _model(order, vocabulary=tokenizer.get_vocab_size())
    reached = fit(
        model=model,
        objective=ConversationsObjective(lessons_of(conversations, tokenizer=tokenizer)),
        schedule=order.schedule,
        checkpoint=checkpoint_of(order.out),
        resume=order.resume,
        stop_after=order.stop_after,
        report=report,
    )
    if reached < order.schedule.steps:
        return None
    export_transformers(model.eval(), order.out)
    write_tokenizer(tokenizer=tokenizer, folder=order.out)
    write_record(folder=order.out, record=_record(order))
    return order.out


def _tokenizer(order: Order) -> Tokenizer:
    """The base's, or one for all of the data: also for what this network does not learn from, and others will."""
    if order.base is not None:
        return Tokenizer.from_file(str(order.base / "tokenizer.json"))
    exchanges = [one for path in order.data for conversation in read_conversations(path) for one in conversation]
    return lumos_tokenizer(exchanges)


def _model(order: Order, *, vocabulary: int) -> LlamaForCausalLM:
    model = new_network(vocabulary=vocabulary, shape=order.shape, seed=order.seed)
    if order.base is not None:
        missing, unexpected = load_model(model, order.base / "model.safetensors", strict=False)
        assert set(missing) <= _TIED
        assert not unexpected
    return model


def _record(order: Order) -> dict[str, JsonValue]:
    return {
        "kind": "lumos",
        "data": {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in order.data},
        "base": "" if order.base is None else weights_digest(order.base),
        "datasets": list(order.datasets),
        "without": list(order.without),
        "steps": order.schedule.steps,
        "seed": order.seed,
        "shape": [order.shape.width, order.shape.feed_forward, order.shape.layers, order.shape.heads],
        "learning_rate": order.schedule.learning_rate,
        "torch": torch.__version__,
    }
