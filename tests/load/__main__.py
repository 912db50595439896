"""`python -m tests.load`: how the queue handles many evaluations; docs/studies/speed.md describes the report."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.load.run import Options, measure


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one load test and print the report. Returns 1 if an evaluation did not complete, or a lease was empty or
    doubled."""
    usual = Options()
    parser = argparse.ArgumentParser(prog="python -m tests.load", description=__doc__)
    add = parser.add_argument
    add("--evaluations", type=int, default=usual.evaluations, help="submitted at once (default: %(default)s)")
    add("--users", type=int, default=usual.users, help="who submit them, in unequal numbers (default: %(default)s)")
    add("--workers", type=int, default=usual.workers, help="worker processes (default: %(default)s)")
    add("--tasks", type=int, default=usual.tasks, help="of each evaluation, a shard each (default: %(default)s)")
    add("--minutes", type=float, default=usual.minutes, help="keep submitting for so long (default: submit once)")
    add("--pace", type=float, default=usual.pace, help="seconds that a task takes (default: at once)")
    add("--ended", type=int, default=usual.ended, help="evaluations that had ended before (default: none)")
    add("--broker", default=usual.broker, help="as in BROKER_URL (default: files in a folder of its own)")
    add("--out", type=Path, help="file for the report as JSON")
    options = vars(parser.parse_args(arguments))
    out = options.pop("out")
    try:
        report = measure(Options(**options))
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130
    text = json.dumps(report, indent=1)
    if out is not None:
        out.write_text(text + "\n")
    print(text)
    if wrong := {what: count for what, count in report["wrong_leases"].items() if count}:
        print(f"Leases went wrong: {wrong}", file=sys.stderr)
    return 0 if report["finished"] == 1 and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
