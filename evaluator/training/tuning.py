"""Tuning of a given language model on lessons: all papers' planners and modules that begin with a user's own model.

Lessons are encoded as a strategy's calls are, with the model's chat template if it has one. Only replies have weight in
the loss (LUMOS, section 2.3). The result is a folder that can be submitted: adapters are merged.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Completion, GenerateCall
from evaluator.core.provenance import code_version
from evaluator.execution.experts.weights import weights_digest
from evaluator.planners.language_models.local.model import LocalModel
from evaluator.planners.language_models.local.network import Network, PromptError
from evaluator.planners.language_models.local.scoring import completion_logits
from evaluator.sandbox.admission.rules import ModelRefusedError
from evaluator.sandbox.admission.settings_files import inspect_settings_confined
from evaluator.training.export import BaseModel, checkpoint_of, load_planner, write_planner
from evaluator.training.lessons import DataError, Lesson, LessonFile, Reader, chat_lessons
from evaluator.training.loop import Progress, Schedule, fit
from evaluator.training.lora import LoraError, LoraSettings, adapt
from evaluator.training.runs import begin
from evaluator.training.tuning_card import HeldOut, write_card

_IGNORED = -100
LONGEST = 2048
"""Default limit of a prompt with its reply, in tokens."""
PASSES = 2
"""Default number of passes over the data, as LUMOS's."""
WHOLE_RATE, LORA_RATE = 2e-5, 3e-4
"""Default peak learning rates; the first is LUMOS's."""
MOST_MEASURED = 200
"""Held-out replies that are measured."""
_MORE = 8
"""Tokens by which a measured reply may exceed the right one; a longer one is wrong."""


@dataclass(frozen=True, slots=True)
class Row:
    """Tokens of one or more lessons of a conversation."""

    ids: tuple[int, ...]
    targets: tuple[int, ...]
    """What follows each token, or `_IGNORED`. Empty for a sequence-to-sequence model."""
    reply: tuple[int, ...] = ()
    """The reply with its end, for a sequence-to-sequence model."""

    @property
    def count(self) -> int:
        """Number of targets."""
        return len(self.reply) or sum(target != _IGNORED for target in self.targets)


def rows_of(lessons: Sequence[Lesson], *, network: Network, longest: int) -> tuple[list[Row], int]:
    """The lessons of a conversation as rows, and the number of those that are longer than `longest` tokens.

    A prompt that continues the previous prompt and reply shares their row, which saves reading the beginning again. The
    end of a reply is a target only: in the row, the next prompt follows. So a row's loss is the sum of its lessons'.

    Raises:
        PromptError: the model's template refuses a prompt.
    """
    rows: list[Row] = []
    too_long = 0
    for lesson in lessons:
        prompt = network.prompt(lesson.messages)
        reply = (*network.continuation(lesson.answer, prompt=prompt), network.ends[0])
        if network.is_seq2seq:
            if max(len(prompt.ids), len(reply)) > longest:
                too_long += 1
            else:
                rows.append(Row(ids=prompt.ids, targets=(), reply=reply))
            continue
        ids = (*prompt.ids, *reply[:-1])
        if len(ids) + 1 > longest:
            too_long += 1
            continue
        targets = (*[_IGNORED] * (len(prompt.ids) - 1), *reply)
        before = rows[-1] if rows else None
        if before is not None and prompt.ids[: len(before.ids)] == before.ids and len(prompt.ids) > len(before.ids):
            rows[-1] = Row(ids=ids, targets=before.targets + targets[len(before.ids) :])
        else:
            rows.append(Row(ids=ids, targets=targets))
    return rows, too_long


def summed_loss(rows: Sequence[Row], *, network: Network) -> Tensor:
    """Sum of the cross-entropies of the rows' targets, in nats: a scalar."""
    if network.is_seq2seq:
        logits = completion_logits(
            network=network, prompts=[row.ids for row in rows], completions=[row.reply for row in rows]
        )
        ids, mask = network.padded([row.reply for row in rows], left=False)
        targets = ids.masked_fill(mask == 0, _IGNORED)
        logits = logits[:, : ids.shape[1]]
    else:
        ids, mask = network.padded([row.ids for row in rows], left=False)
        width = ids.shape[1]
        padded = [[*row.targets, *[_IGNORED] * (width - len(row.targets))] for row in rows]
        targets = torch.tensor(padded, device=network.device)
        logits = network.module(input_ids=ids, attention_mask=mask, use_cache=False).logits
    return F.cross_entropy(
        logits.flatten(0, 1).float(), targets.flatten(), ignore_index=_IGNORED, reduction="sum"
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class RepliesObjective:
    """Mean cross-entropy of the replies' tokens of a random batch of conversations, a few of them in memory at once."""

    network: Network
    data: LessonFile
    lines: Sequence[int]
    batch: int
    at_once: int
    """Rows per forward and backward pass; does not change the loss."""
    longest: int

    def losses(self, *, model: nn.Module, rng: np.random.Generator) -> Iterator[Tensor]:  # noqa: ARG002 - the network's
        """See `ObjectiveInParts`."""
        count = len(self.lines)
        chosen = rng.choice(count, size=min(self.batch, count), replace=False)
        # Models with dropout draw from this generator: a resumed run draws the same.
        torch.manual_seed(int(rng.integers(2**62)))
        rows = [
            row
            for lessons in self.data.lessons([self.lines[int(place)] for place in chosen])
            for row in rows_of(lessons, network=self.network, longest=self.longest)[0]
        ]
        # Rows of similar length are padded little.
        rows.sort(key=lambda row: -len(row.ids))
        total = sum(row.count for row in rows)
        for start in range(0, len(rows), self.at_once):
            yield summed_loss(rows[start : start + self.at_once], network=self.network) / total


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Settings of a run."""

    base: BaseModel
    data: Path
    out: Path
    title: str
    """What the result is for, such as `LUMOS, plan_iterative`."""
    strategy: str
    """A strategy that the result can be submitted with."""
    read: Reader = chat_lessons
    stop: tuple[str, ...] = ()
    """Texts that end a reply, as in the strategy's calls."""
    seed: int = 0
    steps: int | None = None
    """None: `PASSES` over the data."""
    batch: int = 16
    at_once: int = 1
    learning_rate: float | None = None
    longest: int | None = None
    held_out: float = 0.05
    lora: LoraSettings | None = None
    device: str = "cpu"
    precision: str = "float32"
    save_memory: bool = False
    """Recompute activations in the backward pass instead of storing them."""
    licence: str = ""
    """Of the base model; empty: as its folder states it."""
    data_licence: str = ""
    resume: bool = False
    stop_after: int | None = None


class TuningError(ValueError):
    """The settings of a run are wrong; the message names the option."""


def tune(
    order: Tuning, *, report: Callable[[Progress], None] | None = None, say: Callable[[str], None] = lambda _: None
) -> Path | None:
    """Tune a model and return its folder, or None if it stopped early. The checkpoint is beside the folder.

    Args:
        order: settings.
        report: progress callback.
        say: receives sentences about the data.

    Raises:
        DataError: the data is invalid, or too long for the model.
        TuningError: settings contradict each other.
        LoraError: low-rank adaptation is not available, or the model lacks the layers.
        ModelError: there is no usable model.
        SettingsError: the checkpoint belongs to another run.
    """
    _check(order)
    data = LessonFile.checked(order.data, read=order.read, held_out=order.held_out)
    torch.manual_seed(order.seed)
    model = load_planner(order.base.folder, device=order.device, precision=order.precision)
    network = model.network
    longest = min(order.longest or LONGEST, network.context or order.longest or LONGEST)
    lines = _usable(data, lines=data.training, network=network, longest=longest, say=say)
    schedule = Schedule(
        steps=order.steps or max(1, -(-PASSES * len(lines) // order.batch)),
        learning_rate=order.learning_rate or (WHOLE_RATE if order.lora is None else LORA_RATE), seed=order.seed,
    )  # fmt: skip
    record = _record(order, data=data, schedule=schedule, longest=longest)
    checkpoint = checkpoint_of(order.out)
    settings = {name: value for name, value in record.items() if name not in {"commit", "base_licence", "data_licence"}}
    begin(
        checkpoint=checkpoint, resume=order.resume, settings={**settings, "weights": weights_digest(order.base.folder)}
    )
    measured_lines = _spread(data.held_out, count=MOST_MEASURED)
    before = _measured(order, data=data, lines=measured_lines, model=model, longest=longest)
    module, merged = network.module, None
    if order.lora is not None:
        module, merged = adapt(module, settings=order.lora)
    if order.save_memory:
        _save_memory(module)
    reached = fit(
        model=module, schedule=schedule, checkpoint=checkpoint, resume=order.resume, stop_after=order.stop_after,
        report=report,
        objective=RepliesObjective(
            network=network, data=data, lines=lines, batch=order.batch, at_once=order.at_once, longest=longest
        ),
    )  # fmt: skip
    if reached < schedule.steps:
        return None
    module = (module if merged is None else merged()).eval()
    network.module = module
    after = _measured(order, data=data, lines=measured_lines, model=model, longest=longest)
    write_planner(module=module, source=order.base.folder, folder=order.out, record=record)
    held_out = None
    if before is not None and after is not None:
        held_out = HeldOut(tasks=data.held_out_tasks, before=before, after=after)
    parameters = sum(value.numel() for value in {id(each): each for each in module.parameters()}.values())
    write_card(
        folder=order.out, title=order.title, strategy=order.strategy, record=record, parameters=parameters,
        held_out=held_out,
    )  # fmt: skip
    try:
        inspect_settings_confined(order.out)
    except ModelRefusedError as error:
        raise TuningError(f"{order.out} is written, but a site would refuse it: {error}") from None
    return order.out


def _check(order: Tuning) -> None:
    if order.batch < 1 or order.at_once < 1:
        raise TuningError("--batch and --at-once must be at least 1")
    if not 0 <= order.held_out < 1:
        raise TuningError(f"--held-out must be at least 0 and less than 1, not {order.held_out:g}")
    if order.precision not in {"float32", "bfloat16"}:
        raise TuningError(f"--precision must be float32 or bfloat16, not {order.precision}")
    if order.precision != "float32" and order.lora is None:
        raise TuningError("--precision bfloat16 needs --lora: steps of all weights are smaller than bfloat16 resolves")
    if order.out.resolve() == order.base.folder.resolve():
        raise TuningError(f"--out: {order.out} is the folder of the base model")
    if order.out.is_dir() and any(order.out.iterdir()) and not (order.out / "training.json").is_file():
        raise TuningError(f"--out: {order.out} holds other files; name a new folder")


def _usable(
    data: LessonFile, *, lines: Sequence[int], network: Network, longest: int, say: Callable[[str], None]
) -> Sequence[int]:
    """The lines with a lesson that fits.

    Raises:
        DataError: the model cannot read a line, or no lesson fits.
    """
    usable = []
    dropped = count = 0
    for line, lessons in zip(lines, data.lessons(lines), strict=True):
        try:
            rows, too_long = rows_of(lessons, network=network, longest=longest)
        except PromptError as error:
            raise DataError(f"{data.path}: line {line + 1}: {error}") from None
        count, dropped = count + len(lessons), dropped + too_long
        if rows:
            usable.append(line)
    if not usable:
        raise DataError(
            f"{data.path}: every prompt with its reply has more than {longest} tokens; the model's context and "
            "--longest limit them"
        )
    if dropped:
        say(f"{dropped} of {count} replies are left out: with their prompts they have more than {longest} tokens")
    return usable


def _spread(lines: Sequence[int], *, count: int) -> Sequence[int]:
    """At most `count` lines, evenly spaced."""
    return [lines[place * len(lines) // min(count, len(lines))] for place in range(min(count, len(lines)))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The quality of a model on held-out replies."""

    loss: float
    """Mean cross-entropy of the replies' tokens, in nats."""
    right: int
    """Replies that equal the data's, decoded greedily."""
    replies: int


def _measured(
    order: Tuning, *, data: LessonFile, lines: Sequence[int], model: LocalModel, longest: int
) -> Measured | None:
    """The model's loss on held-out lines, and its own replies to the last prompts; None if no held-out line fits."""
    network = model.network
    was_training = network.module.training
    network.module.eval()
    total, count, calls, answers = 0.0, 0, [], []
    with torch.inference_mode():
        for lessons in data.lessons(lines):
            rows, _ = rows_of(lessons, network=network, longest=longest)
            for row in rows:
                total, count = total + float(summed_loss([row], network=network)), count + row.count
            if rows:
                last = lessons[-1]
                most = model.count_tokens(last.answer) + _MORE
                calls.append(GenerateCall(messages=last.messages, max_tokens=most, stop=order.stop))
                answers.append(last.answer)
    network.module.train(was_training)
    if not count:
        return None
    given = model.answer(calls)
    right = sum(
        isinstance(answer, Completion) and answer.text.strip() == wanted.strip()
        for answer, wanted in zip(given, answers, strict=True)
    )
    return Measured(loss=total / count, right=right, replies=len(calls))


def _save_memory(module: Any) -> None:
    if not getattr(module, "supports_gradient_checkpointing", False):
        raise LoraError(f"--save-memory: {type(module).__name__} cannot recompute its activations")
    module.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})


def _record(order: Tuning, *, data: LessonFile, schedule: Schedule, longest: int) -> dict[str, JsonValue]:
    commit, dirty = code_version()
    return {
        "kind": "tuned",
        "from": order.base.name,
        "base_licence": order.licence or order.base.licence,
        "for": order.title,
        "data": {order.data.name: data.digest},
        "data_licence": order.data_licence,
        "conversations": len(data.training),
        "held_out": order.held_out,
        "seed": order.seed,
        "steps": schedule.steps,
        "batch": order.batch,
        "at_once": order.at_once,
        "learning_rate": schedule.learning_rate,
        "longest": longest,
        "lora": None if order.lora is None else {**asdict(order.lora), "targets": list(order.lora.targets)},
        "precision": order.precision,
        "device": order.device,
        "save_memory": order.save_memory,
        "torch": torch.__version__,
        "commit": None if commit is None else commit + (", with changes" if dirty else ""),
    }
