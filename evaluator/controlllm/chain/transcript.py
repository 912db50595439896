"""Everything about one request as one JSON object, from its decomposition to its response."""

from collections.abc import Mapping
from typing import Any

from evaluator.controlllm.chain.conversation import Finished
from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import PlannerRequest
from evaluator.core.records import StepRun

VERSION = "chain/1"


def transcript(*, request: PlannerRequest, planner: str, finished: Finished) -> dict[str, Any]:
    """The stages in order. Objects are named by the SHA-256 of their bytes."""
    return {
        "version": VERSION,
        "request": request.task.request,
        "files": dict(request.task.resources),
        "planner": planner,
        **finished.staged.notes(),
        "rounds": [[_step(step) for step in steps] for steps in finished.rounds],
        "corrections": [one.to_json() for one in finished.corrections],
        "subtasks": [one.to_json() for one in finished.progress],
        "plan": finished.plan,
        "state": [entry.to_json() for entry in finished.state.entries()],
        "results": {name: entry.to_json() for name, entry in finished.results.items()},
        "complete": finished.is_complete,
        "response": finished.response,
    }


def _step(step: StepRun) -> Mapping[str, JsonValue]:
    return {
        "step": step.step,
        "tool": step.tool,
        "expert": step.expert,
        "inputs": {name: one.digest for name, one in step.inputs.items()},
        "outputs": {name: one.digest for name, one in step.outputs.items()},
        "seconds": step.seconds,
        "cached": step.cached,
        "error": step.error,
    }
