"""How a model's weights came about: the commands that lead to them, kept beside the checkpoint."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path


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
