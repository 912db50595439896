"""The packages of other harnesses write runs, in environments of their own, and they are read here."""

import subprocess
import sys
from pathlib import Path

import pytest

from evaluator.core.suites.registry import suite_of
from evaluator.interop.imports.planner import import_document
from tests.evaluator.interop import make_runs

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]
ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("package", "runs"), [("inspect", ("inspect.eval", "inspect.json")), ("verifiers", ("verifiers.jsonl",))]
)
def test_a_fresh_run_of_the_locked_package_is_read(package, runs, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    lock = ROOT / "requirements" / "interop" / f"{package}.txt"
    install = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "-r", lock]
    subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([python, make_runs.__file__, package, tmp_path], check=True, stdout=subprocess.DEVNULL)
    for run in runs:
        document = import_document(tmp_path / run, suite=suite_of("toolmini"))
        assert set(document["plans"]) == set(make_runs.ANSWERS)
        assert document["source"]["producer"].startswith(package)
