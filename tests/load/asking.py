"""`python -m tests.load.asking`: many people ask the workbench of a demo at once, and real workers serve them.

A report, not a test: seconds depend on the machine. That shares are fair is a test that counts leases
(`tests/leaderboard/workbench/test_shares.py`).
"""

import argparse
import base64
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from tests.end_to_end.arena import Arena, data_folder, sign_up, started

PREPARED = Path(__file__).resolve().parents[2] / "leaderboard" / "workbench" / "prepared"
EAGER_SHARE, EAGER_RUNS = 4, 4
"""One person in so many asks so many times at once, before the others ask."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A run, with seconds since the first one was asked."""

    person: int
    began: float
    first: float
    """When its first event arrived, which its worker sends once it has the run and has read the files."""
    ended: float
    ending: str


def ask(arena: Arena, *, token: str, person: int, since: float) -> Asked:
    """Ask the first prepared request, and follow it to its end."""
    entry = json.loads((PREPARED / "requests.json").read_text())[0]
    content = base64.b64encode((PREPARED / entry["file"]).read_bytes()).decode()
    body = {"text": entry["text"], "files": [{"name": entry["file"], "content": content}]}
    began = time.monotonic() - since
    run = arena.post("runs/", token=token, body=body)["id"]
    first, ending = 0.0, ""
    with httpx.stream("GET", f"{arena.url}/api/v1/runs/{run}/events/", timeout=600, trust_env=False) as response:
        for line in response.iter_lines():
            if line.startswith('data: {"kind"'):
                first = first or time.monotonic() - since
                ending = json.loads(line[6:]).get("ending", ending)
    return Asked(person=person, began=began, first=first, ended=time.monotonic() - since, ending=ending)


def measure(*, people: int, workers: int) -> dict[str, Any]:
    """The report: who waited for how long, and in which turn everybody's first run was served."""
    settings = {"PLANARENA_LOCAL_RUN_WORKERS": str(workers), "PLANARENA_STREAMS_PER_ADDRESS": "0"}
    with data_folder() as data, started(data, planners=("gold",), **settings) as arena:
        arena.wait_published()
        tokens = [sign_up(arena, f"person-{number}") for number in range(people)]
        ask(arena, token=tokens[0], person=0, since=time.monotonic())
        eager = people // EAGER_SHARE
        asking = [person for person in range(eager) for _ in range(EAGER_RUNS)] + list(range(eager, people))
        since = time.monotonic()
        with ThreadPoolExecutor(max_workers=len(asking)) as pool:
            runs = list(pool.map(lambda person: ask(arena, token=tokens[person], person=person, since=since), asking))
    order = [run.person for run in sorted(runs, key=lambda run: run.first)]
    turns = {person: order.index(person) + 1 for person in range(people)}
    waits = {person: min(run.ended for run in runs if run.person == person) for person in range(people)}
    return {
        "people": people, "workers": workers, "runs": len(runs), "made": sum(run.ending == "made" for run in runs),
        "turn_of_first_run": {"mean": sum(turns.values()) / people, "most": max(turns.values())},
        "seconds_to_first_result": {"median": round(median(waits.values()), 2), "most": round(max(waits.values()), 2)},
        "seconds_of_those_who_asked_once": {
            "median": round(median(waits[person] for person in range(eager, people)), 2),
            "most": round(max(waits[person] for person in range(eager, people)), 2),
        },
        "seconds_until_all_ended": round(max(run.ended for run in runs), 2),
        "runs_per_second": round(len(runs) / max(run.ended for run in runs), 2),
    }  # fmt: skip


def main() -> int:
    """Measure, and print the report. Returns 1 if a run did not make its results."""
    parser = argparse.ArgumentParser(prog="python -m tests.load.asking", description=__doc__)
    parser.add_argument("--people", type=int, default=20, help="who ask at once (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="that take runs only (default: %(default)s)")
    report = measure(**vars(parser.parse_args()))
    print(json.dumps(report, indent=1))
    return 0 if report["made"] == report["runs"] else 1


if __name__ == "__main__":
    sys.exit(main())
