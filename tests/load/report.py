"""The report of a load test: ratios and distributions first, then what they come from."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.load.figures import distribution, fairness, gaps, given_twice, growth

if TYPE_CHECKING:
    from tests.load.run import Watched


def report_of(
    *, options: Mapping[str, Any], watched: "Watched", seconds: Mapping[str, float], times: Sequence[Path], log: Path
) -> dict[str, Any]:
    """Everything that is known when all evaluations have ended.

    Args:
        options: how large the test was.
        watched: what was seen from time to time.
        seconds: how long each stage took.
        times: the files that the workers wrote.
        log: Celery's.
    """
    from tests.load import database

    states = database.states()
    attempts = database.attempts()
    first, last, finished = database.span()
    shards = [line for line in _lines(times) if not line.get("empty")]
    # After the last lease there is nothing to get any more.
    closing = max(leased for _, leased, _ in attempts)
    empty = sum(bool(line.get("empty")) and line["at"] < closing for line in _lines(times))
    done = states.get("completed", 0)
    return {
        "finished": done / options["evaluations"],
        "fairness": fairness(leases=database.owners_of_leases(), shards=database.shards_by_user()),
        "overhead_seconds_per_shard": _overhead(shards),
        "cpu_seconds_per_shard": {what: spent / len(attempts) for what, spent in sorted(watched.cpu.items())},
        "seconds_between_shards": distribution(gaps(attempts)),
        "empty_leases_while_work_waited": empty / (empty + len(shards)),
        "wrong_leases": {"empty": empty, **_wrong(shards), **database.doubled_leases()},
        "deadline_used_at_most": watched.used,
        "memory_mib": {what: growth([each[what] for each in watched.memory]) for what in sorted(watched.cpu)},
        "throughput": {
            "shards_per_second": len(attempts) / (last - first).total_seconds(),
            "evaluations_per_second": done / (finished - first).total_seconds(),
        },
        "celery_task_seconds": {name: distribution(spent) for name, spent in _tasks(log.read_text()).items()},
        "seconds_to_publication": distribution(database.waits_for_publication()),
        "oldest_seconds": watched.oldest,
        "states": states,
        "attempts": database.attempt_states(),
        "seconds": dict(seconds),
        "options": dict(options),
        "cores": os.cpu_count(),
    }


def _wrong(shards: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    return {
        "without_tasks": sum(not shard["tasks"] for shard in shards),
        "given_twice": given_twice([shard["attempt"] for shard in shards]),
    }


def _lines(times: Sequence[Path]) -> list[dict[str, Any]]:
    return [json.loads(line) for path in times for line in path.read_text().splitlines()]


def _tasks(log: str) -> dict[str, list[float]]:
    """How long each of Celery's tasks took, by its name."""
    found: dict[str, list[float]] = {}
    for name, spent in re.findall(r"Task [\w.]*?(\w+)\[[\w-]+\] succeeded in ([\d.e-]+)s", log):
        found.setdefault(name, []).append(float(spent))
    return dict(sorted(found.items()))


def _overhead(shards: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What a shard takes in the worker beside its runner.

    `finish` is the call that ends it and leases the next one, `lease` a call that only leases, and `deliver` the rest:
    artefacts, results and log lines that went before, and the worker itself.
    """
    parts: dict[str, list[float]] = {"all": [], "lease": [], "deliver": [], "finish": []}
    for shard in shards:
        over = shard["total"] - shard.get("runner", 0.0)
        parts["all"].append(over)
        parts["finish"].append(shard["finish"])
        if "lease" in shard:
            parts["lease"].append(shard["lease"])
        parts["deliver"].append(over - shard.get("lease", 0.0) - shard["finish"])
    return {part: distribution(values) for part, values in parts.items()}
