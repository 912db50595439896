"""Runs short, hostile Python programs safely.

Two layers, each able to contain a program by itself:

- the language: `checking` holds programs to an allow-list (`language`), `instrumenting` makes them count their steps
  (`meter`) and call bounded `operators`, `functions` and `methods`; `executing` puts these together, `encoding` bounds
  results
- the process: `confining` puts kernel limits on `child`, which forks a process for each program

`runner` has the pool of processes, `worker` one of them, `results` checks what they answer, `support` says what this
machine has; `serving` runs them in another pod, `remote` asks it, in `frames`. What the process imports (the modules of
the two layers) uses the standard library only.
"""

from evaluator.programs.results import CallResult, Failed, Returned
from evaluator.programs.runner import Program, Runner
from evaluator.programs.support import ALLOW_UNCONFINED, Support, UnconfinedError, support
from evaluator.programs.wire import Failure, Layer, Limits
from evaluator.programs.worker import WorkerError

__all__ = [
    "ALLOW_UNCONFINED",
    "CallResult",
    "Failed",
    "Failure",
    "Layer",
    "Limits",
    "Program",
    "Returned",
    "Runner",
    "Support",
    "UnconfinedError",
    "WorkerError",
    "support",
]
