"""Ships planners with their cards: the pretrained planner and those of one seed of the study."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evaluator.openagi.training.study import FINE_TUNED, METRICS, RLTF, UNTUNED, SeedResults, make_row, read_scores
from evaluator.planners.language_models.shipped import FOLDER, NAME, VARIANTS
from evaluator.training.export import parameters_of, update_lock

MEASURED = dict(zip(VARIANTS, (UNTUNED, FINE_TUNED, RLTF), strict=True))
"""The table row with a variant's quality."""
_TITLES = dict(zip(VARIANTS, ("pretrained", "fine-tuned", "trained by task feedback"), strict=True))
_DATA = {
    "pretrain": "paraphrased requests with plans of imaginary annotators, none of them of OpenAGI",
    "finetune": "begins with `pretrained`; gold plans of {tasks} training tasks of OpenAGI",
    "rltf": "begins with `finetuned`; scores of its own plans for {tasks} training tasks of OpenAGI on validation data",
}


def ship(*, pretrained: Path, work: Path, seed: int, weights: Path = FOLDER.parent) -> list[Path]:
    """Copy the planners of a study to the shipped weights, with their cards, and lock their digests.

    Args:
        pretrained: the study's initial planner.
        work: folder of the study.
        seed: seed of the shipped planners.
        weights: the folder of all shipped weights.

    Raises:
        OSError: the study has no such seed.
    """
    results = read_scores(path=work / f"seed-{seed}" / "scores.json", seed=seed)
    sources = {VARIANTS[0]: pretrained, **{name: work / f"seed-{seed}" / name for name in VARIANTS[1:]}}
    shipped = []
    for variant, source in sources.items():
        folder = weights / NAME / variant
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(source, folder)
        (folder / "model.safetensors").chmod(0o644)
        (folder / "card.md").write_text(card(folder=folder, variant=variant, results=results), encoding="utf-8")
        update_lock(weights=weights, model=f"{NAME}/{variant}")
        shipped.append(folder)
    return shipped


def card(*, folder: Path, variant: str, results: SeedResults) -> str:
    """The card of a shipped planner: its description, its training, and its held-out quality."""
    record = json.loads((folder / "training.json").read_text())
    data = _DATA[record["kind"]].format(tasks=len(record.get("tasks", ())))
    row = make_row(variant=MEASURED[variant], seeds=[results])
    figures = [
        f"- {metric}: {found.mean:.4f}, 95 % interval {found.in_words()}, {found.count} tasks"
        for metric in METRICS
        if (found := row.metrics.get(metric)) is not None
    ]
    lines = [
        f"# lilliput-planner, {_TITLES[variant]}: T5, requests to plans",
        "",
        f"- Parameters: {parameters_of(folder):,}, stored as float16, computed with as float32",
        f"- Data: {data}",
        f"- Trained by: `{_command(record)}` (torch {record['torch']}, CPU)",
        *(f"- Note: {note}" for note in [record.get("note")] if note),
        "- Licence: Apache-2.0; trained here from random weights on procedural data",
        "",
        f"Held-out quality with constrained decoding (`openagi/nonlinear`), measured by `planarena train table` on the "
        f"{len(results.tests)} test draws of seed {results.seed}, which hold none of the training tasks; means with "
        "95 % intervals over tasks:",
        "",
        *figures,
        f"- valid plans: {row.valid:.1%}; plans equal to the gold plan: {row.gold:.1%}",
    ]
    return "\n".join(lines) + "\n"


def _command(record: Mapping[str, Any]) -> str:
    if record["kind"] == "pretrain":
        return f"planarena train pretrain --steps {record['steps']} --seed {record['seed']}"
    if record["kind"] == "finetune":
        words = f"--seed {record['seed']} --steps {record['steps']} --learning-rate {record['learning_rate']:g}"
        return f"planarena train finetune --model {NAME} {words}"
    schedule, data = record["schedule"], record["data"]
    words = f"--seed {schedule['seed']} --steps {schedule['steps']} --plans {schedule['samples']} "
    words += f"--learning-rate {schedule['learning_rate']:g} --split {data['split']} --samples {data['samples']}"
    words += "".join(f" --{name} {schedule[name]}" for name in ("estimator", "sampling") if name in schedule)
    return f"planarena train rltf --model {NAME}/finetuned {words}"
