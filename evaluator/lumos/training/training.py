"""Training a base, and modules and baselines from it, to folders that a strategy can name as `dir:FOLDER`.

As LUMOS's modules all begin as LLaMA-2, all networks begin as one base, whatever their seed. It has learnt from the
conversations of all forms together: it knows the words, and looks up names and numbers in what it reads. The base
without the held-out group comes first; the base of the other modules goes on from it.

Tokens are pieces of words and of numbers, and one token for each text that all prompts share: the instructions and
lists of tools that begin prompts are hundreds of words that never change, and cost nothing so. Any other list of
tools is spelt.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_model
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import LlamaForCausalLM

from evaluator.core.canonical_json import JsonValue
from evaluator.execution.experts.weights import weights_digest
from evaluator.lumos.strategies import templates
from evaluator.lumos.strategies.templates import ASSISTANT, USER
from evaluator.training.causal import ConversationsObjective, DataError, Exchange, Shape, lessons_of, new_network
from evaluator.training.export import (
    END,
    END_ID,
    PAD,
    UNKNOWN,
    checkpoint_of,
    export_transformers,
    write_record,
    write_tokenizer,
)
from evaluator.training.loop import Progress, Schedule, fit
from evaluator.training.runs import ChoiceError, begin

PIECES = 2000
_TASK = "Task: "
_COMMON = 20
"""Prompts that must begin alike for their beginning to be a token."""


def lumos_tokenizer(exchanges: Sequence[Exchange]) -> Tokenizer:
    """A tokenizer that is always the same for the same exchanges."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=False), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    fixed = fixed_texts(exchanges)
    trainer = trainers.BpeTrainer(
        vocab_size=PIECES, min_frequency=3, special_tokens=[PAD, END, UNKNOWN],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
    )  # fmt: skip
    tokenizer.train_from_iterator(_texts(exchanges, fixed=fixed), trainer)
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in fixed])
    tokenizer.post_processor = processors.TemplateProcessing(single=f"$A {END}", special_tokens=[(END, END_ID)])
    return tokenizer


def fixed_texts(exchanges: Iterable[Exchange]) -> list[str]:
    """The texts that prompts share: how they begin, and what stands between turns; longest first."""
    beginnings = Counter(one.prompt.partition(_TASK)[0] + _TASK for one in exchanges)
    found = [text for text, count in beginnings.items() if count >= _COMMON]
    between = [
        f"; Initial Environment Description: None.{templates.ASSISTANT}",
        f" Should we stop planning?{templates.ASSISTANT}",
        "\n" + templates.USER, templates.ASSISTANT, templates.KEEP, templates.STOP, "The executed result for Subgoal ",
        " The grounding could be based on the following results: ", "The execution result for Subgoal ",
        "Subgoal to be grounded: ", "Subgoals to be grounded: ",
    ]  # fmt: skip
    return sorted({*found, *between}, key=lambda text: (-len(text), text))


def _texts(exchanges: Sequence[Exchange], *, fixed: Sequence[str]) -> Iterable[str]:
    for one in exchanges:
        yield _without(one.prompt[-1000:], fixed=fixed)
        yield one.reply


def _without(text: str, *, fixed: Sequence[str]) -> str:
    for part in fixed:
        text = text.replace(part, " ")
    return text


def read_conversations(
    path: Path, *, datasets: Collection[str] = (), without: Collection[str] = ()
) -> Iterator[tuple[Exchange, ...]]:
    """The conversations of a file, each as its replies with their prompts.

    Args:
        path: `{"dataset": str, "id": str, "messages": [{"role": "user" | "assistant", "content": str}]}` in each line.
        datasets: only conversations of these; none: of all.
        without: no conversations of these.

    Raises:
        DataError: a line is something else, or the file cannot be read.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}") from None
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
            wanted = (not datasets or record["dataset"] in datasets) and record["dataset"] not in without
            conversation = tuple(exchanges_of(record["messages"])) if wanted else ()
        except (ValueError, KeyError, TypeError) as error:
            what = '{"dataset": str, "id": str, "messages": [{"role", "content"}, ...]}'
            raise DataError(f"{path}: line {number} is not {what}: {error!r}") from None
        if conversation:
            yield conversation


def exchanges_of(messages: Sequence[Any]) -> Iterator[Exchange]:
    """The replies of a conversation, each with its prompt: exactly what the strategies ask.

    Raises:
        ValueError: messages of the user and the assistant do not take turns.
    """
    text = ""
    for place, message in enumerate(messages):
        role, content = message["role"], message["content"]
        if role != ("assistant" if place % 2 else "user") or not isinstance(content, str):
            raise ValueError(f"message {place + 1} is of the role {role!r}, or its content is no text")
        if role == "user":
            text += f"{chr(10) if place else ''}{USER}{content}{ASSISTANT}"
        else:
            yield Exchange(text, content)
            text += content


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
