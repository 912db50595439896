"""`python -m tests.scale`: how long every page takes on a large installation."""

import argparse
import json
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the data, measure every address, and print the report."""
    parser = argparse.ArgumentParser(prog="python -m tests.scale", description=__doc__)
    parser.add_argument("--evaluations", type=int, default=5000)
    parser.add_argument("--results", type=int, default=2_000_000)
    parser.add_argument("--users", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=20, help="requests of each address")
    parser.add_argument("--folder", type=Path, help="keep the installation here; used again if it is there")
    parser.add_argument("--out", type=Path, help="file for the report as JSON")
    options = parser.parse_args(arguments)
    folder = options.folder or Path(tempfile.mkdtemp(prefix="planarena-scale-"))
    try:
        report = _measure_in(folder, options=options)
    finally:
        if options.folder is None:
            shutil.rmtree(folder, ignore_errors=True)
    if options.out is not None:
        options.out.write_text(json.dumps(report, indent=1) + "\n")
    _tell(report)
    return 0


def _measure_in(folder: Path, *, options: argparse.Namespace) -> dict[str, object]:
    from leaderboard.config import embedded

    for name in [name for name in os.environ if name.startswith("PLANARENA_")]:
        del os.environ[name]
    os.environ.update(
        DJANGO_SETTINGS_MODULE="leaderboard.config.settings",
        DATABASE_URL=embedded.start(folder),
        PLANARENA_DATA=str(folder),
        PLANARENA_SECRET_KEY=secrets.token_urlsafe(40),
        PLANARENA_WORKER_TOKEN=secrets.token_urlsafe(40),
        PLANARENA_ALLOWED_HOSTS="127.0.0.1,testserver",
        PLANARENA_HTTPS="0",
        PLANARENA_EMAIL_VERIFICATION="none",
    )
    try:
        import django

        django.setup()
        from django.core.management import call_command
        from django.db import connections

        from tests.scale import data, measuring

        try:
            # A folder that is used again may be of an older release.
            call_command("migrate", verbosity=0)
            rows = folder / "rows.json"
            if not rows.exists():
                call_command("collectstatic", interactive=False, verbosity=0)
                counts = data.populate(evaluations=options.evaluations, results=options.results, users=options.users)
                rows.write_text(json.dumps(counts))
            return measuring.report(rounds=options.rounds, rows=json.loads(rows.read_text()))
        finally:
            connections.close_all()
            for connection in connections.all():
                connection.close_pool()
    finally:
        embedded.stop(folder)


def _tell(report: dict[str, object]) -> None:
    print(f"{report['rows']}, tasks of the suites: {report['suites']}")
    print("median ms    p95 ms  queries     KiB  status  reader     path")
    for one in report["timings"]:
        print(
            f"{one['median_ms']:9.1f} {one['p95_ms']:9.1f} {one['queries']:8} {one['kilobytes']:7.0f} {one['status']:7}"
            f"  {one['reader']:9}  {one['path']}"
        )


if __name__ == "__main__":
    sys.exit(main())
