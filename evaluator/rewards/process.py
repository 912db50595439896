"""Rewards computed in a separate process with limits of memory and time, for programs that do not load torch."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from evaluator.core.canonical_json import JsonValue
from evaluator.rewards.function import Proposal
from evaluator.sandbox.limited_process import Limits, call, serve

MEMORY_BYTES = 8 * 1024**3
"""Limit of the address space: torch maps some 3 GB before it loads a model."""
WALL_SECONDS = 60.0
CPU_SECONDS = 120
"""Of all threads."""
_STORE_BYTES = 2 * 1024**3
_REWARDS = TypeAdapter(list[float | None])


def rewards_confined(
    *, suite: str, profile: str, samples: int, proposals: Sequence[Proposal], wall_seconds: float = WALL_SECONDS
) -> list[float | None]:
    """The rewards of plans by `ExecutedRewards` on the suite's first training split.

    Executed steps are stored in the folder `rewards` of the data folder, separate from evaluations.

    Args:
        suite: a suite of the registry that executes plans and has a training split.
        profile: profile of the experts.
        samples: data points per plan.
        proposals: keys of tasks with plans.
        wall_seconds: limit of the process.

    Raises:
        LimitExceededError: the process exceeded a limit.
        RuntimeError: the process failed otherwise; see the log.
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
    # Imported here because the caller also imports this module, and does not load torch.
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
