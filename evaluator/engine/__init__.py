"""The engine: executes the distinct calls of many plans in batches, through a content-addressed store."""

from evaluator.engine.jobs import FailureKind, Job, JobResult, StepFailure
from evaluator.engine.pool import ExpertPool
from evaluator.engine.run import Engine
from evaluator.engine.store import (
    LocalStore,
    MemoryStore,
    ObjectDamagedError,
    ObjectMissingError,
    Store,
)

__all__ = [
    "Engine",
    "ExpertPool",
    "FailureKind",
    "Job",
    "JobResult",
    "LocalStore",
    "MemoryStore",
    "ObjectDamagedError",
    "ObjectMissingError",
    "StepFailure",
    "Store",
]
