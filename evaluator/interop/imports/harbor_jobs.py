"""Jobs of Harbor: a folder with a folder for each trial, of which `result.json` names the task, and
`agent/trajectory.json` (ATIF) has the agent's steps.

The last step of the agent with a message or tool calls is the answer. Token counts of prompts include the cached ones.
"""

from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any

from evaluator.interop.imports.bounded_files import file_bytes, json_files, json_of
from evaluator.interop.imports.run import Answer, ImportedRun, RunError, message_of, once, text_of, usage_of

TRAJECTORY = Path("agent", "trajectory.json")


def is_job(folder: Path) -> bool:
    """Whether a folder looks like a job, or like one of its trials."""
    return any(file.name == "result.json" for file in json_files(folder))


def read_job(folder: Path, *, tasks: Set[str]) -> ImportedRun:
    """The run of a job.

    Args:
        folder: of the job, or of a trial.
        tasks: keys of the suite's tasks, by which a trial's task is recognised.

    Raises:
        RunError: the folder has no trial.
    """
    trials = [
        (file.parent, document)
        for file in json_files(folder)
        if file.name == "result.json"
        and isinstance(document := json_of(file_bytes(file), where=str(file)), Mapping)
        and isinstance(document.get("task_name"), str)
    ]
    if not trials:
        raise RunError(f"{folder} is no job of Harbor: no result.json in it names a task.")
    ignored = ["Rewards of the verifier were ignored."]
    first = trials[0][1]
    agent = _mapping(first.get("agent_info"))
    model = _mapping(agent.get("model_info"))
    answers = [_answer(trial, result=result, tasks=tasks) for trial, result in trials]
    return ImportedRun(
        format="harbor",
        producer=f"{agent.get('name', '')} {agent.get('version', '')}".strip(),
        model="/".join(str(part) for part in (model.get("provider"), model.get("name")) if part),
        run=str(_mapping(first.get("config")).get("job_id") or folder.name),
        created=str(first.get("started_at") or ""),
        conditions={"agent": str(agent.get("name", ""))},
        answers=once(answers, ignored=ignored, what="further attempts"),
        ignored=ignored,
    )


def _answer(trial: Path, *, result: Mapping[str, Any], tasks: Set[str]) -> Answer:
    name = str(result["task_name"])
    # Harbor names tasks `ORG/NAME`, and keys of tasks may have slashes, too.
    task = name if name in tasks else name.partition("/")[2] or name
    usage = _usage(result)
    if exception := result.get("exception_info"):
        return Answer(task=task, usage=usage, lacks=f"the trial failed ({_mapping(exception).get('exception_type')})")
    file = trial / TRAJECTORY
    if not file.is_file():
        return Answer(task=task, usage=usage, lacks="the trial has no trajectory")
    document = json_of(file_bytes(file), where=str(file))
    steps = _mapping(document).get("steps")
    for step in reversed(steps if isinstance(steps, list) else []):
        if not isinstance(step, Mapping) or step.get("source") != "agent":
            continue
        calls = [
            (call["function_name"], call.get("arguments", {}))
            for call in (step.get("tool_calls") or [])
            if isinstance(call, Mapping) and isinstance(call.get("function_name"), str)
        ]
        text = text_of(step.get("message"))
        if text or calls:
            return Answer(task=task, plan=message_of(text=text, calls=calls), usage=usage)
    return Answer(task=task, usage=usage, lacks="the trajectory has no answer of the agent")


def _usage(result: Mapping[str, Any]) -> dict[str, int]:
    parts = [result, *(_mapping(step) for step in result.get("step_results") or [])]
    contexts = [context for part in parts if (context := _mapping(part.get("agent_result")))]
    names = {
        "n_input_tokens": "prompt_tokens",
        "n_output_tokens": "completion_tokens",
        "n_cache_tokens": "cached_tokens",
    }
    totals = {
        name: sum(counts)
        for given, name in names.items()
        if (counts := [count for one in contexts if isinstance(count := one.get(given), int)])
    }
    return usage_of(totals)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
