"""The overhead of a model server, relative to the same model in this process.

    python -m gpu_jobs.model_server.benchmark [--model FOLDER] [--suite SLUG] [--requests N] [--rounds N]
                                              [--transport tcp] [--json]

Both models answer the same requests of a suite in turn, so that changes of the machine's speed affect both. Each has
one thread, since processes would otherwise differ in their number of threads. Processor time and round trips are
reported as well, because other programs hardly affect them. `--transport tcp` starts the program of a model server's
container (`serving`) and connects over TCP on 127.0.0.1, as a worker on Kubernetes does.
"""

import argparse
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Protocol, runtime_checkable

import psutil

from evaluator.core.commands.listing import Listing
from evaluator.core.commands.usage import out, print_json
from evaluator.core.language_model import GenerateCall, LanguageModel, Message, ScoreCall
from evaluator.core.planner import PlannerReply, PlannerRequest, request_for
from evaluator.core.suites.base import Suite
from evaluator.core.suites.registry import default_suite, suite_of
from evaluator.execution.experts.profile import load_profile
from evaluator.planners.driving import StrategyPlanner
from evaluator.planners.language_models.shipped import NAME, shipped_folder
from evaluator.planners.strategies.registry import strategy_of
from evaluator.sandbox.isolation.address import Address
from gpu_jobs.model_server.client import RemoteModel
from gpu_jobs.model_server.isolation.sandbox import detected
from gpu_jobs.model_server.opening import open_model
from gpu_jobs.model_server.remote import RemoteOpener

STRATEGIES = ("openagi/constrained", "openagi/nonlinear", "openagi/zero-shot")
_FREE_TOKENS = 64
_CONTINUATIONS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Measurements of one kind of work in both places."""

    work: str
    in_process_seconds: tuple[float, ...]
    """Seconds of each round."""
    server_seconds: tuple[float, ...]
    same: bool
    """Whether the answers were equal."""
    in_process_processor_seconds: float = 0.0
    """Sum over the rounds."""
    server_processor_seconds: float = 0.0
    """Sum over the rounds, of worker and server."""
    round_trips: float = 0.0
    """Round trips between worker and server, per round."""

    @property
    def ratio(self) -> float:
        """Median over the rounds of server by in-process time."""
        pairs = zip(self.server_seconds, self.in_process_seconds, strict=True)
        return median(server / local for server, local in pairs)

    @property
    def processor_ratio(self) -> float:
        """Server by in-process processor time; nan if the clock did not advance."""
        spent = self.in_process_processor_seconds
        return self.server_processor_seconds / spent if spent else float("nan")


@dataclass(frozen=True, slots=True)
class Timing:
    """Duration of one run."""

    seconds: float
    processor_seconds: float
    """Of this process and its descendants, which the kernel counts in steps of 10 ms."""


@runtime_checkable
class CountsRoundTrips(Protocol):
    """A model behind a connection."""

    round_trips: int


Work = Callable[[LanguageModel], object]
"""The timed function. Its result must not depend on the place of the model."""


def compare(
    *, work: Sequence[tuple[str, Work]], local: LanguageModel, remote: LanguageModel, rounds: int
) -> list[Comparison]:
    """Time each kind of work in both places, after a warm-up round."""
    comparisons = []
    for name, do in work:
        same = do(local) == do(remote)
        trips = _round_trips(remote)
        pairs = [(_timed(do, local), _timed(do, remote)) for _ in range(rounds)]
        in_process, server = zip(*pairs, strict=True)
        comparison = Comparison(
            work=name,
            in_process_seconds=tuple(timing.seconds for timing in in_process),
            server_seconds=tuple(timing.seconds for timing in server),
            same=same,
            in_process_processor_seconds=sum(timing.processor_seconds for timing in in_process),
            server_processor_seconds=sum(timing.processor_seconds for timing in server),
            round_trips=(_round_trips(remote) - trips) / rounds,
        )
        comparisons.append(comparison)
    return comparisons


def work_of(*, suite: Suite, requests: Sequence[PlannerRequest]) -> list[tuple[str, Work]]:
    """Free, scored and constrained decoding of these requests."""
    prompts = [(Message(role="user", content=request.task.request),) for request in requests]
    names = tuple(tool.name for tool in requests[0].tools[:_CONTINUATIONS])
    free = [GenerateCall(messages=prompt, max_tokens=_FREE_TOKENS) for prompt in prompts]
    scored = [ScoreCall(messages=prompt, continuations=names) for prompt in prompts]
    return [
        ("free decoding", lambda model: model.answer(free)),
        ("scores of continuations", lambda model: model.answer(scored)),
        *((name, _planning(name, suite=suite, requests=requests)) for name in STRATEGIES),
    ]


def _planning(strategy: str, *, suite: Suite, requests: Sequence[PlannerRequest]) -> Work:
    def plan(model: LanguageModel) -> list[object]:
        entry = strategy_of(name=f"{strategy}:model", suite=suite)
        planner = StrategyPlanner(strategy=entry.strategy(with_model=True), model=model)
        ends = dict(planner.plan_all(iter(requests)))
        return [end.plan if isinstance(end, PlannerReply) else str(end) for _, end in sorted(ends.items())]

    return plan


def _timed(do: Work, model: LanguageModel) -> Timing:
    started, processor = time.perf_counter(), _processor_seconds()
    do(model)
    return Timing(time.perf_counter() - started, _processor_seconds() - processor)


def _processor_seconds() -> float:
    descendants = (child.cpu_times() for child in psutil.Process().children(recursive=True))
    return time.process_time() + sum(times.user + times.system for times in descendants)


def _round_trips(model: LanguageModel) -> int:
    return model.round_trips if isinstance(model, CountsRoundTrips) else 0


def requests_of(*, suite: Suite, count: int) -> list[PlannerRequest]:
    """`count` requests of a suite, evenly spaced."""
    tasks = suite.tasks[:: max(1, len(suite.tasks) // count)][:count]
    offered = frozenset(load_profile("lilliput").experts)
    return [request_for(suite=suite, task=task, context=suite.context(task=task, offered=offered)) for task in tasks]


@contextmanager
def opened(folder: Path, *, transport: str) -> Iterator[RemoteModel]:
    """A model in a server: in this machine's sandbox (`socketpair`), or as in a separate container (`tcp`)."""
    if transport == "socketpair":
        model = open_model(folder, name="model", device="cpu", source={}, sandbox=detected().sandbox)
        try:
            yield model
        finally:
            model.close()
        return
    with TemporaryDirectory() as target, serving(Path(target) / "model") as address:
        model = RemoteOpener(address, patience_seconds=120)(folder, name="model", device="cpu", source={})
        try:
            yield model
        finally:
            model.close()


@contextmanager
def serving(folder: Path) -> Iterator[Address]:
    """The program of a model server's container as a local process, with a folder for the model's files."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "gpu_jobs.model_server.serving", "--listen", f"127.0.0.1:{port}"]
    command += ["--folder", str(folder), "--device", "cpu", "--most", "16GB"]
    process = subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"})  # noqa: S603 - a program of ours
    try:
        yield Address(host="127.0.0.1", port=port)
    finally:
        process.terminate()
        process.wait()


def table_of(comparisons: Sequence[Comparison], *, requests: int) -> Listing:
    """Median seconds of both, and the server's overhead in time, processor time and round trips."""
    table = Listing(
        "work", "in-process s", "server s", "time", "CPU time", "trips", "answers", title=f"{requests} requests"
    )
    for row in comparisons:
        seconds = (f"{median(times):.3f}" for times in (row.in_process_seconds, row.server_seconds))
        more = (f"{100 * (ratio - 1):+.1f}%" for ratio in (row.ratio, row.processor_ratio))
        table.add_row(row.work, *seconds, *more, f"{row.round_trips / requests:.2f}", "same" if row.same else "OTHER")
    return table


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, default=shipped_folder(NAME), help="a folder as save_pretrained makes it")
    parser.add_argument("--suite", help="slug; default: the first whose plans are executed")
    parser.add_argument("--requests", type=int, default=37, help="requests of the suite, evenly spaced")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--transport", choices=("socketpair", "tcp"), default="socketpair", help="default: %(default)s")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    import torch

    from evaluator.planners.language_models.local.model import LocalModel

    torch.set_num_threads(1)
    local = LocalModel.from_folder(arguments.model, name="model")
    suite = suite_of(arguments.suite) if arguments.suite else default_suite(executes=True)
    requests = requests_of(suite=suite, count=arguments.requests)
    with opened(arguments.model, transport=arguments.transport) as remote:
        comparisons = compare(
            work=work_of(suite=suite, requests=requests), local=local, remote=remote, rounds=arguments.rounds
        )
    if arguments.json:
        print_json([asdict(row) | {"ratio": row.ratio, "processor_ratio": row.processor_ratio} for row in comparisons])
    else:
        table_of(comparisons, requests=len(requests)).show(out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
