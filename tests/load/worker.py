"""`python -m tests.load.worker`: the worker of the product with a runner that needs no time, and a stop watch.

Everything but the experts is real: leases, heartbeats, delivery, logs. For each shard a line of JSON is written with
the seconds that each part took; a line with `empty` is a lease call that got nothing.
"""

import argparse
import json
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

from evaluator.core.records import ResultRecord
from gpu_jobs.client import ApiClient, LeaseAnswer
from gpu_jobs.contract import Lease, LeaseRequest
from gpu_jobs.worker import Worker, stop_on_sigterm
from tests.fakes.runner import FakeRunner


class StopWatch:
    """Seconds of each part of the present shard."""

    def __init__(self, output: TextIO) -> None:
        self._output = output
        self._parts: dict[str, float] = {}
        self._began = 0.0

    def begin(self) -> None:
        """A shard begins when it is asked for."""
        self._parts = {}
        self._began = time.perf_counter()

    def measure(self, part: str, function: Callable[[], Any]) -> Any:
        """Call the function, and count its time to this part."""
        began = time.perf_counter()
        try:
            return function()
        finally:
            self.add(part, time.perf_counter() - began)

    def add(self, part: str, seconds: float) -> None:
        """Count these seconds to this part."""
        self._parts[part] = self._parts.get(part, 0.0) + seconds

    def end(self, **more: Any) -> None:
        """Write down what the shard, or the call that got none, took."""
        total = time.perf_counter() - self._began
        self._output.write(json.dumps({"at": time.time(), "total": total, **self._parts, **more}) + "\n")
        self._output.flush()


class TimedClient(ApiClient):
    """Measures the calls of the worker's main thread; what `Delivery` sends beside it is in `deliver`."""

    def __init__(self, *, watch: StopWatch, **options: Any) -> None:
        super().__init__(**options)
        self._watch = watch

    def lease(self, request: LeaseRequest, **options: Any) -> LeaseAnswer:
        """Lease a shard, where the call before has not done it."""
        self._watch.begin()
        found = self._watch.measure("lease", lambda: super(TimedClient, self).lease(request, **options))
        if found.lease is None:
            self._watch.end(empty=True)
        return found  # type: ignore[no-any-return]

    def finish(self, **options: Any) -> Lease | None:
        """The last call of a shard, and the first one of the next."""
        ended: Lease = options["lease"]
        found = self._watch.measure("finish", lambda: super(TimedClient, self).finish(**options))
        self._watch.end(attempt=ended.attempt, tasks=len(ended.tasks))
        self._watch.begin()
        return found  # type: ignore[no-any-return]


class TimedRunner(FakeRunner):
    """Measures itself, since its time is not the queue's."""

    def __init__(self, *, watch: StopWatch, **options: Any) -> None:
        super().__init__(**options)
        self._watch = watch

    def run(self, lease: Lease) -> Iterator[ResultRecord]:
        """Records of the lease's tasks."""
        self.ran.clear()
        began = time.perf_counter()
        for record in super().run(lease):
            self._watch.add("runner", time.perf_counter() - began)
            yield record
            began = time.perf_counter()
        self._watch.add("runner", time.perf_counter() - began)


def main() -> int:
    """Work until told to stop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--pace", type=float, required=True)
    parser.add_argument("--times", type=Path, required=True)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    stop_on_sigterm()
    token = os.environ["PLANARENA_WORKER_TOKEN"]
    with options.times.open("a") as output:
        watch = StopWatch(output)
        client = TimedClient(watch=watch, url=options.url, token=token)
        runner = TimedRunner(watch=watch, pace=options.pace)
        return Worker(client=client, runner=runner, name=options.name, secrets=[token]).run()


if __name__ == "__main__":
    sys.exit(main())
