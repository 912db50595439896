"""What asking a model through its server costs, against the same model in this process.

    python -m gpu_jobs.model_server.benchmark [--model FOLDER] [--requests N] [--rounds N]

Both models answer the same requests of OpenAGI in turn, so that a machine that slows down slows both. One thread each,
since the number of threads is what differs most between processes.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from evaluator.experts.profile import load_profile
from evaluator.planners.driving import StrategyPlanner
from evaluator.planners.language_models.protocol import GenerateCall, LanguageModel, Message, ScoreCall
from evaluator.planners.language_models.shipped import NAME, shipped_folder
from evaluator.planners.protocol import PlannerReply, PlannerRequest, request_for
from evaluator.planners.strategies.registry import strategy_of
from evaluator.suites import suite_of
from gpu_jobs.model_server.detection import detected
from gpu_jobs.model_server.opening import open_model

STRATEGIES = ("openagi/constrained", "openagi/nonlinear", "openagi/zero-shot")
_FREE_TOKENS = 64
_CONTINUATIONS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One kind of work, done by both."""

    work: str
    in_process_seconds: tuple[float, ...]
    """Of each round."""
    server_seconds: tuple[float, ...]
    same: bool
    """Whether both gave the same answers."""

    @property
    def ratio(self) -> float:
        """Median over the rounds of server by in-process time."""
        pairs = zip(self.server_seconds, self.in_process_seconds, strict=True)
        return median(server / local for server, local in pairs)


Work = Callable[[LanguageModel], object]
"""What is timed: its result must not depend on where the model is."""


def compare(
    *, work: Sequence[tuple[str, Work]], local: LanguageModel, remote: LanguageModel, rounds: int
) -> list[Comparison]:
    """Time each kind of work in both places, after one round that is not counted."""
    found = []
    for name, do in work:
        same = do(local) == do(remote)
        pairs = [(_seconds(do, local), _seconds(do, remote)) for _ in range(rounds)]
        in_process, server = zip(*pairs, strict=True)
        found.append(Comparison(work=name, in_process_seconds=in_process, server_seconds=server, same=same))
    return found


def work_of(requests: Sequence[PlannerRequest]) -> list[tuple[str, Work]]:
    """Free, scored and constrained decoding of these requests."""
    prompts = [(Message(role="user", content=request.task.request),) for request in requests]
    names = tuple(tool.name for tool in requests[0].tools[:_CONTINUATIONS])
    free = [GenerateCall(messages=prompt, max_tokens=_FREE_TOKENS) for prompt in prompts]
    scored = [ScoreCall(messages=prompt, continuations=names) for prompt in prompts]
    found: list[tuple[str, Work]] = [
        ("free decoding", lambda model: model.answer(free)),
        ("scores of continuations", lambda model: model.answer(scored)),
    ]
    return found + [(name, _planning(name, requests)) for name in STRATEGIES]


def _planning(strategy: str, requests: Sequence[PlannerRequest]) -> Work:
    suite = suite_of("openagi")

    def plan(model: LanguageModel) -> list[object]:
        entry = strategy_of(name=f"{strategy}:model", suite=suite)
        planner = StrategyPlanner(strategy=entry.strategy(with_model=True), model=model)
        ends = dict(planner.plan_all(iter(requests)))
        return [end.plan if isinstance(end, PlannerReply) else str(end) for _, end in sorted(ends.items())]

    return plan


def _seconds(do: Work, model: LanguageModel) -> float:
    started = time.perf_counter()
    do(model)
    return time.perf_counter() - started


def requests_of_openagi(count: int) -> list[PlannerRequest]:
    """So many requests of the suite, evenly spaced."""
    suite = suite_of("openagi")
    tasks = suite.tasks[:: max(1, len(suite.tasks) // count)][:count]
    offered = frozenset(load_profile("lilliput").experts)
    return [request_for(suite=suite, task=task, context=suite.context(task=task, offered=offered)) for task in tasks]


def main() -> int:
    """Measure and print, as a table and as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, default=shipped_folder(NAME), help="a folder as save_pretrained makes it")
    parser.add_argument("--requests", type=int, default=37, help="requests of OpenAGI, evenly spaced")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    import torch

    from evaluator.planners.language_models.local import LocalModel

    torch.set_num_threads(1)
    found = detected()
    local = LocalModel.from_folder(arguments.model, name="model")
    remote = open_model(arguments.model, name="model", device="cpu", source={}, sandbox=found.sandbox)
    try:
        comparisons = compare(
            work=work_of(requests_of_openagi(arguments.requests)), local=local, remote=remote, rounds=arguments.rounds
        )
    finally:
        remote.close()
    for one in comparisons:
        print(
            f"{one.work:26} in-process {median(one.in_process_seconds):7.3f} s   server "
            f"{median(one.server_seconds):7.3f} s   {100 * (one.ratio - 1):+5.1f} %   "
            f"{'same answers' if one.same else 'OTHER ANSWERS'}"
        )
    print(json.dumps([asdict(one) | {"ratio": one.ratio} for one in comparisons]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
