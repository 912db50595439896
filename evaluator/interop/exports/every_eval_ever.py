"""Every Eval Ever, schema 0.3.0: an aggregate, and a line for each task.

Its schema has no null score: tasks without one are absent. Values of details are texts. Tokens of the input contain the
cached ones.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from evaluator.core.records import ResultRecord
from evaluator.interop.exports.source import ExportedEvaluation, ExportedMetric

SCHEMA = "0.3.0"


def every_eval_ever(exported: ExportedEvaluation) -> dict[str, bytes]:
    """The files by their path in the datastore."""
    developer, name = _model(exported)
    stem = f"data/planarena-{exported.suite}/{developer}/{name}/{_uuid(exported.id)}"
    lines = [json.dumps(_instance(exported, record=record), ensure_ascii=False) for record in exported.scored]
    samples = "".join(f"{line}\n" for line in lines).encode()
    aggregate = _aggregate(exported)
    aggregate["detailed_evaluation_results"] = {
        "format": "jsonl",
        "file_path": f"{stem}_samples.jsonl",
        "hash_algorithm": "sha256",
        "checksum": hashlib.sha256(samples).hexdigest(),
        "total_rows": len(lines),
    }
    text = json.dumps(aggregate, ensure_ascii=False, indent=1) + "\n"
    return {f"{stem}.json": text.encode(), f"{stem}_samples.jsonl": samples}


def _model(exported: ExportedEvaluation) -> tuple[str, str]:
    """Developer and name of the model, or of the planner if it has none."""
    developer, slash, name = exported.model.rpartition("/")
    return (_path(developer), _path(name)) if slash else ("planarena", _path(exported.model or exported.planner))


def _uuid(text: str) -> UUID:
    """The id itself; of reports, which have none, one that equal names share. The datastore takes version 4 only."""
    try:
        found = UUID(text)
    except ValueError:
        found = None
    if found is not None and found.version == 4:
        return found
    return UUID(bytes=hashlib.sha256(text.encode()).digest()[:16], version=4)


def _path(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "-", text).strip(".-")[:100] or "unknown"


def _id(exported: ExportedEvaluation) -> str:
    developer, name = _model(exported)
    return f"planarena-{exported.suite}/{developer}_{name}/{exported.id}"


def _aggregate(exported: ExportedEvaluation) -> dict[str, Any]:
    finished = "" if exported.finished is None else str(int(exported.finished.timestamp()))
    developer, name = _model(exported)
    weights = {True: "open_weights", False: "closed_weights", None: "unknown"}[exported.open_weights]
    return {
        "schema_version": SCHEMA,
        "evaluation_id": _id(exported),
        **({"evaluation_timestamp": finished} if finished else {}),
        # When it was measured: equal evaluations give equal files.
        "retrieved_timestamp": finished or "0",
        "source_metadata": {
            "source_name": f"PlanArena, {exported.suite_title}",
            "source_type": "evaluation_run",
            "source_organization_name": "PlanArena",
            **({"source_organization_url": exported.address} if exported.address else {}),
            "evaluator_relationship": "third_party",
            "additional_details": exported.facts,
        },
        "eval_library": {"name": "planarena", "version": exported.library},
        "model_info": {
            "name": exported.model or exported.planner,
            "id": f"{developer}/{name}",
            "additional_details": {
                "deployment_type": "unknown", "model_availability": weights, "planner": exported.planner,
            },
        },
        "evaluation_results": [_result(exported, metric=metric) for metric in exported.metrics],
    }  # fmt: skip


def _result(exported: ExportedEvaluation, *, metric: ExportedMetric) -> dict[str, Any]:
    uncertainty: dict[str, Any] = {"num_samples": metric.tasks}
    if metric.low is not None and metric.high is not None:
        uncertainty["confidence_interval"] = {
            "lower": metric.low, "upper": metric.high, "confidence_level": 0.95, "method": metric.method or "unknown",
        }  # fmt: skip
    config: dict[str, Any] = {
        "evaluation_description": metric.description,
        "metric_id": metric.key,
        "metric_name": metric.label,
        "lower_is_better": not metric.higher_is_better,
    }
    if metric.most is not None:
        config |= {"score_type": "continuous", "min_score": metric.least, "max_score": metric.most}
    source: dict[str, Any] = {"dataset_name": exported.suite_title, "source_type": "other"}
    if exported.address:
        source = {"dataset_name": exported.suite_title, "source_type": "url", "url": [exported.address]}
    return {
        "evaluation_result_id": _result_id(exported, metric=metric),
        "evaluation_name": _name(exported, metric=metric),
        "source_data": source,
        "metric_config": config,
        "score_details": {"score": metric.mean, "uncertainty": uncertainty},
    }


def _result_id(exported: ExportedEvaluation, *, metric: ExportedMetric) -> str:
    return f"{_id(exported)}#{metric.key}"


def _name(exported: ExportedEvaluation, *, metric: ExportedMetric) -> str:
    return f"{exported.suite}/{metric.key}"


def _instance(exported: ExportedEvaluation, *, record: ResultRecord) -> dict[str, Any]:
    developer, name = _model(exported)
    call, primary = record.planner, exported.primary
    received = record.plan_received
    plan = json.dumps(record.plan, ensure_ascii=False, sort_keys=True)
    attribution = {
        "turn_idx": 0, "source": "output.raw", "extracted_value": plan, "extraction_method": "planarena plan parser",
        "is_terminal": True,
    }  # fmt: skip
    score = record.score if record.score is not None else 0.0
    instance: dict[str, Any] = {
        "schema_version": f"instance_level_eval_{SCHEMA}",
        "evaluation_id": _id(exported),
        "model_id": f"{developer}/{name}",
        "evaluation_name": _name(exported, metric=primary),
        "evaluation_result_id": _result_id(exported, metric=primary),
        "sample_id": record.task,
        "interaction_type": "single_turn",
        "input": {"raw": record.request, "reference": []},
        "output": {"raw": [received if isinstance(received, str) else json.dumps(received, ensure_ascii=False)]},
        "answer_attribution": [attribution],
        "evaluation": {"score": score, "is_correct": score >= (primary.most if primary.most is not None else 1.0)},
        "metadata": {"metric": record.metric, "outcome": record.outcome.value, "reason": record.reason_text},
    }
    if record.transcripts:
        instance |= _in_turns(record)
    if call is not None and call.prompt_tokens is not None and call.completion_tokens is not None:
        instance["token_usage"] = _usage(
            {"input_tokens": call.prompt_tokens, "output_tokens": call.completion_tokens,
             "total_tokens": call.prompt_tokens + call.completion_tokens,
             "input_tokens_cache_read": call.cached_tokens, "reasoning_tokens": call.reasoning_tokens}
        )  # fmt: skip
    return instance


def _in_turns(record: ResultRecord) -> dict[str, Any]:
    """The messages of the first episode: tools' results follow the turn that called them."""
    transcript = record.transcripts[0]
    messages: list[dict[str, Any]] = [{"turn_idx": 0, "role": "user", "content": record.request}]
    calls = 0
    for number, turn in enumerate(transcript.turns, start=1):
        named = [(f"t{number}a{place}", action) for place, action in enumerate(turn.actions, start=1)]
        calls += len(named)
        messages.append(
            {
                "turn_idx": len(messages), "role": "assistant", "content": "\n".join(turn.received),
                "tool_calls": [
                    {"id": key, "name": action.tool, "arguments": {"text": action.arguments}} for key, action in named
                ],
            }
        )  # fmt: skip
        messages += [
            {
                "turn_idx": len(messages) + place, "role": "tool", "tool_call_id": [key],
                "content": action.error or json.dumps(action.outputs, ensure_ascii=False),
            }
            for place, (key, action) in enumerate(named)
        ]  # fmt: skip
    last = max(index for index, message in enumerate(messages) if message["role"] != "tool")
    attribution = {
        "turn_idx": last, "source": f"messages[{last}].content", "extracted_value": transcript.answer or "",
        "extraction_method": "planarena turn reader", "is_terminal": True,
    }  # fmt: skip
    return {
        "interaction_type": "agentic",
        "output": None,
        "messages": messages,
        "answer_attribution": [attribution],
        "evaluation": {
            "score": record.score, "is_correct": (record.score or 0.0) >= 1.0, "num_turns": len(transcript.turns),
            "tool_calls_count": calls,
        },
    }  # fmt: skip


def _usage(counts: Mapping[str, int | None]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count is not None}
