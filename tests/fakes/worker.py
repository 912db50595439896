"""`python -m tests.fakes.worker worker`: the real program with the fake runner, PLANARENA_FAKE_PACE seconds a task."""

import os
import sys

from gpu_jobs import __main__ as program
from tests.fakes.runner import FakeRunner


def main() -> int:
    """Run a worker as `python -m gpu_jobs` does."""
    program.EvaluatorRunner = lambda **_: FakeRunner(pace=float(os.environ.get("PLANARENA_FAKE_PACE", "0")))  # type: ignore[assignment,misc]
    program.report_confinement = lambda: None
    return program.main()


if __name__ == "__main__":
    sys.exit(main())
