"""Training a base, and modules and baselines from it, and exporting them to folders for strategies (`dir:FOLDER`).

As LUMOS's modules all start from LLaMA-2, all networks start from one base, whatever their seed. The base is trained on
the conversations of all forms, which teaches vocabulary and copying of names and numbers. The base without the held-out
group is trained first; the base of the other modules continues from it.

Tokens are pieces of words and numbers, and one token for each text that prompts share, such as the constant
instructions and lists of tools of hundreds of words. Other lists of tools are spelt.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_model
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Message
from evaluator.execution.experts.weights import weights_digest
from evaluator.lumos.strategies import templates
from evaluator.lumos.strategies.templates import ASSISTANT, USER
from evaluator.training.causal import ConversationsObjective, Exchange, Shape, lessons_of, new_network
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
from evaluator.training.lessons import DataError, FieldError, Lesson, read_messages
from evaluator.training.loop import Progress, Schedule, fit
from evaluator.training.runs import ChoiceError, begin

PIECES = 2000
_TASK = "Task: "
_COMMON = 20
"""Minimum number of prompts with a common beginning for it to become a token."""


def lumos_tokenizer(exchanges: Sequence[Exchange]) -> Tokenizer:
    """Train a tokenizer, deterministically."""
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
    """The texts that prompts share: beginnings, and separators of turns; longest first."""
    beginnings = Counter(exchange.prompt.partition(_TASK)[0] + _TASK for exchange in exchanges)
    common = [text for text, count in beginnings.items() if count >= _COMMON]
    between = [
        f"; Initial Environment Description: None.{templates.ASSISTANT}",
        f" Should we stop planning?{templates.ASSISTANT}",
        "\n" + templates.USER, templates.ASSISTANT, templates.KEEP, templates.STOP, "The executed result for Subgoal ",
        " The grounding could be based on the following results: ", "The execution result for Subgoal ",
        "Subgoal to be grounded: ", "Subgoals to be grounded: ",
    ]  # fmt: skip
    return sorted({*common, *between}, key=lambda text: (-len(text), text))


def _texts(exchanges: Sequence[Exchange], *, fixed: Sequence[str]) -> Iterable[str]:
    for exchange in exchanges:
        prompt = exchange.prompt[-1000:]
        for part in fixed:
            prompt = prompt.replace(part, " ")
        yield prompt
        yield exchange.reply


def read_conversations(
    path: Path, *, datasets: Collection[str] = (), without: Collection[str] = ()
) -> Iterator[tuple[Exchange, ...]]:
    """The conversations of a file, as replies with their prompts.

    Args:
        path: JSON lines of `{"dataset": str, "id": str, "messages": [{"role": "user" | "assistant", "content": str}]}`.
        datasets: data sets to include; empty for all.
        without: data sets to exclude.

    Raises:
        DataError: the file cannot be read, or a line is invalid.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}") from None
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
            is_included = (not datasets or record["dataset"] in datasets) and record["dataset"] not in without
            conversation = tuple(exchanges_of(record["messages"])) if is_included else ()
        except (ValueError, KeyError, TypeError) as error:
            what = '{"dataset": str, "id": str, "messages": [{"role", "content"}, ...]}'
            raise DataError(f"{path}: line {number} is not {what}: {error!r}") from None
        if conversation:
            yield conversation


def exchanges_of(messages: Sequence[Any]) -> Iterator[Exchange]:
    """The replies of a conversation with their prompts, which equal those of the strategies.

    Raises:
        ValueError: messages of user and assistant do not alternate.
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


def module_lessons(record: Mapping[str, Any]) -> Sequence[Lesson]:
    """The lessons of a line of LUMOS's released annotations: the prompts are one text, as the strategies send them.

    Raises:
        FieldError: the line has no such conversation.
    """
    messages = read_messages(record)
    if messages[0].role == "system":
        raise FieldError("messages[0].role is 'system'; LUMOS's conversations begin with 'user'")
    exchanges = exchanges_of([{"role": message.role, "content": message.content} for message in messages])
    return [Lesson(messages=(Message("user", exchange.prompt),), answer=exchange.reply) for exchange in exchanges]


@dataclass(frozen=True, slots=True)
class Recipe:
    """Hyperparameters of a training run."""

    steps: int
    learning_rate: float


FIRST = Recipe(7000, 2e-3)
"""For a network with random weights."""
BASE = Recipe(2500, 1e-3)
"""For a base that starts from another base."""
MODULE = Recipe(300, 5e-4)

_TIED = {"lm_head.weight"}
"""Weights that are shared with the embeddings, and stored once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A training run."""

    data: tuple[Path, ...]
    """Files of conversations."""
    out: Path
    base: Path | None = None
    """Folder of the initial network; None for random weights."""
    recipe: Recipe = FIRST
    seed: int = 0
    datasets: tuple[str, ...] = ()
    """Data sets to include; empty for all."""
    without: tuple[str, ...] = ()
    """Data sets to exclude."""
    shape: Shape = field(default_factory=Shape)
    resume: bool = False
    stop_after: int | None = None

    @property
    def schedule(self) -> Schedule:
        """The recipe as a schedule of the training loop."""
        steps, rate = self.recipe.steps, self.recipe.learning_rate
        return Schedule(steps=steps, learning_rate=rate, seed=self.seed, checkpoint_every=100)


def train_module(order: Order, *, report: Callable[[Progress], None] | None = None) -> Path | None:
    """Train a module and return its folder, or None if it stopped early. The checkpoint is next to the folder.

    Raises:
        DataError: the data cannot be read.
        ChoiceError: no conversation is left.
        SettingsError: the checkpoint belongs to another run.
    """
    begin(checkpoint=checkpoint_of(order.out), settings=_record(order), resume=order.resume)
    conversations = [
        conversation
        for path in order.data
        for conversation in read_conversations(path, datasets=order.datasets, without=order.without)
    ]
    if not conversations:
        files = ", ".join(map(str, order.data))
        raise ChoiceError(f"{files} has no conversation of {', '.join(order.datasets) or 'any data set'}")
    if order.base is not None:
        tokenizer = Tokenizer.from_file(str(order.base / "tokenizer.json"))
    else:
        # Trained on all data, including the excluded data sets, because other modules share it.
        everything = (conversation for path in order.data for conversation in read_conversations(path))
        tokenizer = lumos_tokenizer([exchange for conversation in everything for exchange in conversation])
    model = new_network(vocabulary=tokenizer.get_vocab_size(), shape=order.shape, seed=order.seed)
    if order.base is not None:
        missing, unexpected = load_model(model, order.base / "model.safetensors", strict=False)
        assert set(missing) <= _TIED
        assert not unexpected
    reached = fit(
        model=model, objective=ConversationsObjective(lessons_of(conversations, tokenizer=tokenizer)),
        schedule=order.schedule, checkpoint=checkpoint_of(order.out), resume=order.resume, stop_after=order.stop_after,
        report=report,
    )  # fmt: skip
    if reached < order.schedule.steps:
        return None
    export_transformers(model.eval(), order.out)
    write_tokenizer(tokenizer=tokenizer, folder=order.out)
    write_record(folder=order.out, record=_record(order))
    return order.out


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
