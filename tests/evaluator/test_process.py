"""Settings of a process: what the user has set stays, and no tensor is mapped and cleared again each time."""

import gc
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from evaluator.core.process import import_without_collection, literal, parse_expression, parse_module, settle_process

FAULTS = """
import os, resource, sys
import numpy
from evaluator.core.process import settle_process

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


MODULE = """
import gc
was_enabled = gc.isenabled()
"""


@pytest.fixture
def modules(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("looking_at_gc", None)


def test_nothing_is_collected_meanwhile(modules):
    (modules / "looking_at_gc.py").write_text(MODULE)
    assert import_without_collection("looking_at_gc").was_enabled is False
    assert gc.isenabled()


def test_collection_goes_on_after_an_import_that_fails(modules):
    (modules / "looking_at_gc.py").write_text("raise ValueError('no')")
    with pytest.raises(ValueError, match="no"):
        import_without_collection("looking_at_gc")
    assert gc.isenabled()


@pytest.mark.full
def test_a_module_of_a_package_comes_without_the_others():
    program = """
import sys
from evaluator.core.process import import_without_package

module = import_without_package("bert_score.utils")
assert module.greedy_cos_idf.__module__ == "bert_score.utils"
assert import_without_package("bert_score.utils") is module
print(sys.modules["bert_score"].__version__, "pandas" in sys.modules, "matplotlib" in sys.modules)
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert found.stdout.split()[1:] == ["False", "False"]


class Yielding:
    """Lets other threads run wherever it is collected, also amid a parse."""

    def __init__(self):
        self.itself = self

    def __del__(self):
        time.sleep(0)


@pytest.fixture
def eager_switches():
    """Threads take turns as often as they can, and garbage is collected all the time."""
    thresholds, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.set_threshold(5)
    sys.setswitchinterval(1e-6)
    yield
    gc.set_threshold(*thresholds)
    sys.setswitchinterval(interval)


def parsed_by_many(parse):
    source = "f(" * 40 + "1" + ")" * 40

    def often(_):
        for _ in range(20):
            Yielding()
            parse(source)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(often, range(16)))


def test_many_threads_may_parse_at_once(eager_switches):
    parsed_by_many(parse_module)
    parsed_by_many(parse_expression)
    parsed_by_many(lambda _: literal("[" * 40 + "]" * 40))


def test_what_is_no_python_is_told_as_ever():
    for parse in (parse_module, parse_expression, literal):
        with pytest.raises(SyntaxError):
            parse("1 +")
        with pytest.raises((RecursionError, MemoryError)):
            parse("-" * 100_000 + "1")
    with pytest.raises(ValueError, match="malformed"):
        literal("f()")
