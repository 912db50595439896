"""Settings and history of a training run, kept beside its checkpoint, so that a run continues only from its own."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from evaluator.core.canonical_json import JsonValue


class SettingsError(ValueError):
    """A run cannot go on from what is there; the message says why."""


class ChoiceError(ValueError):
    """There is nothing of this name to train or to ship; the message says what there is."""


def begin(*, checkpoint: Path, settings: Mapping[str, JsonValue], resume: bool) -> None:
    """Say what a run is before it writes its first checkpoint, or check that the checkpoint there is one of this run.

    Args:
        checkpoint: the settings lie beside it, as `CHECKPOINT.settings.json`.
        settings: all that the weights depend on besides the code.
        resume: go on from the checkpoint, if there is one; else it is deleted.

    Raises:
        SettingsError: the checkpoint is of a run with other settings, or nobody knows with which.
    """
    beside = checkpoint.with_name(f"{checkpoint.name}.settings.json")
    if resume and checkpoint.is_file():
        refuse_others(path=beside, settings=settings)
        return
    # First: a run killed before its first checkpoint would else find the settings its own and the checkpoint not.
    checkpoint.unlink(missing_ok=True)
    write_settings(path=beside, settings=settings)


def write_settings(*, path: Path, settings: Mapping[str, JsonValue]) -> None:
    """Write the settings of a run whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(json.dumps(settings, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    partial.replace(path)


def refuse_others(*, path: Path, settings: Mapping[str, JsonValue]) -> None:
    """Check that these are the settings of a file.

    Raises:
        SettingsError: they are not, or there is no such file.
    """
    if not path.is_file():
        raise SettingsError(f"{path} is missing, so that nobody knows with which settings this run began: start afresh")
    before = json.loads(path.read_text(encoding="utf-8"))
    now = json.loads(json.dumps(settings))
    different = [
        f"{name} {before.get(name)}, not {now.get(name)}"
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    ]
    if different:
        raise SettingsError(f"the run of {path} began with other settings: {'; '.join(different)}")


def seeds_of(text: str) -> Iterator[int]:
    """Seeds from `0-4,7`.

    Raises:
        ValueError: a part of it is neither a number nor a range.
    """
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        yield from range(int(first), int(last or first) + 1)


@dataclass(frozen=True, slots=True)
class Run:
    """One call of the training command."""

    steps: int
    """Of the whole schedule, which sets the learning rate."""
    stop_after: int | None = None
    """The step at which the next run took over, if that had another schedule."""

    def command(self, *, model: str, seed: int, first: bool) -> str:
        """What to type to repeat it."""
        command = f"planarena lilliput train {model} --steps {self.steps} --seed {seed}"
        command += "" if first else " --resume"
        return command if self.stop_after is None else f"{command} --stop-after {self.stop_after}"


def begin_run(*, path: Path, steps: int, reached: int) -> tuple[Run, ...]:
    """Write down that a run begins at the step `reached`, and return all runs so far.

    A run with the schedule of the one before just goes on with it: the loop makes sure that this changes nothing.
    """
    before = read_runs(path) if reached else ()
    if before and before[-1].steps == steps:
        runs = (*before[:-1], Run(steps=steps))
    elif before:
        runs = (*before[:-1], Run(steps=before[-1].steps, stop_after=reached), Run(steps=steps))
    else:
        runs = (Run(steps=steps),)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([asdict(run) for run in runs]))
    return runs


def read_runs(path: Path) -> tuple[Run, ...]:
    """The runs written down so far; none if there is no such file."""
    return tuple(Run(**entry) for entry in json.loads(path.read_text())) if path.exists() else ()
