"""MLflow, by its own client: a run in the store and the experiment of the client's settings (`MLFLOW_TRACKING_URI`).

Parameters are cut where MLflow has a limit: `evaluation.json` has all facts whole, `tasks.json` the table of tasks.
"""

import json
import os
import re
import time

from mlflow import MlflowClient
from mlflow.entities import Metric, Param, Run
from mlflow.exceptions import MlflowException

from evaluator.interop.exports.source import ExportedEvaluation, ExportError
from evaluator.interop.exports.tracked_run import COLUMNS, PROJECT, TrackedRun, tracked_run

_IDENTITY = "planarena.identity"
_LONGEST_PARAMETER = 500
_TABLE = "tasks.json"


def log_run(exported: ExportedEvaluation) -> str:
    """Write the run of an evaluation, unless it is there. Returns the id of the run.

    Raises:
        ExportError: the store refused it.
    """
    run = tracked_run(exported)
    client = MlflowClient()
    try:
        experiment = _experiment(client)
        there = client.search_runs(
            [experiment], f"tags.`{_IDENTITY}` = '{run.identity}' and attributes.status = 'FINISHED'", max_results=1
        )
        return _id(there[0] if there else _written(run, client=client, experiment=experiment))
    except MlflowException as error:
        raise ExportError(f"MLflow did not take the run: {error.message}") from None


def _experiment(client: MlflowClient) -> str:
    name = os.environ.get("MLFLOW_EXPERIMENT_NAME") or PROJECT
    found = client.get_experiment_by_name(name)
    return str(client.create_experiment(name) if found is None else found.experiment_id)


def _written(run: TrackedRun, *, client: MlflowClient, experiment: str) -> Run:
    table = json.dumps([{"path": _TABLE, "type": "table"}])
    # The second tag makes MLflow's pages show the file as a table.
    tags = {_IDENTITY: run.identity, "mlflow.loggedArtifacts": table}
    made = client.create_run(experiment, run_name=run.name, tags=tags)
    now = int(time.time() * 1000)
    client.log_batch(
        _id(made),
        metrics=[Metric(re.sub(r"[^\w.-]", "_", key), value, now, 0) for key, value in run.metrics.items()],
        params=[Param(name, text[:_LONGEST_PARAMETER]) for name, text in run.facts.items() if name != "signature"],
    )
    client.log_dict(_id(made), dict(run.facts), "evaluation.json")
    client.log_dict(_id(made), {"columns": list(COLUMNS), "data": [list(row) for row in run.rows]}, _TABLE)
    client.set_terminated(_id(made))
    return made


def _id(run: Run) -> str:
    return str(run.info.run_id)
