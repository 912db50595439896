"""Logs of Inspect, version 2: `.json`, or `.eval`, a zip with a member for each sample.

A sample's id, or `task` or `task_id` of its metadata, is the key of the task; its first epoch counts. Arguments of tool
calls are objects. `input_tokens` excludes what the service read from its cache or wrote to it.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluator.interop.imports.bounded_files import MOST_MEMBER_BYTES, BoundedZip, file_bytes, json_of
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

_MOST_LOG_BYTES = 4 * MOST_MEMBER_BYTES
_NAMES = ("task", "task_id")
_CONDITIONS = ("temperature", "top_p", "max_tokens", "seed", "reasoning_effort")


def read_log(path: Path) -> ImportedRun:
    """The run of a log.

    Raises:
        RunError: it is no log of version 2, or damaged.
    """
    if path.suffix == ".eval":
        with BoundedZip(path) as log:
            header = log.json("header.json")
            names = sorted(name for name in log.names if name.startswith("samples/") and name.endswith(".json"))
            return _run(header, samples=(log.json(name) for name in names), where=str(path))
    document = json_of(file_bytes(path, most=_MOST_LOG_BYTES), where=str(path))
    samples = document.get("samples") if isinstance(document, Mapping) else None
    return _run(document, samples=samples if isinstance(samples, list) else [], where=str(path))


def is_log(document: Any) -> bool:
    """Whether a JSON document is such a log."""
    return isinstance(document, Mapping) and isinstance(document.get("eval"), Mapping) and "status" in document


def _run(header: Any, *, samples: Iterable[Any], where: str) -> ImportedRun:
    if not is_log(header) or header.get("version") != 2:
        raise RunError(f"{where} is no log of Inspect in version 2.")
    facts = header["eval"]
    plan = header.get("plan")
    configs = [facts.get("model_generate_config"), plan.get("config") if isinstance(plan, Mapping) else None]
    config = {name: value for one in configs if isinstance(one, Mapping) for name, value in one.items()}
    packages = facts.get("packages")
    ignored = ["Scores of the log were ignored."] if header.get("results") else []
    if header.get("invalidated"):
        ignored.append("The log is marked as invalidated.")
    found = [_answer(sample) for sample in sorted(filter(_has_id, samples), key=_epoch)]
    version = str(packages.get("inspect_ai", "")) if isinstance(packages, Mapping) else ""
    return ImportedRun(
        format="inspect",
        producer=f"inspect_ai {version}".strip(),
        model=str(facts.get("model") or ""),
        run=str(facts.get("run_id") or ""),
        created=str(facts.get("created") or ""),
        conditions={
            "status": str(header.get("status")),
            **{name: config[name] for name in _CONDITIONS if isinstance(config.get(name), int | float | str)},
        },
        answers=once(found, ignored=ignored, what="further epochs"),
        ignored=ignored,
    )


def _has_id(sample: Any) -> bool:
    return isinstance(sample, Mapping) and isinstance(sample.get("id"), str | int)


def _epoch(sample: Mapping[str, Any]) -> int:
    epoch = sample.get("epoch")
    return epoch if isinstance(epoch, int) else 1


def _answer(sample: Mapping[str, Any]) -> Answer:
    metadata = sample.get("metadata")
    named = (metadata.get(name) for name in _NAMES) if isinstance(metadata, Mapping) else ()
    task = next((name for name in named if isinstance(name, str)), str(sample["id"]))
    usage = _usage(sample.get("model_usage"))
    for name, why in (("error", "the sample failed"), ("invalidation", "the sample is marked as invalid")):
        if sample.get(name):
            return Answer(task=task, usage=usage, lacks=why)
    if isinstance(metadata, Mapping) and metadata.get(IN_TURNS) is True:
        return Answer(task=task, usage=usage, lacks=EPISODE)
    output = sample.get("output")
    choices = output.get("choices") if isinstance(output, Mapping) else None
    message = choices[0].get("message") if choices and isinstance(choices[0], Mapping) else None
    if not isinstance(message, Mapping):
        return Answer(task=task, usage=usage, lacks="the sample has no output")
    text, calls = text_of(message.get("content")), _calls(message.get("tool_calls"))
    if not text and not calls:
        return Answer(task=task, usage=usage, lacks="the output is empty")
    return Answer(task=task, plan=message_of(text=text, calls=calls), usage=usage)


def _calls(value: Any) -> Sequence[tuple[str, Any]]:
    return [
        (call["function"], call.get("arguments", {}))
        for call in (value if isinstance(value, list) else [])
        if isinstance(call, Mapping) and isinstance(call.get("function"), str)
    ]


def _usage(value: Any) -> dict[str, int]:
    """The counts of all models together."""
    models = [one for one in value.values() if isinstance(one, Mapping)] if isinstance(value, Mapping) else []
    if not models:
        return {}

    def total(*names: str) -> int:
        return sum(count for one in models for name in names if isinstance(count := one.get(name), int) and count > 0)

    return usage_of(
        {
            "prompt_tokens": total("input_tokens", "input_tokens_cache_read", "input_tokens_cache_write"),
            "completion_tokens": total("output_tokens"),
            "cached_tokens": total("input_tokens_cache_read"),
            "reasoning_tokens": total("reasoning_tokens"),
        }
    )
