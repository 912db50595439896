"""ATIF 1.7, the trajectories of Harbor: one for each task, of a plan and its execution, or of an episode in turns.

The format has no score: it is in `extra`, as is whatever else it has no field for. Arguments are objects.
"""

import json
import re
from typing import Any

from evaluator.core.records import ResultRecord
from evaluator.core.transcripts import Transcript
from evaluator.interop.exports.source import ExportedEvaluation

SCHEMA = "ATIF-v1.7"


def atif(exported: ExportedEvaluation) -> dict[str, bytes]:
    """The files by name."""
    return {
        _name(record, number=number): _file(trajectory(record, exported=exported))
        for number, record in enumerate(exported.records)
        if record.plan is not None or record.transcripts
    }


def _name(record: ResultRecord, *, number: int) -> str:
    return f"{number:04d}_{re.sub(r'[^A-Za-z0-9.-]', '_', record.task)[:80]}.json"


def trajectory(record: ResultRecord, *, exported: ExportedEvaluation) -> dict[str, Any]:
    """The trajectory of a task: its plan, or its first episode."""
    first = {"step_id": 1, "source": "user", "message": record.request}
    agent = _turns(record.transcripts[0]) if record.transcripts else [_plan_step(record)]
    call = record.planner
    totals = {"total_steps": 1 + len(agent)}
    if call is not None:
        counts = {
            "total_prompt_tokens": call.prompt_tokens,
            "total_completion_tokens": call.completion_tokens,
            "total_cached_tokens": call.cached_tokens,
        }
        totals |= {name: count for name, count in counts.items() if count is not None}
    return {
        "schema_version": SCHEMA,
        "session_id": f"{exported.id}/{record.task}",
        "agent": {
            "name": exported.planner or "planner", "version": exported.library,
            **({"model_name": exported.model} if exported.model else {}),
        },
        "steps": [first, *({"step_id": number, **step} for number, step in enumerate(agent, start=2))],
        "final_metrics": totals,
        "notes": "A plan is one step: its tool calls are the steps of the plan, whose results were computed later."
        if not record.transcripts
        else "The first episode of the task.",
        "extra": {
            "task": record.task, "suite": exported.suite, "outcome": record.outcome.value, "score": record.score,
            "metric": record.metric, "reason": record.reason_text, "plan": record.plan, **exported.facts,
        },
    }  # fmt: skip


def _plan_step(record: ResultRecord) -> dict[str, Any]:
    received, plan = record.plan_received, record.plan
    steps = plan.get("steps") if isinstance(plan, dict) else None
    calls = [
        {
            "tool_call_id": str(step.get("id")), "function_name": str(step.get("tool")),
            "arguments": step["inputs"] if isinstance(step.get("inputs"), dict) else {},
        }
        for step in (steps if isinstance(steps, list) else [])
        if isinstance(step, dict)
    ]  # fmt: skip
    message = received if isinstance(received, str) else json.dumps(received, ensure_ascii=False)
    made: dict[str, Any] = {"source": "agent", "message": message}
    if calls:
        made["tool_calls"] = calls
    known = {call["tool_call_id"] for call in calls}
    runs = record.samples[0].steps if record.samples else []
    results = [
        {
            "source_call_id": run.step,
            "content": run.error or json.dumps({name: one.digest for name, one in run.outputs.items()}),
        }
        for run in runs
        if run.step in known
    ]
    if results:
        made["observation"] = {"results": results}
    return made


def _turns(transcript: Transcript) -> list[dict[str, Any]]:
    steps = []
    for number, turn in enumerate(transcript.turns, start=1):
        step: dict[str, Any] = {"source": "agent", "message": "\n".join(turn.received)}
        named = [(f"t{number}a{place}", action) for place, action in enumerate(turn.actions, start=1)]
        if named:
            step["tool_calls"] = [
                {"tool_call_id": key, "function_name": action.tool, "arguments": _arguments(action.arguments)}
                for key, action in named
            ]
            step["observation"] = {
                "results": [
                    {
                        "source_call_id": key,
                        "content": action.error or json.dumps(action.outputs, ensure_ascii=False),
                    }
                    for key, action in named
                ]
            }
        counts = {
            "prompt_tokens": turn.prompt_tokens,
            "completion_tokens": turn.completion_tokens,
            "cached_tokens": turn.cached_tokens,
        }
        if known := {name: count for name, count in counts.items() if count is not None}:
            step["metrics"] = known
        if turn.error:
            step["extra"] = {"error": turn.error}
        steps.append(step)
    return steps


def _arguments(text: str) -> dict[str, Any]:
    """The arguments as an object; as the planner wrote them if they are none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"text": text}


def _file(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()
