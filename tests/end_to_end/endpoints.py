"""The repository's example of a planner's endpoint, for tests."""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.fakes.serving import in_a_thread
from tests.processes import ROOT


def example() -> Any:
    """The module `examples/planner_server.py`."""
    spec = importlib.util.spec_from_file_location("planner_server", ROOT / "examples" / "planner_server.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    with in_a_thread(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as url:
        yield f"{url}/"
