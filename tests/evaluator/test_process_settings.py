"""Settings of a process: what the user has set stays, and no tensor is mapped and cleared again each time."""

import gc
import os
import subprocess
import sys

import pytest

from evaluator.process_settings import settle_process

FAULTS = """
import os, resource, sys
import numpy
from evaluator.process_settings import settle_process

if sys.argv[1] == "kept":
    settle_process(os.environ)
numpy.ones(2**24)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(8):
    numpy.ones(2**24)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.fixture(autouse=True)
def threshold():
    """Python's own, and afterwards as it was: this process has run commands."""
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield gc.get_threshold()
    gc.set_threshold(*before)


def test_garbage_is_searched_for_more_rarely_and_still_found(threshold):
    settle_process({"GLIBC_TUNABLES": ""})
    assert gc.isenabled()
    assert gc.get_threshold()[0] > threshold[0]
    assert gc.get_threshold()[1:] == threshold[1:]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"GOMP_SPINCOUNT": "1000"}),
        ({"GOMP_SPINCOUNT": "5"}, {"GOMP_SPINCOUNT": "5"}),
        ({"OMP_WAIT_POLICY": "active"}, {"OMP_WAIT_POLICY": "active"}),
    ],
)
def test_threads_sleep_soon_unless_the_user_wants_it_otherwise(given, expected):
    # With a variable of the allocator, so that the test leaves that of its own process as it is.
    environment = given | {"GLIBC_TUNABLES": ""}
    settle_process(environment)
    assert environment == expected | {"GLIBC_TUNABLES": ""}


@pytest.mark.full
def test_memory_of_a_large_array_is_used_again():
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}

    def faults(how: str) -> int:
        done = subprocess.run(
            [sys.executable, "-c", FAULTS, how], env=environment, capture_output=True, text=True, check=True
        )
        return int(done.stdout)

    kept, otherwise = faults("kept"), faults("as it is")
    assert kept < otherwise / 4 or sys.platform != "linux"
