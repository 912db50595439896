"""Settings and history of a training run, stored with its checkpoint, so that a run resumes only its own checkpoint."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from evaluator.core.canonical_json import JsonValue


class SettingsError(ValueError):
    """A run cannot resume; the message says why."""


class ChoiceError(ValueError):
    """There is nothing of this name to train or to ship; the message lists the choices."""


def begin(*, checkpoint: Path, settings: Mapping[str, JsonValue], resume: bool) -> None:
    """Record the settings of a run before its first checkpoint, or check that an existing checkpoint has the same.

    Args:
        checkpoint: the checkpoint; the settings are in `CHECKPOINT.settings.json`.
        settings: everything that determines the weights, except the code.
        resume: whether to resume the checkpoint, if there is one; otherwise it is deleted.

    Raises:
        SettingsError: the checkpoint's settings differ, or are unknown.
    """
    path = checkpoint.with_name(f"{checkpoint.name}.settings.json")
    if resume and checkpoint.is_file():
        refuse_others(path=path, settings=settings)
        return
    # Delete the checkpoint first. A run killed in between must not leave an old checkpoint with new settings.
    checkpoint.unlink(missing_ok=True)
    write_settings(path=path, settings=settings)


def write_settings(*, path: Path, settings: Mapping[str, JsonValue]) -> None:
    """Write the settings of a run atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(json.dumps(settings, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    partial.replace(path)


def refuse_others(*, path: Path, settings: Mapping[str, JsonValue]) -> None:
    """Check that a file has these settings.

    Raises:
        SettingsError: the settings differ, or the file is missing.
    """
    if not path.is_file():
        raise SettingsError(f"{path} is missing, so the settings of this run are unknown: start again without resuming")
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
    """Parse seeds such as `0-4,7`.

    Raises:
        ValueError: a part is neither a number nor a range.
    """
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        yield from range(int(first), int(last or first) + 1)


@dataclass(frozen=True, slots=True)
class Run:
    """A call of the training command."""

    steps: int
    """Steps of the whole schedule, which determines the learning rate."""
    stop_after: int | None = None
    """The first step of the next run, if that has another schedule."""

    def command(self, *, model: str, seed: int, first: bool) -> str:
        """The command that repeats the run."""
        command = f"planarena lilliput train {model} --steps {self.steps} --seed {seed}"
        command += "" if first else " --resume"
        return command if self.stop_after is None else f"{command} --stop-after {self.stop_after}"


def begin_run(*, path: Path, steps: int, reached: int) -> tuple[Run, ...]:
    """Record that a run begins at the step `reached`, and return all runs so far.

    A run with the same schedule as the previous one continues it, because the loop resumes exactly.
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
    """The recorded runs; empty without a file."""
    return tuple(Run(**entry) for entry in json.loads(path.read_text())) if path.exists() else ()
