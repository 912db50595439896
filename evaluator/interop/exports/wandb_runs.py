"""Weights & Biases, by its own client: a run as the client's settings say (`WANDB_PROJECT`, `WANDB_MODE`, `WANDB_DIR`).

The facts are the run's configuration, the metrics its summary, and the tasks a table.
"""

import os
from pathlib import Path

import wandb

from evaluator.interop.exports.source import ExportedEvaluation, ExportError
from evaluator.interop.exports.tracked_run import COLUMNS, PROJECT, tracked_run


def log_run(exported: ExportedEvaluation) -> str:
    """Write the run of an evaluation, or write it again. Returns its address, or offline its folder, for `wandb sync`.

    Raises:
        ExportError: the service refused it, or nobody is logged in.
    """
    run = tracked_run(exported)
    try:
        with wandb.init(
            project=os.environ.get("WANDB_PROJECT") or PROJECT,
            id=run.identity,
            resume="allow",
            name=run.name,
            config=dict(run.facts),
            settings=wandb.Settings(silent=True, console="off"),
        ) as made:
            made.summary.update(dict(run.metrics))
            made.log({"tasks": wandb.Table(columns=list(COLUMNS), data=[list(row) for row in run.rows])})
            return str(Path(made.dir).parent if made.offline else made.url)
    except wandb.errors.Error as error:
        raise ExportError(f"Weights & Biases did not take the run: {error}") from None
