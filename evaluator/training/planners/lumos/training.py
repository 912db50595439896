"""Training a base, and modules and baselines from it, to folders that a strategy can name as `dir:FOLDER`.

As LUMOS's modules all begin as LLaMA-2, all networks of a seed begin as one base, which has learnt from the
conversations of all forms together: it knows the words, and looks up names and numbers in what it reads.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_model
from tokenizers import Tokenizer
from transformers import LlamaConfig, LlamaForCausalLM

from evaluator.canonical_json import JsonValue
from evaluator.experts.weights import weights_digest
from evaluator.training.export import export_transformers
from evaluator.training.loop import Progress, Schedule, fit
from evaluator.training.planners.checkpoints import write_record
from evaluator.training.planners.finetuning import checkpoint_of
from evaluator.training.planners.lumos.conversations import Exchange, read_conversations
from evaluator.training.planners.lumos.lessons import LumosObjective, rows_of
from evaluator.training.planners.lumos.tokens import lumos_tokenizer
from evaluator.training.planners.model import write_tokenizer
from evaluator.training.planners.runs import ChoiceError, begin
from evaluator.training.planners.tokens import END_ID, PAD_ID

BASE_STEPS, STEPS = 5000, 800
BASE_LEARNING_RATE, LEARNING_RATE = 2e-3, 5e-4

_TIED = {"lm_head.weight"}
"""Weights that are those of the embeddings, and stored once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The size of a network."""

    width: int = 128
    feed_forward: int = 384
    layers: int = 4
    heads: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to train, and where to."""

    data: tuple[Path, ...]
    """Files of conversations."""
    out: Path
    base: Path | None = None
    """Folder of the network to begin with; None: random weights."""
    steps: int | None = None
    """None: the recipe's."""
    seed: int = 0
    datasets: tuple[str, ...] = ()
    """Learn only from conversations of these; none: from all."""
    without: tuple[str, ...] = ()
    """Learn from no conversation of these."""
    shape: Shape = Shape()
    resume: bool = False
    stop_after: int | None = None

    @property
    def schedule(self) -> Schedule:
        """How long and how fast to train."""
        steps, rate = (STEPS, LEARNING_RATE) if self.base else (BASE_STEPS, BASE_LEARNING_RATE)
        return Schedule(steps=self.steps or steps, learning_rate=rate, seed=self.seed, checkpoint_every=100)


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
    tokenizer = _tokenizer(order, conversations=conversations)
    model = _model(order, vocabulary=tokenizer.get_vocab_size())
    reached = fit(
        model=model,
        objective=LumosObjective(rows_of(conversations, tokenizer=tokenizer, seed=order.seed)),
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


def _tokenizer(order: Order, *, conversations: Sequence[Sequence[Exchange]]) -> Tokenizer:
    if order.base is not None:
        return Tokenizer.from_file(str(order.base / "tokenizer.json"))
    return lumos_tokenizer([exchange for one in conversations for exchange in one])


def _model(order: Order, *, vocabulary: int) -> LlamaForCausalLM:
    model = new_module(vocabulary=vocabulary, shape=order.shape, seed=order.seed)
    if order.base is not None:
        missing, unexpected = load_model(model, order.base / "model.safetensors", strict=False)
        assert set(missing) <= _TIED
        assert not unexpected
    return model


def new_module(*, vocabulary: int, shape: Shape, seed: int) -> LlamaForCausalLM:
    """A Llama with random weights: 1.1 million parameters in the default shape."""
    torch.manual_seed(seed)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=vocabulary, hidden_size=shape.width, intermediate_size=shape.feed_forward,
            num_hidden_layers=shape.layers, num_attention_heads=shape.heads, max_position_embeddings=4096,
            tie_word_embeddings=True, attention_dropout=0.0, pad_token_id=PAD_ID, bos_token_id=None,
            eos_token_id=END_ID,
        )
    )  # fmt: skip


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
