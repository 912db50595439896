"""Rewards computed in a process of its own, with limits on memory and time, for programs that do not load torch."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from evaluator.core.canonical_json import JsonValue
from evaluator.rewards.function import Proposal
from evaluator.sandbox.limited_process import Limits, call, serve

MEMORY_BYTES = 8 * 1024**3
"""Of address space: torch maps some 3 GB before it holds a model."""
WALL_SECONDS = 60.0
CPU_SECONDS = 120
"""Of all threads together."""
_STORE_BYTES = 2 * 1024**3
_REWARDS = TypeAdapter(list[float | None])


def rewards_confined(
    *, suite: str, profile: str, samples: int, proposals: Sequence[Proposal], wall_seconds: float = WALL_SECONDS
) -> list[float | None]:
    """The reward of each plan on the suite's first training split, as `ExecutedRewards` gives it.

    What is executed is kept in the folder `rewards` of the data folder, apart from the results of evaluations.

    Args:
        suite: one of the registry's that executes plans and has a training split.
        profile: which experts run the tools.
        samples: data points that each plan is executed on.
        proposals: keys of tasks with plans.
        wall_seconds: after which the process is ended.

    Raises:
        LimitExceededError: it used too much time or memory.
        RuntimeError: it failed otherwise; the log says why.
    """
    folder = Path(os.environ.get("PLANARENA_DATA", ".data"), "rewards").absolute()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    request: dict[str, JsonValue] = {
        "folder": str(folder),
        "suite": suite,
        "profile": profile,
        "samples": samples,
        "proposals": [[task, plan] for task, plan in proposals],  # type: ignore[list-item]
    }
    limits = Limits(
        memory_bytes=MEMORY_BYTES, cpu_seconds=CPU_SECONDS, wall_seconds=wall_seconds, writable=(str(folder),)
    )
    return _REWARDS.validate_python(call(__name__, request, limits=limits))


def _answer(request: Any) -> JsonValue:
    # By need: the caller imports this module too, and does not load torch.
    from evaluator.execution.engine.store import LocalStore
    from evaluator.rewards.function import reward_function

    reward = reward_function(
        suite=request["suite"],
        profile=request["profile"],
        samples=request["samples"],
        store=lambda: LocalStore(Path(request["folder"]), max_bytes=_STORE_BYTES),
    )
    return list(reward.of([(task, plan) for task, plan in request["proposals"]]))


if __name__ == "__main__":
    serve(_answer)
