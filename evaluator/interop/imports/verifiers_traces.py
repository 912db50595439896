"""Traces of verifiers 0.4: `traces.jsonl`, an episode a line, or a trace a line.

The key of a trace's task, or `id` or `name` of its data, is the key of the task here. The last message that a model
call produced is the answer. Arguments of tool calls are texts; `prompt_tokens` excludes the cached ones.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from evaluator.interop.imports.bounded_files import MOST_MEMBER_BYTES, file_bytes, json_of
from evaluator.interop.imports.run import (
    EPISODE,
    IN_TURNS,
    Answer,
    ImportedRun,
    RunError,
    message_of,
    once,
    text_of,
    usage_of,
)

_MOST_LINES = 100_000
_MOST_FILE_BYTES = 8 * MOST_MEMBER_BYTES


def is_traces(document: Any) -> bool:
    """Whether a line of JSON is an episode or a trace."""
    return isinstance(document, Mapping) and ("traces" in document or ("nodes" in document and "task" in document))


def read_traces(path: Path, *, tasks: Set[str]) -> ImportedRun:
    """The run of a file of traces.

    Args:
        path: of the file.
        tasks: keys of the suite's tasks, by which a trace's task is recognised.

    Raises:
        RunError: a line is no episode and no trace.
    """
    traces = list(_traces(path))
    if not traces:
        raise RunError(f"{path} has no trace.")
    ignored = ["Rewards of the traces were ignored."]
    answers = [_answer(trace, tasks=tasks) for trace in traces]
    calls = [call for trace in traces for call in _list(trace.get("calls"))]
    sampling = _mapping(_mapping(calls[0]).get("sampling")) if calls else {}
    build = _mapping(traces[0].get("verifiers"))
    return ImportedRun(
        format="verifiers",
        producer=f"verifiers {build.get('version', '')}".strip(),
        model=next((str(model) for call in calls if (model := _mapping(call).get("model"))), ""),
        run=str(traces[0].get("id") or ""),
        created="",
        conditions={name: value for name, value in sampling.items() if isinstance(value, int | float | str)},
        answers=once(answers, ignored=ignored, what="further rollouts"),
        ignored=ignored,
    )


def _traces(path: Path) -> Iterator[Mapping[str, Any]]:
    lines = file_bytes(path, most=_MOST_FILE_BYTES).split(b"\n")
    if len(lines) > _MOST_LINES:
        raise RunError(f"{path} has {len(lines):,} lines; at most {_MOST_LINES:,} are read.")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        document = json_of(line, where=f"{path}, line {number}")
        if not is_traces(document):
            raise RunError(f"{path}, line {number} is no episode and no trace of verifiers.")
        traces = document.get("traces", [document])
        yield from (trace for trace in _list(traces) if isinstance(trace, Mapping))


def _answer(trace: Mapping[str, Any], *, tasks: Set[str]) -> Answer:
    task = _mapping(trace.get("task"))
    data = _mapping(task.get("data"))
    names = [str(name) for name in (data.get("id"), data.get("name"), task.get("key")) if isinstance(name, str | int)]
    key = next((name for name in names if name in tasks), next(iter(names), "?"))
    usage = _usage(_list(trace.get("calls")))
    if trace.get("ok") is False or _list(trace.get("errors")):
        return Answer(task=key, usage=usage, lacks="the rollout failed")
    if data.get(IN_TURNS) is True:
        return Answer(task=key, usage=usage, lacks=EPISODE)
    for node in reversed(_list(trace.get("nodes"))):
        message = _mapping(_mapping(node).get("message"))
        if not _mapping(node).get("sampled") or message.get("role") != "assistant":
            continue
        calls = [
            (call["name"], call.get("arguments", ""))
            for call in _list(message.get("tool_calls"))
            if isinstance(call, Mapping) and isinstance(call.get("name"), str)
        ]
        text = text_of(message.get("content"))
        if text or calls:
            return Answer(task=key, plan=message_of(text=text, calls=calls), usage=usage)
    return Answer(task=key, usage=usage, lacks="the trace has no answer of the model")


def _usage(calls: Sequence[Any]) -> dict[str, int]:
    usages = [usage for call in calls if (usage := _mapping(_mapping(call).get("usage")))]
    if not usages:
        return {}

    def total(*names: str) -> int:
        return sum(count for one in usages for name in names if isinstance(count := one.get(name), int) and count > 0)

    return usage_of(
        {
            "prompt_tokens": total("prompt_tokens", "cached_input_tokens"),
            "completion_tokens": total("completion_tokens"),
            "cached_tokens": total("cached_input_tokens"),
            "reasoning_tokens": total("reasoning_tokens"),
        }
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else []
