"""Parsing Python in several threads."""

import gc
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from evaluator.python_syntax import literal, parse_expression, parse_module


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
