"""Each fault is put into a copy of the repository, and its tests fail there; without a fault they pass.

Each fault takes a process of pytest.
"""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.mutations.faults import Fault, copy_repository, faults

FAULTS = faults()
pytestmark = [pytest.mark.full, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """The repository, to be changed."""
    folder = tmp_path_factory.mktemp("repository")
    copy_repository(folder)
    return folder


def test_without_a_fault_all_pass(copy: Path):
    done = run(copy, {test for fault in FAULTS for test in fault.tests})
    assert done.returncode == pytest.ExitCode.OK, done.stdout + done.stderr


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_found(fault: Fault, copy: Path):
    with fault.applied(copy):
        done = run(copy, fault.tests)
    output = done.stdout + done.stderr
    # Other codes, and errors in fixtures, say that the tests did not get so far as to judge the code.
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, f"not found: {fault.says}\n{output}"
    found = [line for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    assert found, output
    assert all(line.startswith("FAILED ") for line in found), output
    print(f"{fault.name}: {found[0]}")


def run(copy: Path, tests: Iterable[str]) -> subprocess.CompletedProcess[str]:
    """Run tests of the copy in a process of their own, until the first that fails."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-rfE", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTEST_ADDOPTS"}}
    return subprocess.run(
        [*command, f"--basetemp={copy.parent / 'nested'}", *sorted(tests)],
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
