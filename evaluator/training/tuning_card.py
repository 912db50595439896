"""The card of a tuned model: where it comes from, how it was made, and its quality on held-out tasks."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from evaluator.scoring.metrics.statistics import wilson

CARD = "card.md"
_NOT_STATED = "not stated"
_SPACE = re.compile(r"\s+")


class Measured(Protocol):
    """Figures of a model on held-out replies."""

    @property
    def loss(self) -> float: ...
    @property
    def right(self) -> int: ...
    @property
    def replies(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOut:
    """Figures of the model before and after its training."""

    tasks: int
    """Held-out tasks of the data."""
    before: Measured
    after: Measured


def write_card(
    *, folder: Path, title: str, strategy: str, record: Mapping[str, Any], parameters: int, held_out: HeldOut | None
) -> None:
    """Write `card.md` into the model's folder.

    Args:
        folder: of the model.
        title: what it is for.
        strategy: a strategy that it can be submitted with.
        record: of its training.
        parameters: number of parameters.
        held_out: its figures; None if nothing was held out.
    """
    ((data, digest),) = record["data"].items()
    lora = record["lora"]
    method = "all weights"
    if lora is not None:
        layers = ", ".join(lora["targets"]) or "query and value projections"
        method = f"LoRA of rank {lora['rank']}, alpha {lora['alpha']}, on {layers}; merged into the weights"
    options = ("steps", "batch", "at_once", "learning_rate", "longest", "held_out", "precision", "device")
    lines = [
        f"# {_line(title)}, tuned from {_line(record['from'])}",
        "",
        f"- Base model: {_line(record['from'])}; licence: {_line(record['base_licence']) or _NOT_STATED}",
        f"- Parameters: {parameters:,}",
        f"- Data: `{_line(data)}`, {record['conversations']:,} conversations to learn from, SHA-256 `{digest}`; "
        f"licence: {_line(record['data_licence']) or _NOT_STATED}",
        f"- Trained: {method}",
        f"- Options: {', '.join(f'{name} {record[name]}' for name in options)}",
        f"- Seed: {record['seed']}",
        f"- Code: PlanArena, commit {record['commit'] or 'unknown'}; torch {record['torch']}",
        f"- Submit: zip this folder, strategy `{strategy}`",
        "",
        *_figures(held_out),
    ]
    (folder / CARD).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _figures(held_out: HeldOut | None) -> list[str]:
    if held_out is None:
        return ["No task was held out, so this card reports no quality."]
    rows = [
        "| | loss, nats per token | perplexity | right replies | 95 % interval |",
        "|---|---|---|---|---|",
    ]
    for name, measured in (("base model", held_out.before), ("tuned", held_out.after)):
        share = wilson(successes=measured.right, total=measured.replies)
        perplexity = math.exp(min(measured.loss, 700.0))
        rows.append(
            f"| {name} | {measured.loss:.4f} | {perplexity:.4g} | {share.mean:.4f} of {measured.replies} | "
            f"{share.in_words()} |"
        )
    return [
        f"Quality on {held_out.tasks} held-out tasks of the data, which training did not read. Prompts contain the "
        "data's earlier replies, and a reply is right if it equals the data's. Tasks of suites were not used:",
        "",
        *rows,
    ]


def _line(value: object) -> str:
    """A text of the user's in one line, without Markdown's special characters."""
    return re.sub(r"[`<>|]", "", _SPACE.sub(" ", str(value or ""))).strip()[:300]
