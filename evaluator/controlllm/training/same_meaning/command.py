"""`planarena train same-meaning`: train the network of the judge of plans, measure it, or ship it with its card."""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import torch

from evaluator.controlllm.training.same_meaning.export import write_onnx
from evaluator.controlllm.training.same_meaning.measuring import Quality, calibrate, measured
from evaluator.controlllm.training.same_meaning.natural import Part, natural_groups, natural_pairs
from evaluator.controlllm.training.same_meaning.training import Order, average, train
from evaluator.scoring.arbiters.network import FOLDER, NAME
from evaluator.scoring.metrics.statistics import Interval
from evaluator.training.loop import Progress
from evaluator.training.runs import ChoiceError

CHOICES = ("train", "average", "measure", "ship")


def run(
    *,
    what: str,
    base: Path,
    start: Sequence[Path],
    teacher: Path | None,
    work: Path,
    settings: Mapping[str, Any],
    report: Callable[[Progress], None],
) -> str:
    """Do one of `CHOICES` and return a message.

    Args:
        what: the choice.
        base: folder of all-MiniLM-L6-v2, or of all-mpnet-base-v2 for a teacher.
        start: folder of a trained network to go on from, if any; of two or more for the average of their weights.
        teacher: folder of a trained network whose probabilities are learnt, if any.
        work: folder of the trained network. The shipped one is measured if there is none.
        settings: settings of the training: `steps`, `seed`, `resume`, `stop_after`.
        report: receives the progress.

    Raises:
        ChoiceError: there is no such choice, nothing to start from, or nothing to ship.
        SettingsError: the checkpoint is of another run.
    """
    torch.set_num_threads(1)
    if what == "measure":
        return _tables(exported(work) if (work / "model.safetensors").is_file() else FOLDER)
    if what == "ship":
        return f"written to {ship(work=work)}"
    if what == "average":
        if len(start) < 2:
            raise ChoiceError("an average needs two networks: --start FOLDER --start FOLDER")
        return f"written to {average(folders=start, out=work)}"
    if what != "train":
        raise ChoiceError(f"there is nothing to do called {what!r}; there are: {', '.join(CHOICES)}")
    if not (base / "model.safetensors").is_file():
        raise ChoiceError(f"{base} holds no model.safetensors of a pretrained model: --base names its folder")
    if len(start) > 1:
        raise ChoiceError("a training goes on from one network: give --start once")
    if teacher is not None and not (teacher / "training.json").is_file():
        raise ChoiceError(f"{teacher} holds no trained network: --teacher names the --work folder of a training")
    order = Order(base=base, start=next(iter(start), None), teacher=teacher, out=work, **settings)
    folder = train(order, report=report)
    return "stopped early; --resume continues" if folder is None else f"written to {folder}"


def exported(work: Path) -> Path:
    """Write the ONNX file and the thresholds of a trained network beside it, and return the folder.

    Raises:
        ChoiceError: there is no trained network.
    """
    if not (work / "model.safetensors").is_file():
        raise ChoiceError(f"{work} holds no trained network: train it first")
    write_onnx(weights=work / "model.safetensors", out=work / "network.onnx")
    calibrate(work)
    return work


def ship(*, work: Path, folder: Path = FOLDER) -> Path:
    """Copy a trained network with its thresholds and card to the package.

    Raises:
        ChoiceError: there is no trained network.
    """
    exported(work)
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("network.onnx", "tokenizer.json", "thresholds.json", "training.json"):
        shutil.copyfile(work / name, folder / name)
    (folder / "card.md").write_text(card(folder), encoding="utf-8")
    return folder


def card(folder: Path) -> str:
    """The card of a network: origin, data, training, and quality on hidden pairs."""
    record: Mapping[str, Any] = json.loads((folder / "training.json").read_text())
    counts = {part: len(natural_pairs(part)) for part in get_args(Part)}
    lines = [
        f"# {NAME}: whether two texts ask a tool for the same",
        "",
        "- Origin: sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0), fine-tuned as a cross-encoder; 22.7 million"
        " parameters, int8 with a scale for each row, computed with in float32",
        f"- Data: {counts['train']:,} pairs and {len(natural_groups()):,} groups of eight texts written for this"
        " purpose by language models, each unaware of the judge's rules and of the others; and pairs drawn from a"
        " grammar with synonyms, some of WordNet 3.0. None is of Tool100, Tool2K or another released suite",
        f"- Thresholds: from {counts['calibration_plans']:,} texts as planners write them and {counts['calibration']:,}"
        " hard pairs, by other writers",
        f"- Trained by: {', then '.join(_commands(record))} (torch {record['torch']}, CPU)",
        *_taught_by(record),
        "- Licence: Apache-2.0",
        "",
        "Quality behind the judge's rules on hidden pairs of further writers, measured by"
        " `planarena train same-meaning measure`.",
        "",
        _tables(folder),
    ]
    return "\n".join(lines) + "\n"


def _taught_by(record: Mapping[str, Any]) -> list[str]:
    """A line on the teacher of the last run that had one."""
    for each in (record, *record.get("averaged", ())):
        if each.get("teacher") is not None:
            commands = ", then ".join(_commands(each["teacher"]))
            return [
                "- Teacher: sentence-transformers/all-mpnet-base-v2 (Apache-2.0), a cross-encoder of 109 million"
                f" parameters that does not ship, trained by {commands} with `--base` naming its folder"
            ]
    return []


_TITLES: Mapping[Part, str] = {
    "hidden_plans": "Texts as planners write them",
    "hidden": "Pairs that are hard on purpose",
}


def _tables(folder: Path) -> str:
    return "\n\n".join(
        f"{_TITLES[part]} ({len(natural_pairs(part)):,}):\n\n{table(by_kind)}"
        for part, by_kind in measured(folder).items()
    )


def _commands(record: Mapping[str, Any]) -> list[str]:
    """The commands of all runs, with the share of pairs by hand, which changed between them."""
    if "averaged" in record:
        first, *others = (_commands(each) for each in record["averaged"])
        # They have all but their last run in common.
        last = [each[-1] for each in (first, *others)]
        return [*first[:-1], f"{' and '.join(last)}, then `planarena train same-meaning average` of these"]
    before = record.get("before")
    commands = [] if before is None else _commands(before)
    for number, run in enumerate(record["runs"]):
        command = f"planarena train same-meaning --steps {run['steps']} --seed {record['seed']}"
        command += "" if before is None or number else " --start FOLDER"
        command += "" if record.get("teacher") is None or number else " --teacher FOLDER"
        command += " --resume" if number else ""
        command += "" if run["stop_after"] is None else f" --stop-after {run['stop_after']}"
        commands.append(f"`{command}` ({100 * record['natural']:.0f} % by hand, pairs {record['pairs'][:12]})")
    return commands


def table(by_kind: Mapping[str, Quality]) -> str:
    """The quality as a Markdown table with 95 % intervals."""
    head = "| kind | accepted | refused | wrongly accepted | undecided | area |"
    rows = [
        f"| {kind} | {' | '.join(_share(value) for value in _shares(own))} | {own.area:.3f} |"
        for kind, own in by_kind.items()
    ]
    return "\n".join([head, "|---|---|---|---|---|---|", *rows])


def _shares(own: Quality) -> tuple[Interval, ...]:
    return own.accepted, own.refused, own.wrongly_accepted, own.undecided


def _share(value: Interval) -> str:
    return f"{100 * value.mean:.1f} % ({value.in_words()})"
