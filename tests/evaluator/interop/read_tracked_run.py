"""A run of an experiment tracker, as its own package reads it: identity, facts, metrics and rows, as JSON.

python tests/evaluator/interop/read_tracked_run.py mlflow|wandb RUN
"""

import json
import struct
import sys
from collections.abc import Iterator
from pathlib import Path


def of_mlflow(run: str) -> dict[str, object]:
    from mlflow import MlflowClient
    from mlflow.artifacts import load_dict

    client = MlflowClient()
    read = client.get_run(run)
    assert read.info.status == "FINISHED"
    (experiment,) = client.search_experiments(filter_string="name = 'planarena'")
    assert [one.info.run_id for one in client.search_runs([experiment.experiment_id])] == [run]
    return {
        "identity": read.data.tags["planarena.identity"],
        "facts": load_dict(f"runs:/{run}/evaluation.json"),
        "metrics": read.data.metrics,
        "rows": load_dict(f"runs:/{run}/tasks.json")["data"],
    }


def of_wandb(run: str) -> dict[str, object]:
    from wandb.proto.wandb_internal_pb2 import Record

    (file,) = Path(run).glob("*.wandb")
    found: dict[str, object] = {"metrics": {}}
    for data in _records(file.read_bytes()):
        record = Record.FromString(data)
        kind = record.WhichOneof("record_type")
        if kind == "run":
            found["identity"] = record.run.run_id
            found["facts"] = {item.key: json.loads(item.value_json) for item in record.run.config.update}
        if kind == "summary":
            for item in record.summary.update:
                found["metrics"][item.key or ".".join(item.nested_key)] = json.loads(item.value_json)  # type: ignore[index]
    (table,) = (Path(run) / "files").rglob("*.table.json")
    return found | {"rows": json.loads(table.read_text())["data"]}


def _records(data: bytes) -> Iterator[bytes]:
    """The records of LevelDB's log format: blocks of 32 KiB of chunks, with a header of 7 bytes each."""
    block, at, parts = 32768, 7, b""
    while at + 7 <= len(data):
        if block - at % block < 7:
            at += block - at % block
            continue
        _, length, kind = struct.unpack("<IHB", data[at : at + 7])
        parts += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):
            yield parts
            parts = b""


if __name__ == "__main__":
    print(json.dumps({"mlflow": of_mlflow, "wandb": of_wandb}[sys.argv[1]](sys.argv[2])))
