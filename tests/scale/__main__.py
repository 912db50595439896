"""`python -m tests.scale`: how long pages of a large installation take, and how many it answers a second."""

import argparse
import json
import logging
import shutil
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.load.installation import installation
from tests.scale import wide_suite

SETTINGS = {
    "PLANARENA_SUITES": wide_suite.__name__,
    "PLANARENA_ALLOWED_HOSTS": "127.0.0.1,testserver",
    # The operator here signs in without a page.
    "PLANARENA_OPERATORS_NEED_2FA": "0",
    # All readers have one address.
    "PLANARENA_API_READS_PER_MINUTE": "0",
    "PLANARENA_API_ANONYMOUS_READS_PER_MINUTE": "0",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the data, measure every address, and print the report."""
    parser = argparse.ArgumentParser(prog="python -m tests.scale", description=__doc__)
    parser.add_argument("--evaluations", type=int, default=5000)
    parser.add_argument(
        "--results", type=int, default=2_000_000, help="about so many, if the evaluations can have them"
    )
    parser.add_argument("--users", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=20, help="requests of each address in this process; 0: none")
    parser.add_argument("--only", default="", help="measure only addresses with this in them")
    parser.add_argument("--rate-seconds", type=float, default=3, help="time for each address over HTTP; 0: none")
    parser.add_argument("--folder", type=Path, help="keep the installation here; used again if it is there")
    parser.add_argument("--out", type=Path, help="file for the report as JSON")
    options = parser.parse_args(arguments)
    folder = options.folder or Path(tempfile.mkdtemp(prefix="planarena-scale-"))
    try:
        with installation(folder, **SETTINGS):
            report = _report(folder, options=options)
    finally:
        if options.folder is None:
            shutil.rmtree(folder, ignore_errors=True)
    if options.out is not None:
        options.out.write_text(json.dumps(report, indent=1) + "\n")
    _tell(report)
    return 0


def _report(folder: Path, *, options: argparse.Namespace) -> dict[str, Any]:
    from tests.scale import measuring, rate

    counts = _rows(folder, options=options)
    report = measuring.report(rounds=options.rounds, rows=counts, only=options.only)
    if options.rate_seconds:
        chosen = [one for one in measuring.much_read() if options.only in one.address(0)]
        report["rates"] = [asdict(one) for one in rate.rates(asked=chosen, seconds=options.rate_seconds)]
        report["start_seconds"] = rate.start_seconds()
    return report


def _rows(folder: Path, *, options: argparse.Namespace) -> dict[str, int]:
    """Make the data, unless the folder has them. Returns how many rows of each kind there are."""
    from django.core.management import call_command
    from django.db import connection

    from tests.scale import data

    # A folder that is used again may be of an older release.
    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    # Strangers who are refused would be most of what is printed.
    logging.getLogger("django.request").setLevel(logging.ERROR)
    path = folder / "rows.json"
    if path.exists():
        counts: dict[str, int] = json.loads(path.read_text())
    else:
        counts = data.populate(evaluations=options.evaluations, results=options.results, users=options.users)
        path.write_text(json.dumps(counts))
    if "shards" not in counts:
        counts |= data.furnish()
        path.write_text(json.dumps(counts))
    with connection.cursor() as cursor:
        # New columns and indices have no statistics yet, and nobody waits here for autovacuum.
        cursor.execute("ANALYZE")
    return counts


def _tell(report: dict[str, Any]) -> None:
    print(f"{report['rows']}, tasks of the suites: {report['suites']}")
    if report["timings"]:
        print("median ms    p95 ms  first ms    CPU ms  SQL ms  queries     KiB  status  reader     path")
    for one in report["timings"]:
        print(
            f"{one['median_ms']:9.1f} {one['p95_ms']:9.1f} {one['first_ms']:9.1f} {one['cpu_ms']:9.1f}"
            f" {one['database_ms']:7.0f} {one['queries']:8} {one['kilobytes']:7.0f} {one['status']:7}"
            f"  {one['reader']:9}  {one['path']}"
        )
    if report.get("rates"):
        print("requests/CPU s requests/s  first ms median ms    p95 ms  wrong  what")
    for one in report.get("rates", []):
        print(
            f"{one['per_cpu_second']:14,.0f} {one['per_second']:10,.0f} {one['first_ms']:9.0f} {one['median_ms']:9.1f}"
            f" {one['p95_ms']:9.1f} {one['wrong']:6}  {one['name']}: {one['path']}"
        )
    if starts := report.get("start_seconds"):
        print(f"a new process sets Django up in {statistics.median(starts):.2f} s of CPU time, {starts[0]:.2f} at best")


if __name__ == "__main__":
    sys.exit(main())
